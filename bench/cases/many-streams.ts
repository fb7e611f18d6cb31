import { Agents } from "../../src/agent/agents.ts";
import type { Provider } from "../../src/agent/provider.ts";
import { ToolRegistry } from "../../src/agent/tools/registry.ts";
import { openSqlite } from "../../src/store/sqlite/index.ts";
import { BenchFolder, percentile } from "../measure.ts";

/* 64 sessions of one store that stream at once, in one process: from a provider's delta to who follows the session. */

const SESSIONS = 64;
const DELTAS = 400;
/** Between two deltas of one session; as a brisk model. */
const GAP_MS = 20;

const provider: Provider = {
  name: "paced",
  async *stream() {
    yield { type: "block-start", index: 0, blockType: "text" };
    let text = "";
    for (let n = 0; n < DELTAS; n += 1) {
      await Bun.sleep(GAP_MS);
      const piece = ` ${performance.now()}`;
      text += piece;
      yield { type: "text-delta", index: 0, text: piece };
    }
    yield { type: "block-end", index: 0, block: { type: "text", text } };
    yield { type: "finish", reason: { kind: "stop" } };
  },
};

using folder = new BenchFolder();
await using store = await openSqlite({ path: folder.file("store.db"), clock: Date.now, chunkWindowMs: 100 });
const agents = new Agents(
  store,
  { tools: new ToolRegistry(), maxSteps: 1, newId: () => crypto.randomUUID() },
  Date.now,
);
const delays: number[] = [];
const start = performance.now();
await Promise.all(Array.from({ length: SESSIONS }, (_, k) => run(`s${k}`)));
const seconds = (performance.now() - start) / 1000;
process.stdout.write(
  JSON.stringify({
    sessions: SESSIONS,
    deltas: delays.length / seconds,
    p50: percentile(delays, 0.5),
    p99: percentile(delays, 0.99),
  }),
);

async function run(sessionId: string): Promise<void> {
  await using agent = await agents.create({ sessionId });
  const follower = agent.live.follow(0);
  const stop = new AbortController();
  const following = (async () => {
    for (;;) {
      for (const item of follower.take(1 << 16)) {
        if (item.kind !== "provisional" || item.delta.chunk.type !== "text-delta") continue;
        delays.push(performance.now() - Number(item.delta.chunk.text));
      }
      await follower.changed(stop.signal);
    }
  })().catch((error) => {
    if (!stop.signal.aborted) throw error;
  });
  await agent.run("go", provider, { provider: "paced", model: "m" }, new AbortController().signal);
  stop.abort();
  await following;
}
