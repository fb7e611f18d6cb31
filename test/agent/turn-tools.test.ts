import { describe, expect, test } from "bun:test";
import { ToolError } from "../../src/agent/tool.ts";
import { AgentRig } from "../fixtures/agent-rig.ts";
import { validHistory } from "../fixtures/chat-history.ts";
import { always, toolThenText } from "../fixtures/model-replies.ts";
import { delta, finish, sseReply, textReply, toolCallReply } from "../fixtures/provider-server.ts";
import { broken, careless, echo, makeTool } from "../fixtures/test-tools.ts";

const picky = makeTool("picky", () => Promise.reject(new ToolError("PickyError", "PICKY", "Not that one.")));
const noisy = makeTool("noisy", async () => ({ text: "heard", meta: { secret: [1, 2.5, "x"] } }));
const odd = makeTool("odd", async () => ({ text: "x", meta: Number.NaN }));
const huge = makeTool("huge", async () => ({ text: "😀".repeat(100_000), meta: ["y".repeat(300_000)] }));
const silent = makeTool("silent", () => Promise.reject(undefined));
const endless = { ...makeTool("endless", () => new Promise(() => undefined)), timeoutMs: 10 };
const failing = [echo, broken, picky, odd, huge, silent, endless, careless({ text: 5 })];

/** A call of each kind that fails: tool, arguments, name and code of the error. */
const FAILURES: ReadonlyArray<readonly [string, string, string, string, string]> = [
  ["an unknown tool", "nothing", "{}", "UnknownToolError", "TOOL_UNKNOWN"],
  ["arguments that are no JSON", "echo", '{"text":', "ToolArgumentsError", "TOOL_ARGUMENTS_NOT_JSON"],
  ["arguments that do not fit", "echo", '{"text":1}', "ToolArgumentsError", "TOOL_ARGUMENTS_INVALID"],
  ["a tool that throws", "broken", "{}", "ToolFailedError", "TOOL_FAILED"],
  ["a tool that throws nothing", "silent", "{}", "ToolFailedError", "TOOL_FAILED"],
  ["a tool that throws a code of its own", "picky", "{}", "PickyError", "PICKY"],
  ["a tool that never ends", "endless", "{}", "ToolTimeoutError", "TOOL_TIMEOUT"],
  ["a result that JSON cannot keep", "odd", "{}", "ToolOutputError", "TOOL_OUTPUT_INVALID"],
  ["a result that is no text", "careless", "{}", "ToolOutputError", "TOOL_OUTPUT_INVALID"],
  ["a result that is too large", "huge", "{}", "ToolOutputError", "TOOL_OUTPUT_TOO_LARGE"],
];

