import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import { TurnAbort } from "../../src/agent/errors.ts";
import type { Provider } from "../../src/agent/provider.ts";
import type { Tool } from "../../src/agent/tool.ts";
import { isEvent } from "../../src/session/events.ts";
import { AgentRig } from "../fixtures/agent-rig.ts";
import { awaitEvent } from "../fixtures/await-event.ts";
import { validHistory } from "../fixtures/chat-history.ts";
import { type EventMatch, ofType, textDelta } from "../fixtures/event-faults.ts";
import { type Answer, HostRig } from "../fixtures/host-rig.ts";
import { forever } from "../fixtures/model-replies.ts";
import {
  delta,
  heldReply,
  type Reply,
  sseReply,
  textReply,
  toolCallReply,
} from "../fixtures/provider-server.ts";
import { echo, makeTool, StubbornTool } from "../fixtures/test-tools.ts";

const CANCELLED = { status: 409, code: "invocation-cancelled" };
const ABORTED = { kind: "aborted", reason: { kind: "user" } };

function brief({ status, body }: Answer) {
  return { status, code: body.code };
}

function types(rig: HostRig): string[] {
  const all = [...rig.host.agent.session.log].map(({ type }) => type);
  return all.filter((type, k) => type !== "assistant/chunk" || all[k - 1] !== type);
}

function ends(rig: HostRig): unknown[] {
  return [...rig.host.agent.session.log].flatMap((event) =>
    isEvent(event, "turn/end") ? [event.data.reason] : [],
  );
}

function results(rig: HostRig): unknown[] {
  return [...rig.host.agent.session.log].flatMap((event) =>
    isEvent(event, "tool/result") ? [[event.data.message.source.callId, event.data.error?.code]] : [],
  );
}

describe("a queued invocation", () => {
  test("leaves no trace, and those around it are not disturbed", async () => {
    const gate = Promise.withResolvers<void>();
    await using rig = await HostRig.start({
      replies: [heldReply(gate.promise, textReply("one")), textReply("three")],
    });
    const first = rig.invoke("first");
    await rig.server.request();
    const second = await rig.queue("second", "second");
    expect((await rig.cancel("second")).status).toBe(202);
    expect(brief(await second.answer)).toEqual(CANCELLED);
    const third = rig.invoke("third");
    gate.resolve();
    expect((await first).body).toMatchObject({ turn: 1, message: "one" });
    expect((await third).body).toMatchObject({ turn: 2, message: "three" });
    expect((await rig.texts()).disk.join()).not.toContain("second");
  });

  test("its id can be used again at once", async () => {
    const gate = Promise.withResolvers<void>();
    await using rig = await HostRig.start({
      replies: [heldReply(gate.promise, textReply("one")), textReply("two")],
    });
    const first = rig.invoke("first");
    await rig.server.request();
    const queued = await rig.queue("queued", "again");
    await rig.cancel("again");
    expect(brief(await queued.answer)).toEqual(CANCELLED);
    const again = rig.invoke("again", { id: "again" });
    gate.resolve();
    await first;
    expect((await again).body).toMatchObject({ turn: 2, message: "two" });
  });
});

/** Cancels the invocation `x` at the first event that fits; returns once it has its answer. */
async function cancelAt(rig: HostRig, match: EventMatch): Promise<void> {
  const invocation = rig.invoke("go", { id: "x" });
  await awaitEvent(rig.host.agent.session.log, match);
  expect((await rig.cancel("x")).status).toBe(202);
  expect(brief(await invocation)).toEqual(CANCELLED);
  expect(brief(await rig.cancel("x"))).toEqual({ status: 404, code: "invocation-unknown" });
  expect(ends(rig)).toEqual([ABORTED]);
  const { memory, disk } = await rig.texts();
  expect(disk).toEqual([...memory]);
}

/** The history that the model gets with the next input. */
async function nextHistory(rig: HostRig) {
  const { length } = rig.server.requests;
  rig.server.script(textReply("next"));
  expect((await rig.invoke("and now?")).body).toMatchObject({ turn: 2, message: "next" });
  return validHistory(rig.server.requests[length]?.body ?? "");
}

