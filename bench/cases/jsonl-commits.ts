import { openJsonl } from "../../src/store/jsonl/index.ts";
import { BenchFolder, median, syncRate } from "../measure.ts";
import { threadSyncRate } from "./sync-thread.ts";

/* One-event commits to one session log, against a write + fdatasync loop of the same text. */

const COMMITS = 1_500;
const ROUNDS = 5;

const draft = { type: "todo/write" as const, data: { items: [{ text: "x".repeat(120), done: false }] } };
const line = `${JSON.stringify({ type: draft.type, seq: 1_000, time: 1_786_901_809_409, data: draft.data })}\n`;

using folder = new BenchFolder();
await using store = await openJsonl({ root: folder.file("root"), clock: () => Date.now(), chunkWindowMs: 0 });
await using session = await store.create({ version: 0, id: "s", createdAt: 0 });
for (let n = 0; n < 500; n += 1) await session.log.append(draft);
const rounds = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const floor = syncRate(folder.file("floor"), line, COMMITS);
  const start = performance.now();
  for (let n = 0; n < COMMITS; n += 1) await session.log.append(draft);
  const one = (COMMITS / (performance.now() - start)) * 1000;
  rounds.push({ floor, one, thread: await threadSyncRate(folder.file("thread"), line, COMMITS) });
}
process.stdout.write(
  JSON.stringify({
    floor: median(rounds.map(({ floor }) => floor)),
    one: median(rounds.map(({ one }) => one)),
    threadRatio: median(rounds.map(({ thread, floor }) => thread / floor)),
    ratio: median(rounds.map(({ one, floor }) => one / floor)),
  }),
);
