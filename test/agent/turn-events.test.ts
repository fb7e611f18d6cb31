import { describe, expect, test } from "bun:test";
import { AgentRig } from "../fixtures/agent-rig.ts";
import {
  delta,
  finish,
  sseReply,
  statusReply,
  textReply,
  toolCallReply,
  usage,
} from "../fixtures/provider-server.ts";
import { echo } from "../fixtures/test-tools.ts";

const TEXT_STEP = ["step/start", "assistant/chunk", "assistant/message", "step/end"];

describe("the order of events", () => {
  test("a Turn without tools is one Step", async () => {
    await using rig = await AgentRig.open({ replies: [textReply("Hello ", "you")] });
    const result = await rig.run("hi");
    expect(rig.types()).toEqual([
      "turn/start",
      "user/message",
      "step/start",
      "request/header",
      "assistant/chunk",
      "assistant/message",
      "step/end",
      "turn/end",
    ]);
    expect(result).toMatchObject({ turn: 1, steps: 1, reason: { kind: "completed" }, message: "Hello you" });
    expect(rig.events.map(({ seq }) => seq)).toEqual(rig.events.map((_, k) => k));
  });

  test("each call is followed by its result, and the results by the next Step", async () => {
    await using rig = await AgentRig.open({
      tools: [echo],
      replies: [
        toolCallReply(
          { id: "a", name: "echo", arguments: '{"text":"1"}' },
          { id: "b", name: "echo", arguments: '{"text":"2"}' },
        ),
        toolCallReply({ id: "c", name: "echo", arguments: "{}" }),
        textReply("done"),
      ],
    });
    const result = await rig.run("hi");
    const call = ["tool/call", "tool/result"];
    expect(rig.types()).toEqual([
      ...[
        "turn/start",
        "user/message",
        "step/start",
        "request/header",
        "assistant/chunk",
        "assistant/message",
      ],
      ...[...call, ...call, "step/end"],
      ...["step/start", "assistant/chunk", "assistant/message", ...call, "step/end"],
      ...[...TEXT_STEP, "turn/end"],
    ]);
    expect(result).toMatchObject({ steps: 3, message: "done" });
    expect(rig.all("tool/call").map(({ data }) => [data.callId, data.arguments])).toEqual([
      ["a", '{"text":"1"}'],
      ["b", '{"text":"2"}'],
      ["c", "{}"],
    ]);
  });

  test("a second Turn goes on behind the first", async () => {
    await using rig = await AgentRig.open({ replies: [textReply("one"), textReply("two")] });
    await rig.run("first");
    const from = rig.events.length;
    await rig.run("second");
    expect(rig.types(from)).toEqual(["turn/start", "user/message", ...TEXT_STEP, "turn/end"]);
  });
});

