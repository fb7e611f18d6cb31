import { describe, expect, test } from "bun:test";
import { Agents } from "../../src/agent/agents.ts";
import { TurnAbort } from "../../src/agent/errors.ts";
import { type Provider, ProviderError } from "../../src/agent/provider.ts";
import { createDemo } from "../../src/agent/providers/demo/index.ts";
import { workspaceTools } from "../../src/agent/tools/index.ts";
import { ToolRegistry } from "../../src/agent/tools/registry.ts";
import { Counters } from "../fixtures/agent-store.ts";
import {
  assistantMessage,
  callBlock,
  stepStart,
  toolCall,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { bringDsh, type Encoding } from "./dsh.ts";
import { openRoot, readingOf } from "./rewriting.ts";
import { dshReadings } from "./samples.ts";

/*
 * Conversations of Holdfast's agent, in whatever way their Turns end, are conversations of dsh.
 */

const TIMEOUT_MS = 60_000;
const ENCODINGS: readonly Encoding[] = ["zstd", "none"];
const ROUTE = { provider: "demo", model: "demo-1" };

const dsh = await bringDsh();
const skipped = dsh.missing === undefined ? "" : ` (skipped: ${dsh.missing})`;

/** Speaks, and then fails. */
const failing: Provider = {
  name: "demo",
  async *stream() {
    yield { type: "text-delta", index: 0, text: "Let me " };
    throw new ProviderError("provider-unavailable", "overloaded", {
      hint: "Wait.",
      retryable: true,
      status: 503,
    });
  },
};

/** Is stopped by its user in its second word. */
function stopped(): { readonly provider: Provider; readonly signal: AbortSignal } {
  const controller = new AbortController();
  let deltas = 0;
  const delay = async () => {
    deltas += 1;
    if (deltas === 2) controller.abort(new TurnAbort("user"));
  };
  return { provider: createDemo({ delay }), signal: controller.signal };
}

/** Turns that end in all ways there are; then a fork, and a session that a crash left in a call and that goes on. */
async function converse(root: string, encoding: Encoding, workspace: string): Promise<readonly string[]> {
  const { newId, clock } = new Counters();
  await using store = await openRoot(root, encoding);
  const tools = new ToolRegistry(workspaceTools(workspace));
  const agents = new Agents(store, { tools, system: "Be brief.", maxSteps: 8, newId }, clock);
  const never = new AbortController().signal;
  const demo = createDemo();

  await using first = await agents.create({ sessionId: "first", cwd: workspace });
  const { provider, signal } = stopped();
  const ends = [
    await first.run("What about lighthouses?", demo, ROUTE, never),
    await first.run("fail", failing, ROUTE, never),
    await first.run("What is this?", provider, ROUTE, signal),
    await first.run("say goodbye \u{1f44b}", demo, ROUTE, never),
  ];
  await using fork = await agents.fork({ sessionId: "first", newSessionId: "fork" });
  await fork.run("say hello from the fork", demo, ROUTE, never);

  const at = { turn: 1, step: 1 };
  const calls = [callBlock("call-1"), callBlock("call-2")];
  const drafts = [
    turnStart(1),
    userMessage("go"),
    stepStart(at),
    assistantMessage(at, calls),
    toolCall(at, "call-1"),
  ];
  await using crashed = await store.create({ version: 0, id: "crashed", createdAt: clock() });
  await crashed.log.appendAll(drafts);
  await crashed[Symbol.asyncDispose]();
  await using resumed = await agents.resume({ resumeSessionId: "crashed" });
  await resumed.run("say I am back", demo, ROUTE, never);
  return ends.map(({ reason }) => reason.kind);
}

describe.skipIf(dsh.missing !== undefined)(`conversations of Holdfast's agent${skipped}`, () => {
  test.each(ENCODINGS)(
    "%s: dsh reads them without loss, and they keep its rules for running sessions",
    async (encoding) => {
      await using folder = await TempFolder.create();
      await Bun.write(folder.at("workspace", "keeper.txt"), "lighthouses stand on rocks\n");
      const root = folder.at("root");
      const ends = await converse(root, encoding, folder.at("workspace"));
      expect(ends).toEqual(["completed", "error", "aborted", "completed"]);

      // Held open while dsh reads: the lock of a root is none of dsh's business.
      await using store = await openRoot(root, encoding);
      const { items } = await store.list();
      const readings = items.map(async ({ id }) => [id, readingOf(await store.inspect(id))] as const);
      const expected = Object.fromEntries(await Promise.all(readings));
      expect(Object.keys(expected).toSorted()).toEqual(["crashed", "first", "fork"]);
      const [read] = await dsh.read([{ root, encoding }]);
      expect(dshReadings(read, expected)).toEqual(expected);
      const broken = Object.values(read?.sessions ?? {}).map((one) =>
        "error" in one ? one.error : one.brokenRule,
      );
      expect(broken).toEqual([undefined, undefined, undefined]);
    },
    TIMEOUT_MS,
  );
});
