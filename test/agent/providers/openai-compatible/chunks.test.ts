import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { assemble, blocksOf, failure, toolDelta } from "../../../fixtures/assembled.ts";
import { delta, finish, usage } from "../../../fixtures/provider-server.ts";

describe("text and reasoning", () => {
  test("text deltas make one text block, with its usage and finish after it", () => {
    expect(
      assemble([
        delta({ role: "assistant", content: "" }),
        delta({ content: "He" }),
        delta({ content: "y" }),
        finish("stop"),
        usage(3, 2),
      ]),
    ).toEqual([
      { type: "block-start", index: 0, blockType: "text" },
      { type: "text-delta", index: 0, text: "He" },
      { type: "text-delta", index: 0, text: "y" },
      { type: "block-end", index: 0, block: { type: "text", text: "Hey" } },
      { type: "usage", usage: { inputTokens: 3, outputTokens: 2 } },
      { type: "finish", reason: { kind: "stop" } },
    ]);
  });

  test.each(["reasoning_content", "reasoning"])(
    "%s becomes a reasoning block that ends where the text begins",
    (field) => {
      const chunks = assemble([
        delta({ [field]: "hm" }),
        delta({ [field]: "m", content: "" }),
        delta({ content: "Hi" }),
        finish("stop"),
      ]);
      expect(chunks.map((chunk) => chunk.type)).toEqual([
        "block-start",
        "reasoning-delta",
        "reasoning-delta",
        "block-end",
        "block-start",
        "text-delta",
        "block-end",
        "finish",
      ]);
      expect(blocksOf(chunks)).toEqual([
        { type: "reasoning", text: "hmm" },
        { type: "text", text: "Hi" },
      ]);
    },
  );

  test("text after a tool call is a block of its own, so that the order is kept", () => {
    const blocks = blocksOf(
      assemble([
        delta({ content: "a" }),
        toolDelta(0, { id: "c", name: "f", arguments: "{}" }),
        delta({ content: "b" }),
        finish("tool_calls"),
      ]),
    );
    expect(blocks.map((block) => block.type)).toEqual(["text", "tool-call", "text"]);
  });

  test("a refusal is text: without it the answer would be empty", () => {
    expect(blocksOf(assemble([delta({ refusal: "No." }), finish("stop")]))).toEqual([
      { type: "text", text: "No." },
    ]);
  });

  test("unknown fields, null fields, and choices beyond the first are ignored", () => {
    const chunks = assemble([
      {
        system_fingerprint: "x",
        choices: [{ index: 0, delta: { content: null, tool_calls: null, extra: [1] }, logprobs: {} }],
      },
      { choices: [{ index: 1, delta: { content: "other" }, finish_reason: "length" }] },
      { choices: null },
      { object: "ping" },
      { choices: [{ index: 0, delta: { content: "x" }, finish_reason: "" }] },
      { choices: [{ index: 0, delta: null, finish_reason: "stop" }], usage: null },
    ]);
    expect(blocksOf(chunks)).toEqual([{ type: "text", text: "x" }]);
  });

  test("an answer may be empty", () => {
    expect(assemble([finish("stop")])).toEqual([{ type: "finish", reason: { kind: "stop" } }]);
  });

  test("any split of a text gives the same block", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), (pieces) => {
        const chunks = assemble([...pieces.map((content) => delta({ content })), finish("stop")]);
        const whole = pieces.join("");
        expect(blocksOf(chunks)).toEqual(whole === "" ? [] : [{ type: "text", text: whole }]);
        const deltas = chunks.flatMap((chunk) => (chunk.type === "text-delta" ? [chunk.text] : []));
        expect(deltas).toEqual(pieces.filter((piece) => piece !== ""));
      }),
    );
  });
});