describe("what events point to", () => {
  test("an assistant message cites the chunks of its own Step, all and no others", async () => {
    await using rig = await AgentRig.open({
      tools: [echo],
      replies: [toolCallReply({ id: "a", name: "echo", arguments: "{}" }), textReply("x", "y", "z")],
    });
    await rig.run("hi");
    for (const message of rig.all("assistant/message")) {
      const own = rig.all("assistant/chunk").filter(({ data }) => data.step === message.data.step);
      expect(message.sourceEventSeqs).toEqual(own.map(({ seq }) => seq));
      expect(own.length).toBeGreaterThan(0);
    }
  });

  test("a result cites its call", async () => {
    await using rig = await AgentRig.open({
      tools: [echo],
      replies: [
        toolCallReply({ id: "a", name: "echo", arguments: "{}" }, { id: "b", name: "none", arguments: "{}" }),
        textReply("done"),
      ],
    });
    await rig.run("hi");
    const calls = rig.all("tool/call");
    const results = rig.all("tool/result");
    expect(results.map(({ sourceEventSeqs }) => sourceEventSeqs)).toEqual(calls.map(({ seq }) => [seq]));
    expect(results.map(({ data }) => data.message.source.callId)).toEqual(["a", "b"]);
  });

  test("a message holds the blocks as they were streamed, reasoning included", async () => {
    await using rig = await AgentRig.open({
      replies: [
        sseReply([
          delta({ reasoning_content: "let me " }),
          delta({ reasoning_content: "think" }),
          delta({ content: "It is " }),
          delta({ content: "\ud83e\udd80\u2028\u0000" }),
          finish("stop"),
        ]),
      ],
    });
    const result = await rig.run("hi");
    expect(rig.all("assistant/message").map(({ data }) => data.message.content)).toEqual([
      [
        { type: "reasoning", text: "let me think" },
        { type: "text", text: "It is \ud83e\udd80\u2028\u0000" },
      ],
    ]);
    expect(result.message).toBe("It is \ud83e\udd80\u2028\u0000");
  });

  test("an answer without a word ends the Turn, and no empty message goes to the model", async () => {
    await using rig = await AgentRig.open({ replies: [sseReply([finish("stop")]), textReply("two")] });
    expect(await rig.run("first")).toMatchObject({ reason: { kind: "completed" }, message: "" });
    await rig.run("second");
    expect(rig.server.requests[1]?.json()).toMatchObject({
      messages: [
        { role: "user", content: "first" },
        { role: "user", content: "second" },
      ],
    });
  });
});

describe("numbers", () => {
  test("Steps count from 1 in each Turn, and Turns go on after a restart", async () => {
    const call = toolCallReply({ id: "a", name: "echo", arguments: "{}" });
    await using rig = await AgentRig.open({
      tools: [echo],
      replies: [call, textReply("one"), textReply("two")],
    });
    await rig.run("first");
    await rig.run("second");
    await rig.restart();
    rig.server.script(call, textReply("three"));
    expect(await rig.run("third")).toMatchObject({ turn: 3, steps: 2 });
    expect(rig.all("step/start").map(({ data: { turn, step } }) => [turn, step])).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
      [3, 1],
      [3, 2],
    ]);
    expect(rig.all("turn/end").map(({ data }) => data.turn)).toEqual([1, 2, 3]);
  });

  test("a Turn that failed or was stopped keeps its number", async () => {
    await using rig = await AgentRig.open({ replies: [statusReply(503, "away"), textReply("two")] });
    expect(await rig.run("first")).toMatchObject({ turn: 1 });
    expect(await rig.run("second")).toMatchObject({ turn: 2 });
  });

  test("the usage of a Turn is the sum of its Steps, and of no other Turn", async () => {
    const details = {
      prompt_tokens_details: { cached_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 2 },
    };
    await using rig = await AgentRig.open({
      tools: [echo],
      replies: [
        toolCallReply({ id: "a", name: "echo", arguments: "{}" }),
        sseReply([delta({ content: "x" }), finish("stop"), usage(100, 30, details)]),
        textReply("y"),
      ],
    });
    const first = await rig.run("first");
    expect(first.usage).toEqual({
      inputTokens: 110,
      outputTokens: 31,
      cacheReadTokens: 5,
      cacheWriteTokens: 0,
      reasoningTokens: 2,
    });
    expect((await rig.run("second")).usage).toMatchObject({ inputTokens: 10, outputTokens: 1 });
    await rig.restart();
    const { usage: totals } = rig.agent.session.projections;
    expect(totals.ofTurn(1)).toEqual(first.usage);
    expect(totals.total).toMatchObject({ inputTokens: 120, outputTokens: 32 });
  });

  test("usage that the provider did not report counts as nothing", async () => {
    await using rig = await AgentRig.open({ replies: [sseReply([delta({ content: "x" }), finish("stop")])] });
    expect((await rig.run("hi")).usage).toMatchObject({ inputTokens: 0, outputTokens: 0 });
    expect(rig.all("assistant/message").map(({ data }) => "usage" in data)).toEqual([false]);
  });
});
