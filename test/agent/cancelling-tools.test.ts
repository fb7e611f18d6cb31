import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import type { Tool } from "../../src/agent/tool.ts";
import {
  ABORTED,
  brief,
  CANCELLED,
  cancelAt,
  ends,
  nextHistory,
  results,
} from "../fixtures/cancelled-turn.ts";
import { ofType } from "../fixtures/event-faults.ts";
import { HostRig } from "../fixtures/host-rig.ts";
import { toolCallReply } from "../fixtures/provider-server.ts";
import { echo, makeTool, StubbornTool } from "../fixtures/test-tools.ts";

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
