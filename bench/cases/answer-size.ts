import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Agents } from "../../src/agent/agents.ts";
import type { Provider } from "../../src/agent/provider.ts";
import { ToolRegistry } from "../../src/agent/tools/registry.ts";
import { openStore } from "../../src/store/open-store.ts";
import { BenchFolder } from "../measure.ts";
import { Random } from "../random.ts";
import { Speech } from "../workload/words.ts";

/* Bytes that a store takes for a Turn whose answer is 1 MB in 5,000 deltas. */

const DELTAS = 5_000;
/** Of one delta, about. */
const BYTES = 200;
/** Deltas between two turns of the event loop, so that they come in as many batches as those of a quick model. */
const BUNCH = 20;

const speech = Speech.prose(new Random(5));
const deltas = Array.from({ length: DELTAS }, () => words(BYTES));

const provider: Provider = {
  name: "large",
  async *stream() {
    yield { type: "block-start", index: 0, blockType: "text" };
    for (const [k, text] of deltas.entries()) {
      if (k % BUNCH === 0) await Bun.sleep(1);
      yield { type: "text-delta", index: 0, text };
    }
    yield { type: "block-end", index: 0, block: { type: "text", text: deltas.join("") } };
    yield { type: "finish", reason: { kind: "stop" } };
  },
};

process.stdout.write(
  JSON.stringify({ sqlite: await size("sqlite"), zstd: await size("zstd"), none: await size("none") }),
);

async function size(kind: "sqlite" | "zstd" | "none"): Promise<number> {
  using folder = new BenchFolder();
  const path = folder.file("store");
  {
    const options = { clock: Date.now, chunkWindowMs: 100 };
    await using store =
      kind === "sqlite"
        ? await openStore({ kind, path }, options)
        : await openStore({ kind: "jsonl", path }, { ...options, encoding: kind });
    const settings = { tools: new ToolRegistry(), maxSteps: 1, newId: () => crypto.randomUUID() };
    await using agent = await new Agents(store, settings, Date.now).create({ sessionId: "s" });
    await agent.run("go", provider, { provider: "large", model: "m" }, new AbortController().signal);
  }
  const files = readdirSync(folder.path, { recursive: true, withFileTypes: true });
  return files
    .filter((file) => file.isFile())
    .reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0);
}

function words(bytes: number): string {
  let text = "";
  for (let size = 0; size < bytes; ) {
    const [token = ""] = speech.tokens(1);
    text += token;
    size += Buffer.byteLength(token);
  }
  return text;
}
