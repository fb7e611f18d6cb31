import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { TurnAbort } from "../../src/agent/errors.ts";
import type { Provider } from "../../src/agent/provider.ts";
import type { Session } from "../../src/session/session.ts";
import { AgentRig } from "../fixtures/agent-rig.ts";
import { awaitEvent } from "../fixtures/await-event.ts";
import { ofType, textDelta } from "../fixtures/event-faults.ts";
import { forever } from "../fixtures/model-replies.ts";
import {
  delta,
  finish,
  sseReply,
  statusReply,
  textReply,
  toolCallReply,
  usage,
} from "../fixtures/provider-server.ts";
import { broken, echo } from "../fixtures/test-tools.ts";

/** All that can be read of a session. */
function everything({ log, projections, header, id }: Session) {
  const { usage: totals, openWork, requestHeader, surface } = projections;
  return {
    header,
    events: [...log],
    texts: [...log.texts()],
    messages: projections.messages(log, id),
    transcript: [...projections.transcript(log)],
    usage: [totals.total, ...Array.from({ length: openWork.lastTurn }, (_, k) => totals.ofTurn(k + 1))],
    requestHeader,
    surface: surface.seqs,
    open: [openWork.turn, openWork.step, openWork.calls],
  };
}

const TOOLS = toolCallReply(
  { id: "a", name: "echo", arguments: '{"text":"\ud83e\udd80\u2028"}' },
  { id: "b", name: "broken", arguments: "{}" },
  { id: "c", name: "none", arguments: "[1" },
);

/** A session with tools, errors, an aborted Turn, and Turns that crashed. */
async function eventful(chunkWindowMs: number): Promise<AgentRig> {
  const rig = await AgentRig.open({ tools: [echo, broken], system: "Be brief.", chunkWindowMs });
  const details = { prompt_tokens_details: { cached_tokens: 3 } };
  rig.server.script(
    TOOLS,
    sseReply([
      delta({ reasoning_content: "hm" }),
      delta({ content: "so" }),
      finish("stop"),
      usage(7, 8, details),
    ]),
  );
  await rig.run("tools");
  rig.server.script(statusReply(429, "slow down", { "retry-after": "1" }));
  await rig.run("fail");

  rig.server.script(sseReply([delta({ content: "half" }), forever()]));
  const abort = new AbortController();
  const { log } = rig.agent.session;
  const from = log.length;
  const aborted = rig.run("stop", { signal: abort.signal });
  await awaitEvent(log, (event) => event.seq >= from && textDelta(event));
  abort.abort(new TurnAbort("user"));
  await aborted;

  rig.server.script(TOOLS);
  const hold = rig.faults.holdOnce(ofType("tool/result"));
  const lost = rig.run("crash").catch(() => undefined);
  await hold.reached;
  await rig.crash();
  hold.release();
  await lost;

  rig.server.script(textReply("one", " two", " three", " four"));
  await rig.run("on", { route: { provider: "openai-compatible", model: "other-model" } });
  return rig;
}

test.each([0, 5])(
  "an eventful session reads back equal, with a chunk window of %p ms",
  async (chunkWindowMs) => {
    await using rig = await eventful(chunkWindowMs);
    const before = everything(rig.agent.session);
    expect(before.transcript.filter(({ kind }) => kind === "turn-end")).toHaveLength(3);
    expect(before.open).toEqual([undefined, undefined, []]);
    await rig.restart();
    expect(everything(rig.agent.session)).toEqual(before);
    await rig.crash();
    expect(everything(rig.agent.session)).toEqual(before);
    const inspected = await rig.store.inspect("s");
    expect([...inspected.log.texts()]).toEqual(before.texts);
  },
);

/** Answers at once, in this process: what is measured is the log. */
const quick: Provider = {
  name: "quick",
  async *stream() {
    yield { type: "block-start", index: 0, blockType: "text" };
    for (const text of ["one ", "two ", "three ", "four"]) yield { type: "text-delta", index: 0, text };
    yield { type: "block-end", index: 0, block: { type: "text", text: "one two three four" } };
    yield { type: "usage", usage: { inputTokens: 1, outputTokens: 4 } };
    yield { type: "finish", reason: { kind: "stop" } };
  },
};

test("many Turns cost space in proportion to what was said, not to the history of each request", async () => {
  await using rig = await AgentRig.open({ chunkWindowMs: 1_000 });
  const sizeAfter = async (turns: number): Promise<number> => {
    while (rig.agent.session.projections.openWork.lastTurn < turns)
      await rig.run("a small input", { provider: quick });
    // Closing brings the write-ahead log into the file.
    await rig.restart();
    return statSync(rig.path).size;
  };
  const [at200, at400] = [await sizeAfter(200), await sizeAfter(400)];
  expect(at400 / at200).toBeLessThan(2.2);
  expect(at400 / 400).toBeLessThan(6_000);
  expect(rig.all("turn/end")).toHaveLength(400);
}, 30_000);