describe("in the model call", () => {
  test("what was said so far becomes an interrupted message, and the connection to the provider is cut", async () => {
    await using rig = await HostRig.start({
      replies: [
        sseReply([delta({ reasoning_content: "I think" }), delta({ content: "Half an " }), forever()]),
      ],
    });
    await cancelAt(rig, textDelta);
    const { signal } = await rig.server.request();
    if (!signal.aborted) await once(signal, "abort");
    expect(types(rig).slice(-4)).toEqual(["assistant/chunk", "assistant/message", "step/end", "turn/end"]);
    const message = [...rig.host.agent.session.log].find((event) => isEvent(event, "assistant/message"));
    expect(message?.data).toMatchObject({
      interrupted: true,
      message: {
        content: [
          { type: "reasoning", text: "I think" },
          { type: "text", text: "Half an " },
        ],
      },
    });
    expect(await nextHistory(rig)).toEqual([
      { role: "user", content: "go" },
      { role: "assistant", content: "Half an " },
      { role: "user", content: "and now?" },
    ]);
  });

  test("a tool call that was being streamed is not part of the history", async () => {
    const fragment = { index: 0, id: "a", type: "function", function: { name: "echo", arguments: "" } };
    await using rig = await HostRig.start({
      tools: [echo],
      replies: [
        sseReply([
          delta({ content: "I look." }),
          delta({ tool_calls: [fragment] }),
          delta({ tool_calls: [{ index: 0, function: { arguments: '{"te' } }] }),
          forever(),
        ]),
      ],
    });
    await cancelAt(rig, ({ data }) => JSON.stringify(data).includes("tool-call-delta"));
    expect(types(rig)).not.toContain("tool/result");
    expect((await nextHistory(rig))[1]).toEqual({ role: "assistant", content: "I look." });
  });

  test.each<[string, Reply]>([
    ["has said nothing", sseReply([forever()])],
    ["never answers", heldReply(forever(), textReply("too late"))],
  ])("a provider that %s leaves no message", async (_, reply) => {
    await using rig = await HostRig.start({ replies: [reply] });
    const invocation = rig.invoke("go", { id: "x" });
    await rig.server.request();
    expect((await rig.cancel("x")).status).toBe(202);
    expect(brief(await invocation)).toEqual(CANCELLED);
    expect(types(rig).slice(-2)).toEqual(["step/end", "turn/end"]);
    expect(types(rig)).not.toContain("assistant/message");
    expect((await nextHistory(rig)).map(({ role }) => role)).toEqual(["user", "user"]);
  });

  test("while the input is on its way to a slow disk: the model is never asked", async () => {
    await using rig = await HostRig.start();
    const hold = rig.faults.holdOnce(ofType("user/message"));
    const invocation = rig.invoke("go", { id: "x" });
    await hold.reached;
    expect((await rig.cancel("x")).status).toBe(202);
    hold.release();
    expect(brief(await invocation)).toEqual(CANCELLED);
    expect(rig.server.requests).toHaveLength(0);
    expect(ends(rig)).toEqual([ABORTED]);
  });
});

const TWO_CALLS = (name: string) =>
  toolCallReply({ id: "a", name, arguments: "{}" }, { id: "b", name: "echo", arguments: "{}" });

/** Runs until its signal fires, and then says how it ended. */
function obedient(ended: (reason: unknown) => void): Tool {
  return makeTool("obedient", async (_, signal) => {
    if (!signal.aborted) await once(signal, "abort");
    ended(signal.reason);
    throw new Error("stopped");
  });
}