describe("error results: the model reads what went wrong, and the Turn goes on", () => {
  test.each(FAILURES)("%s", async (_, name, args, errorName, code) => {
    await using rig = await AgentRig.open({
      tools: failing,
      replies: [toolCallReply({ id: "c", name, arguments: args }), textReply("done")],
    });
    expect(await rig.run("hi")).toMatchObject({ steps: 2, reason: { kind: "completed" }, message: "done" });
    const [result] = rig.all("tool/result");
    expect(result?.data.error).toEqual({ name: errorName, code });
    expect(result?.data.message.content[0]).toMatchObject({ toolCallId: "c", isError: true });
    expect(rig.all("tool/call").map(({ data }) => [data.name, data.arguments])).toEqual([[name, args]]);
    expect(validHistory(rig.server.requests[1]?.body ?? "").at(-1)).toMatchObject({
      role: "tool",
      tool_call_id: "c",
    });
  });

  test("all kinds in one Step, with one call that goes well: each has its result, also after a restart", async () => {
    const calls = FAILURES.map(([, name, args], k) => ({ id: `c${k}`, name, arguments: args }));
    await using rig = await AgentRig.open({
      tools: failing,
      replies: [
        toolCallReply(...calls, { id: "well", name: "echo", arguments: '{"text":"still here"}' }),
        textReply("done"),
        textReply("again"),
      ],
    });
    expect(await rig.run("hi")).toMatchObject({ steps: 2, reason: { kind: "completed" } });
    const codes = rig.all("tool/result").map(({ data }) => data.error?.code);
    expect(codes).toEqual([...FAILURES.map((failure) => failure[4]), undefined]);
    await rig.restart();
    expect(await rig.run("go on")).toMatchObject({ turn: 2, message: "again" });
    const results = validHistory(rig.server.requests[2]?.body ?? "").filter(({ role }) => role === "tool");
    expect(results).toHaveLength(FAILURES.length + 1);
    expect(results.at(-1)).toMatchObject({ content: "echo still here" });
    const { memory, disk } = await rig.texts();
    expect(disk).toEqual(memory);
  });

  test("a result that is too large keeps its beginning, cut between characters, and no large metadata", async () => {
    await using rig = await AgentRig.open({
      tools: failing,
      replies: [toolCallReply({ id: "c", name: "huge", arguments: "{}" }), textReply("done")],
    });
    await rig.run("hi");
    const last = validHistory(rig.server.requests[1]?.body ?? "").at(-1);
    expect(last?.content).toEndWith(`\n\n${"😀".repeat(65_536)}`);
    expect(last?.content).toContain("the last 137856 of its 400000 bytes are left out");
    expect(rig.all("tool/result")[0]?.data.meta).toEqual({ leftOut: "more than 262144 bytes of metadata" });
  });
});

describe("results", () => {
  test("several calls in one Step run one after the other, in the order of the message", async () => {
    const order: string[] = [];
    const slow = makeTool("slow", async ({ text = "" }) => {
      order.push(`begin ${String(text)}`);
      await new Promise((resolve) => setImmediate(resolve));
      order.push(`end ${String(text)}`);
      return { text: String(text) };
    });
    await using rig = await AgentRig.open({
      tools: [slow],
      replies: [
        toolCallReply(
          ...["1", "2", "3"].map((text) => ({ id: text, name: "slow", arguments: JSON.stringify({ text }) })),
        ),
        textReply("done"),
      ],
    });
    await rig.run("hi");
    expect(order).toEqual(["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"]);
    expect(validHistory(rig.server.requests[1]?.body ?? "").slice(-3)).toEqual([
      { role: "tool", tool_call_id: "1", content: "1" },
      { role: "tool", tool_call_id: "2", content: "2" },
      { role: "tool", tool_call_id: "3", content: "3" },
    ]);
  });

  test("a text that is not well-formed is kept as it is, and goes to the model as well as it can", async () => {
    const torn = "\ud800 and \udc00\u0000\u2028";
    await using rig = await AgentRig.open({
      tools: [makeTool("torn", async () => ({ text: torn }))],
      replies: [
        toolCallReply({ id: "a", name: "torn", arguments: "{}" }),
        textReply("done"),
        textReply("again"),
      ],
    });
    await rig.run("hi");
    await rig.restart();
    await rig.run("go on");
    for (const { body } of rig.server.requests.slice(1)) {
      expect(validHistory(body)[2]?.content?.toWellFormed()).toBe(torn.toWellFormed());
    }
    expect(rig.all("tool/result")[0]?.data.message.content[0].content).toEqual([
      { type: "text", text: torn },
    ]);
  });

  test("metadata is kept in the log and never sent to the model", async () => {
    await using rig = await AgentRig.open({
      tools: [noisy],
      replies: [toolCallReply({ id: "a", name: "noisy", arguments: "{}" }), textReply("done")],
    });
    await rig.run("hi");
    expect(rig.all("tool/result")[0]?.data.meta).toEqual({ secret: [1, 2.5, "x"] });
    expect(rig.server.requests[1]?.body).not.toContain("secret");
  });

  test("an id that a model uses again in a later Step is answered there again", async () => {
    await using rig = await AgentRig.open({
      tools: [echo],
      replies: [
        toolCallReply({ id: "same", name: "echo", arguments: '{"text":"1"}' }),
        toolCallReply({ id: "same", name: "echo", arguments: '{"text":"2"}' }),
        textReply("done"),
      ],
    });
    await rig.run("hi");
    expect(validHistory(rig.server.requests[2]?.body ?? "").filter(({ role }) => role === "tool")).toEqual([
      { role: "tool", tool_call_id: "same", content: "echo 1" },
      { role: "tool", tool_call_id: "same", content: "echo 2" },
    ]);
  });
});

