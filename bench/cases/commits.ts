import { parseConfig } from "../../src/host/config.ts";
import { startHost } from "../../src/host/host.ts";
import type { SessionLog } from "../../src/session/log.ts";
import type { SessionPersistence } from "../../src/store/persistence.ts";
import { openSqlite } from "../../src/store/sqlite/index.ts";
import { BenchFolder, median, syncRate } from "../measure.ts";
import { BareSqlite } from "./bare-sqlite.ts";
import { threadSyncRate } from "./sync-thread.ts";

/*
 * One-event commits, and 64 sessions at once, in one SQLite store, against a write + fdatasync loop of the same text. SQLite
 * alone does the same beside it: what it takes, no program around it can save.
 */

const COMMITS = 1_500;
const SESSIONS = 64;
const EACH = 100;
const ROUNDS = 5;

const draft = { type: "todo/write" as const, data: { items: [{ text: "x".repeat(120), done: false }] } };
const line = `${JSON.stringify({ type: draft.type, seq: 1_000, time: 1_786_901_809_409, data: draft.data })}\n`;
const page = Buffer.alloc(4_096, line);

using folder = new BenchFolder();
const path = folder.file("store.db");
const clock = () => Date.now();
let persistence: SessionPersistence | undefined;
await using host = await startHost(parseConfig({ port: { value: 0, source: "--port" } }, {}), {
  clock,
  newId: () => crypto.randomUUID(),
  openStore: async () => {
    persistence = await openSqlite({ path, clock, chunkWindowMs: 0 });
    return persistence;
  },
});
if (persistence === undefined) throw new Error("the Host opened no store");
const store = persistence;
for (let n = 0; n < 50; n += 1) await host.agent.session.log.append(draft);

const logs: SessionLog[] = [];
for (let n = 0; n < SESSIONS; n += 1) {
  logs.push((await store.create({ version: 0, id: `s${n}`, createdAt: 0 })).log);
}
const [single] = logs;
if (single === undefined) throw new Error("no session");
for (const log of logs) await log.append(draft);

using bare = new BareSqlite(folder.file("bare.db"), line);
bare.rate(SESSIONS, 10);

const reader = Bun.spawn([process.execPath, `${import.meta.dir}/http-reader.ts`, host.url], {
  stdio: ["pipe", "pipe", "inherit"],
});
const rounds = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const floor = syncRate(folder.file("floor"), line, COMMITS);
  const pageFloor = syncRate(folder.file("floor"), page, COMMITS);
  const one = await rate(COMMITS, async () => {
    for (let n = 0; n < COMMITS; n += 1) await single.append(draft);
  });
  const many = await rate(SESSIONS * EACH, () => Promise.all(logs.map(appendEach)));
  const thread = await threadSyncRate(folder.file("thread"), line, COMMITS);
  const bareOne = bare.rate(1, COMMITS);
  const bareMany = bare.rate(SESSIONS, EACH);
  rounds.push({ floor, pageFloor, one, many, thread, bareOne, bareMany });
}
reader.stdin.end();
const http = JSON.parse(await new Response(reader.stdout).text());
process.stdout.write(
  JSON.stringify({
    floor: median(rounds.map(({ floor }) => floor)),
    pageFloor: median(rounds.map(({ pageFloor }) => pageFloor)),
    one: median(rounds.map(({ one }) => one)),
    many: median(rounds.map(({ many }) => many)),
    oneRatio: median(rounds.map(({ one, floor }) => one / floor)),
    onePageRatio: median(rounds.map(({ one, pageFloor }) => one / pageFloor)),
    manyRatio: median(rounds.map(({ many, floor }) => many / floor)),
    threadRatio: median(rounds.map(({ thread, floor }) => thread / floor)),
    bareOneRatio: median(rounds.map(({ bareOne, floor }) => bareOne / floor)),
    bareManyRatio: median(rounds.map(({ bareMany, floor }) => bareMany / floor)),
    http,
  }),
);

async function appendEach(log: SessionLog): Promise<void> {
  for (let n = 0; n < EACH; n += 1) await log.append(draft);
}

async function rate(count: number, work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (count / (performance.now() - start)) * 1000;
}
