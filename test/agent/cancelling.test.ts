import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import { TurnAbort } from "../../src/agent/errors.ts";
import type { Provider } from "../../src/agent/provider.ts";
import { isEvent } from "../../src/session/events.ts";
import { AgentRig } from "../fixtures/agent-rig.ts";
import { awaitEvent } from "../fixtures/await-event.ts";
import { ABORTED, brief, CANCELLED, cancelAt, ends, nextHistory, types } from "../fixtures/cancelled-turn.ts";
import { ofType, textDelta } from "../fixtures/event-faults.ts";
import { HostRig } from "../fixtures/host-rig.ts";
import { forever } from "../fixtures/model-replies.ts";
import { delta, heldReply, type Reply, sseReply, textReply } from "../fixtures/provider-server.ts";
import { echo } from "../fixtures/test-tools.ts";

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