describe("limits", () => {
  test("the most Steps end the Turn as an error, every call answered, and a Turn after a restart goes on", async () => {
    const calls = (id: string) =>
      toolCallReply(
        { id: `${id}1`, name: "echo", arguments: "{}" },
        { id: `${id}2`, name: "broken", arguments: "{}" },
        { id: `${id}3`, name: "endless", arguments: "{}" },
      );
    await using rig = await AgentRig.open({
      tools: failing,
      maxSteps: 2,
      replies: [calls("a"), calls("b")],
    });
    const result = await rig.run("hi");
    expect(result).toMatchObject({ steps: 2, reason: { kind: "error", error: { code: "max-steps" } } });
    expect(result.failure).toMatchObject({ code: "max-steps" });
    expect(rig.server.requests).toHaveLength(2);
    expect(rig.types().slice(-3)).toEqual(["tool/result", "step/end", "turn/end"]);
    expect(rig.all("tool/result").map(({ data }) => data.message.source.callId)).toEqual([
      ...["a1", "a2", "a3"],
      ...["b1", "b2", "b3"],
    ]);
    await rig.restart();
    rig.server.script(textReply("better"));
    expect(await rig.run("and now?")).toMatchObject({ turn: 2, message: "better" });
    expect(
      validHistory(rig.server.requests[2]?.body ?? "").filter(({ role }) => role === "tool"),
    ).toHaveLength(6);
  });

  test("a text that was cut off at the token limit is kept, and the Turn ends as max-tokens", async () => {
    await using rig = await AgentRig.open({
      replies: [sseReply([delta({ content: "Once upon" }), finish("length")]), textReply("two")],
    });
    expect(await rig.run("hi")).toMatchObject({ reason: { kind: "max-tokens" }, message: "Once upon" });
    await rig.run("go on");
    expect(validHistory(rig.server.requests[1]?.body ?? "")[1]).toEqual({
      role: "assistant",
      content: "Once upon",
    });
  });

  test("calls of an answer that was cut off are answered and not run", async () => {
    let runs = 0;
    const counter = makeTool("counter", async () => ({ text: String(++runs) }));
    const fragment = (index: number, id: string) =>
      delta({
        tool_calls: [{ index, id, type: "function", function: { name: "counter", arguments: "{}" } }],
      });
    await using rig = await AgentRig.open({
      tools: [counter],
      replies: [sseReply([fragment(0, "a"), fragment(1, "b"), finish("length")]), textReply("two")],
    });
    expect(await rig.run("hi")).toMatchObject({ steps: 1, reason: { kind: "max-tokens" } });
    expect(runs).toBe(0);
    expect(rig.all("tool/call")).toEqual([]);
    expect(rig.all("tool/result").map(({ data }) => [data.message.source.callId, data.error?.code])).toEqual([
      ["a", "TOOL_NOT_STARTED"],
      ["b", "TOOL_NOT_STARTED"],
    ]);
    await rig.run("go on");
    validHistory(rig.server.requests[1]?.body ?? "");
  });

  test("the same Turn without a limit in the way calls the tool once", async () => {
    await using rig = await AgentRig.open({ tools: [echo], replies: always(toolThenText("echo"), 2) });
    expect(await rig.run("hi")).toMatchObject({ steps: 2, message: "All done" });
  });
});