describe("in a tool", () => {
  test("its call is answered as stopped, those behind it as not started", async () => {
    const ended = Promise.withResolvers<unknown>();
    await using rig = await HostRig.start({
      tools: [obedient(ended.resolve), echo],
      replies: [TWO_CALLS("obedient")],
    });
    await cancelAt(rig, ofType("tool/call"));
    expect(await ended.promise).toMatchObject({ kind: "user" });
    expect(results(rig)).toEqual([
      ["a", "TOOL_ABORTED"],
      ["b", "TOOL_NOT_STARTED"],
    ]);
    expect((await nextHistory(rig)).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "tool",
      "user",
    ]);
  });

  test("a tool that ignores its signal holds nobody up, and what it returns later changes nothing", async () => {
    const stubborn = new StubbornTool();
    await using rig = await HostRig.start({ tools: [stubborn.tool, echo], replies: [TWO_CALLS("stubborn")] });
    const invocation = rig.invoke("go", { id: "x" });
    await stubborn.reached;
    await rig.cancel("x");
    expect(brief(await invocation)).toEqual(CANCELLED);
    const history = await nextHistory(rig);
    const before = await rig.texts();
    stubborn.release();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await rig.texts()).toEqual(before);
    expect(history.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool", "user"]);
    expect(results(rig)).toEqual([
      ["a", "TOOL_ABORTED"],
      ["b", "TOOL_NOT_STARTED"],
    ]);
  });

  test("between two calls: the finished one keeps its result, the other one never runs", async () => {
    let runs = 0;
    const counter = makeTool("counter", async () => ({ text: String(++runs) }));
    const calls = ["a", "b"].map((id) => ({ id, name: "counter", arguments: "{}" }));
    await using rig = await HostRig.start({ tools: [counter], replies: [toolCallReply(...calls)] });
    const hold = rig.faults.holdOnce(ofType("tool/result"));
    const invocation = rig.invoke("go", { id: "x" });
    await hold.reached;
    await rig.cancel("x");
    hold.release();
    expect(brief(await invocation)).toEqual(CANCELLED);
    expect(runs).toBe(1);
    expect(results(rig)).toEqual([
      ["a", undefined],
      ["b", "TOOL_ABORTED"],
    ]);
    await nextHistory(rig);
  });

  test("cancelling twice is one cancellation", async () => {
    const stubborn = new StubbornTool();
    await using rig = await HostRig.start({ tools: [stubborn.tool], replies: [TWO_CALLS("stubborn")] });
    const invocation = rig.invoke("go", { id: "x" });
    await stubborn.reached;
    const hold = rig.faults.holdOnce(ofType("turn/end"));
    expect((await rig.cancel("x")).status).toBe(202);
    await hold.reached;
    expect((await rig.cancel("x")).status).toBe(202);
    hold.release();
    expect(brief(await invocation)).toEqual(CANCELLED);
    expect(ends(rig)).toEqual([ABORTED]);
    stubborn.release();
  });
});

test("deltas that wait for company are saved at once when the Turn is stopped, however long they might wait", async () => {
  await using rig = await AgentRig.open({ chunkWindowMs: 60_000 });
  const streamed = Promise.withResolvers<void>();
  const provider: Provider = {
    name: "slow",
    async *stream() {
      yield { type: "block-start", index: 0, blockType: "tool-call" };
      yield { type: "tool-call-delta", index: 0, id: "a", name: "echo", argumentsDelta: "{" };
      streamed.resolve();
      await forever();
    },
  };
  const abort = new AbortController();
  const turn = rig.run("go", { provider, signal: abort.signal });
  await streamed.promise;
  abort.abort(new TurnAbort("user"));
  expect(await turn).toMatchObject({ reason: ABORTED });
  expect(rig.types().slice(-3)).toEqual(["assistant/chunk", "step/end", "turn/end"]);
  expect(rig.all("assistant/chunk")).toHaveLength(2);
});

test("a client that goes away does not cancel its invocation", async () => {
  const gate = Promise.withResolvers<void>();
  await using rig = await HostRig.start({ replies: [heldReply(gate.promise, textReply("said to nobody"))] });
  const client = new AbortController();
  const lost = fetch(`${rig.host.url}/api/v1/agent/invocations/x`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input: "go" }),
    signal: client.signal,
  });
  await rig.server.request();
  client.abort();
  await expect(lost).rejects.toThrow();
  gate.resolve();
  await awaitEvent(rig.host.agent.session.log, ofType("turn/end"));
  expect(ends(rig)).toEqual([{ kind: "completed" }]);
});

test("a cancellation that comes when the answer is complete and on its way to the disk: the answer stands", async () => {
  await using rig = await HostRig.start({ replies: [textReply("said")] });
  const hold = rig.faults.holdOnce(ofType("turn/end"));
  const invocation = rig.invoke("go", { id: "x" });
  await hold.reached;
  expect((await rig.cancel("x")).status).toBe(202);
  hold.release();
  expect(await invocation).toMatchObject({ status: 200, body: { message: "said" } });
  expect(ends(rig)).toEqual([{ kind: "completed" }]);
});

test("a cancelled Turn that cannot be saved is told as what the store said", async () => {
  await using rig = await HostRig.start({ replies: [sseReply([delta({ content: "Half" }), forever()])] });
  const invocation = rig.invoke("go", { id: "x" });
  await awaitEvent(rig.host.agent.session.log, textDelta);
  rig.faults.outage(new Error("disk"));
  await rig.cancel("x");
  expect(brief(await invocation)).toEqual({ status: 500, code: "storage-failed" });
  rig.faults.outage();
  rig.server.script(textReply("next"));
  expect((await rig.invoke("next")).body).toMatchObject({ turn: 2, message: "next" });
  expect(ends(rig)).toEqual([{ kind: "interrupted" }, { kind: "completed" }]);
});