describe("usage", () => {
  test("cached and reasoning tokens are told, under either name", () => {
    const usageOf = (details: object) =>
      assemble([finish("stop"), usage(100, 20, details)]).find((chunk) => chunk.type === "usage");
    expect(
      usageOf({
        prompt_tokens_details: { cached_tokens: 64 },
        completion_tokens_details: { reasoning_tokens: 5 },
      }),
    ).toEqual({
      type: "usage",
      usage: { inputTokens: 100, outputTokens: 20, cacheReadTokens: 64, reasoningTokens: 5 },
    });
    expect(usageOf({ prompt_cache_hit_tokens: 7, prompt_tokens_details: null })).toEqual({
      type: "usage",
      usage: { inputTokens: 100, outputTokens: 20, cacheReadTokens: 7 },
    });
  });

  test("the last report counts, and one that makes no sense is as good as none", () => {
    expect(assemble([usage(1, 1), finish("stop"), usage(2, 3), usage(-1, 0)])).toEqual([
      { type: "usage", usage: { inputTokens: 2, outputTokens: 3 } },
      { type: "finish", reason: { kind: "stop" } },
    ]);
  });
});

describe("finish reasons", () => {
  test.each([
    ["stop", "stop"],
    ["length", "max-tokens"],
  ])("%s is %s", (reason, kind) => {
    expect(assemble([delta({ content: "x" }), finish(reason)]).at(-1)).toMatchObject({ reason: { kind } });
  });

  test.each(["tool_calls", "function_call", "stop"])("%s with tool calls is tool-calls", (reason) => {
    const chunks = assemble([toolDelta(0, { id: "c", name: "f" }), finish(reason)]);
    expect(chunks.at(-1)).toMatchObject({ reason: { kind: "tool-calls" } });
  });

  test("the same reason twice is fine, another one is not", () => {
    expect(assemble([finish("stop"), finish("stop")])).toHaveLength(1);
    expect(failure([finish("stop"), finish("length")]).code).toBe("provider-bad-response");
  });

  test("a content filter is a rejection that no retry will change", () => {
    expect(failure([delta({ content: "x" }), finish("content_filter")])).toMatchObject({
      code: "provider-rejected",
      retryable: false,
    });
  });

  test("a provider that gives up is unavailable and worth a retry", () => {
    expect(failure([finish("insufficient_system_resource")])).toMatchObject({
      code: "provider-unavailable",
      retryable: true,
    });
  });
});

describe("what breaks the protocol is a bad response", () => {
  const cases: ReadonlyArray<readonly [string, readonly unknown[]]> = [
    ["no finish reason", [delta({ content: "x" })]],
    ["nothing at all", []],
    ["an unknown finish reason", [finish("whim")]],
    ["a chunk that is no object", [5]],
    ["a chunk that is null", [null]],
    ["content that is no string", [delta({ content: 5 })]],
    ["choices that are no list", [{ choices: {} }]],
    ["a negative tool index", [toolDelta(-1, { id: "c", name: "f" })]],
    ["a tool call without an id", [toolDelta(0, { name: "f", arguments: "{}" }), finish("tool_calls")]],
    ["a tool call with an empty id", [toolDelta(0, { id: "", name: "f" }), finish("tool_calls")]],
    ["a tool call without a name", [toolDelta(0, { id: "c", arguments: "{}" }), finish("tool_calls")]],
    [
      "two tool calls with one id",
      [toolDelta(0, { id: "c", name: "f" }), toolDelta(1, { id: "c", name: "g" }), finish("tool_calls")],
    ],
    ["an endless id", [toolDelta(0, { id: "c".repeat(257), name: "f" }), finish("tool_calls")]],
    ["an endless name", [toolDelta(0, { id: "c", name: "f".repeat(257) }), finish("tool_calls")]],
    [
      "an id that changes midway",
      [
        toolDelta(0, { id: "c", name: "f" }),
        toolDelta(0, { arguments: "{" }),
        toolDelta(0, { id: "d" }),
        finish("tool_calls"),
      ],
    ],
    ["tool calls that were announced and not sent", [delta({ content: "x" }), finish("tool_calls")]],
  ];
  test.each(cases)("%s", (_, items) => {
    expect(failure(items).code).toBe("provider-bad-response");
  });
});
