import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ProviderError } from "../../../../src/agent/provider.ts";
import { ChunkAssembler } from "../../../../src/agent/providers/openai-compatible/chunks.ts";
import { eventSchemas } from "../../../../src/session/event-schemas.ts";
import type { Chunk, ContentBlock } from "../../../../src/session/events.ts";
import { delta, finish, usage } from "../../../fixtures/provider-server.ts";

function assemble(items: readonly unknown[]): Chunk[] {
  const assembler = new ChunkAssembler();
  return [...items.flatMap((item) => assembler.add(item)), ...assembler.close()];
}

/** Checks the order that the format asks for, and returns the complete blocks by index. */
function blocksOf(chunks: readonly Chunk[]): ContentBlock[] {
  const open = new Set<number>();
  const blocks: ContentBlock[] = [];
  for (const chunk of chunks) {
    expect(
      eventSchemas().data["assistant/chunk"].safeParse({ turn: 1, step: 1, chunk }).error,
    ).toBeUndefined();
    if (chunk.type === "usage" || chunk.type === "finish") continue;
    if (chunk.type === "block-start") {
      expect(chunk.index).toBe(open.size + blocks.filter(Boolean).length);
      open.add(chunk.index);
    } else expect(open.has(chunk.index)).toBe(true);
    if (chunk.type === "block-end") {
      open.delete(chunk.index);
      blocks[chunk.index] = chunk.block;
    }
  }
  expect(open.size).toBe(0);
  expect(chunks.filter((chunk) => chunk.type === "finish")).toHaveLength(1);
  expect(chunks.at(-1)?.type).toBe("finish");
  return blocks;
}

function failure(items: readonly unknown[]): ProviderError {
  try {
    assemble(items);
  } catch (error) {
    if (error instanceof ProviderError) return error;
    throw error;
  }
  throw new Error("expected a failure");
}

const toolDelta = (index: number | undefined, fields: { id?: string; name?: string; arguments?: string }) => {
  const { id, ...fn } = fields;
  return delta({
    tool_calls: [{ index, ...(id === undefined ? {} : { id }), type: "function", function: fn }],
  });
};

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

describe("tool calls", () => {
  test("the deltas name the call, the first one with its name, and make up its arguments", () => {
    const chunks = assemble([
      toolDelta(0, { id: "c1", name: "f", arguments: "" }),
      toolDelta(0, { arguments: '{"a"' }),
      toolDelta(0, { arguments: ":1}" }),
      finish("tool_calls"),
    ]);
    expect(chunks).toEqual([
      { type: "block-start", index: 0, blockType: "tool-call" },
      { type: "tool-call-delta", index: 0, id: "c1", name: "f", argumentsDelta: '{"a"' },
      { type: "tool-call-delta", index: 0, id: "c1", argumentsDelta: ":1}" },
      {
        type: "block-end",
        index: 0,
        block: { type: "tool-call", id: "c1", name: "f", arguments: '{"a":1}' },
      },
      { type: "finish", reason: { kind: "tool-calls" } },
    ]);
  });

  test("several calls that arrive side by side end in index order when the answer is over", () => {
    const chunks = assemble([
      toolDelta(0, { id: "a", name: "f" }),
      toolDelta(1, { id: "b", name: "g" }),
      toolDelta(1, { arguments: "[1" }),
      toolDelta(0, { arguments: "[2" }),
      toolDelta(1, { arguments: "]" }),
      toolDelta(0, { arguments: "]" }),
      finish("tool_calls"),
      usage(1, 1),
    ]);
    expect(blocksOf(chunks)).toEqual([
      { type: "tool-call", id: "a", name: "f", arguments: "[2]" },
      { type: "tool-call", id: "b", name: "g", arguments: "[1]" },
    ]);
    expect(
      chunks.slice(-4).map((chunk) => ("index" in chunk ? [chunk.type, chunk.index] : [chunk.type])),
    ).toEqual([["block-end", 0], ["block-end", 1], ["usage"], ["finish"]]);
  });

  test("empty arguments become an empty object", () => {
    const [block] = blocksOf(
      assemble([toolDelta(0, { id: "c", name: "f", arguments: "" }), finish("tool_calls")]),
    );
    expect(block).toMatchObject({ arguments: "{}" });
  });

  test("arguments that come before the id wait for it", () => {
    const chunks = assemble([
      toolDelta(0, { arguments: "{" }),
      toolDelta(0, { id: "c", name: "f" }),
      toolDelta(0, { arguments: "}" }),
      finish("tool_calls"),
    ]);
    expect(chunks.filter((chunk) => chunk.type === "tool-call-delta")).toEqual([
      { type: "tool-call-delta", index: 0, id: "c", name: "f", argumentsDelta: "{}" },
    ]);
  });

  test("an id and name that are repeated in each fragment count once", () => {
    const fragment = (args: string) => toolDelta(0, { id: "c1", name: "f", arguments: args });
    expect(
      blocksOf(assemble([fragment("{"), fragment('"a":'), fragment("1}"), finish("tool_calls")])),
    ).toEqual([{ type: "tool-call", id: "c1", name: "f", arguments: '{"a":1}' }]);
  });

  test.each([[0], [undefined]])(
    "whole calls that all have the index %p are told apart by their ids",
    (index) => {
      const blocks = blocksOf(
        assemble([
          toolDelta(index, { id: "a", name: "f", arguments: '{"x":1}' }),
          toolDelta(index, { id: "b", name: "g", arguments: '{"y":2}' }),
          finish("stop"),
        ]),
      );
      expect(blocks).toEqual([
        { type: "tool-call", id: "a", name: "f", arguments: '{"x":1}' },
        { type: "tool-call", id: "b", name: "g", arguments: '{"y":2}' },
      ]);
    },
  );

  test("any split of ids, names and arguments, in any mix of calls, gives the same blocks", () => {
    const cut = (text: string) =>
      fc.array(fc.nat(text.length), { maxLength: 4 }).map((at) => {
        const cuts = [0, ...at.sort((a, b) => a - b), text.length];
        return cuts.slice(1).map((end, k) => text.slice(cuts[k], end));
      });
    const callPieces = (id: string, name: string) =>
      fc.record({
        ids: cut(id),
        names: cut(name),
        args: fc.array(fc.string({ unit: "binary", maxLength: 5 }), { maxLength: 6 }),
      });
    fc.assert(
      fc.property(
        callPieces("call_01HXYZ", "list_files"),
        callPieces("call_02QRST", "read_file"),
        fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }),
        (first, second, picks) => {
          const queues = [first, second].map(({ ids, names, args }, index) => [
            ...ids.map((id) => toolDelta(index, { id })),
            ...names.map((name) => toolDelta(index, { name })),
            ...args.map((text) => toolDelta(index, { arguments: text })),
          ]);
          // The first fragment of the first call comes first, so that block 0 is known to be its block.
          const items = [queues[0]?.shift()];
          for (const pick of picks)
            items.push(queues[pick ? 0 : 1]?.shift() ?? queues[pick ? 1 : 0]?.shift());
          const blocks = blocksOf(
            assemble([...items.filter((item) => item !== undefined), finish("tool_calls")]),
          );
          const expected = ({ ids, names, args }: typeof first) => ({
            type: "tool-call",
            id: ids.join(""),
            name: names.join(""),
            arguments: args.join("").trim() === "" ? "{}" : args.join(""),
          });
          expect<unknown>(blocks).toEqual([expected(first), expected(second)]);
        },
      ),
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
