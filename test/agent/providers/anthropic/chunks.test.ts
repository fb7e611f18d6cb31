import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ProviderError } from "../../../../src/agent/provider.ts";
import { MessageAssembler } from "../../../../src/agent/providers/anthropic/chunks.ts";
import { toMessages } from "../../../../src/agent/providers/anthropic/messages.ts";
import type { AssistantMessage, Chunk } from "../../../../src/session/events.ts";
import { readAnswer } from "../../../fixtures/wire-chunks.ts";

type Event = { readonly type: string; readonly [member: string]: unknown };

function assemble(events: readonly Event[]): Chunk[] {
  const assembler = new MessageAssembler((text) => text);
  const add = (event: Event) =>
    assembler.add({ event: event.type, data: JSON.stringify(event), isCut: false });
  return [...events.flatMap(add), ...assembler.close()];
}

const start = (index: number, content_block: Event): Event => ({
  type: "content_block_start",
  index,
  content_block,
});
const delta = (index: number, value: Event): Event => ({ type: "content_block_delta", index, delta: value });
const stop = (index: number): Event => ({ type: "content_block_stop", index });
const end = (stop_reason: string, more: object = {}): Event[] => [
  { type: "message_delta", delta: { stop_reason, ...more }, usage: { output_tokens: 1 } },
  { type: "message_stop" },
];
/** A block that arrives in these deltas. */
const block = (index: number, content_block: Event, ...deltas: Event[]): Event[] => [
  start(index, content_block),
  ...deltas.map((value) => delta(index, value)),
  stop(index),
];
const thinking = (index: number, text: string, signature: string): Event[] =>
  block(
    index,
    { type: "thinking", thinking: "", signature: "" },
    { type: "thinking_delta", thinking: text },
    { type: "signature_delta", signature },
  );
const text = (index: number, ...pieces: string[]): Event[] =>
  block(index, { type: "text", text: "" }, ...pieces.map((piece) => ({ type: "text_delta", text: piece })));
const call = (index: number, id: string, ...pieces: string[]): Event[] =>
  block(
    index,
    { type: "tool_use", id, name: "f", input: {} },
    ...pieces.map((partial_json) => ({ type: "input_json_delta", partial_json })),
  );
const redacted: Event = { type: "redacted_thinking", data: "b3BhcXVl" };

/** The message as a Step keeps it. */
function messageOf(chunks: readonly Chunk[], model = "m"): AssistantMessage {
  const finish = chunks.find((chunk) => chunk.type === "finish");
  const replay = finish?.replayState === undefined ? {} : { replayState: finish.replayState };
  return {
    id: "a",
    role: "assistant",
    content: [...readAnswer(chunks).blocks],
    source: { kind: "model", provider: "anthropic", model, ...replay },
  };
}

/** The blocks that the next request sends back. */
function sentBack(message: AssistantMessage, model = "m"): unknown[] {
  const sent = toMessages([message], model).find(({ role }) => role === "assistant");
  return Array.isArray(sent?.content) ? sent.content : [];
}

function failure(events: readonly Event[]): ProviderError {
  try {
    assemble(events);
  } catch (error) {
    if (error instanceof ProviderError) return error;
    throw error;
  }
  throw new Error("expected a failure");
}

describe("what becomes content", () => {
  test("thinking, text and calls are blocks in the order in which they began", () => {
    const chunks = assemble([
      ...thinking(0, "hm", "c2ln"),
      ...text(1, "He", "y"),
      ...call(2, "c1", '{"a"', ":1}"),
      ...end("tool_use"),
    ]);
    expect(readAnswer(chunks)).toMatchObject({
      finish: "tool-calls",
      blocks: [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "Hey" },
        { type: "tool-call", id: "c1", name: "f", arguments: '{"a":1}' },
      ],
    });
  });

  test("a block without a word is none, so that no message holds empty text", () => {
    const chunks = assemble([...text(0), ...text(1, "x"), ...end("end_turn")]);
    expect(readAnswer(chunks).blocks).toEqual([{ type: "text", text: "x" }]);
  });

  test("text and arguments that come with the beginning of a block count", () => {
    const chunks = assemble([
      ...block(0, { type: "text", text: "a" }, { type: "text_delta", text: "b" }),
      ...block(1, { type: "tool_use", id: "c", name: "f", input: { a: [1] } }),
      ...block(2, { type: "tool_use", id: "d", name: "f" }),
      ...end("tool_use"),
    ]);
    expect<unknown>(readAnswer(chunks).blocks).toEqual([
      { type: "text", text: "ab" },
      { type: "tool-call", id: "c", name: "f", arguments: '{"a":[1]}' },
      { type: "tool-call", id: "d", name: "f", arguments: "{}" },
    ]);
  });

  test("citations, unknown deltas and a farewell of another protocol are passed over", () => {
    const events = [
      start(0, { type: "text", text: "" }),
      delta(0, { type: "citations_delta", citation: { cited_text: "no" } }),
      delta(0, { type: "sparkle_delta", text: "no" }),
      delta(0, { type: "text_delta", text: "x" }),
      stop(0),
      ...end("end_turn"),
    ];
    const assembler = new MessageAssembler((value) => value);
    for (const event of events) assembler.add({ data: JSON.stringify(event), isCut: false });
    expect(assembler.isOver).toBe(true);
    expect(assembler.add({ data: "[DONE]", isCut: false })).toEqual([]);
    expect(assembler.close()).toEqual([{ type: "finish", reason: { kind: "stop" } }]);
  });
});

describe("what the API wants back", () => {
  test("is the signature of thinking, also of thinking without its text, and redacted thinking, each in its place", () => {
    const message = messageOf(
      assemble([
        ...thinking(0, "", "b21pdHRlZA=="),
        ...block(1, redacted),
        ...thinking(2, "aloud", "c2lnbmVk"),
        ...text(3, "So."),
        ...thinking(4, "unsigned", ""),
        ...call(5, "c1", "{}"),
        ...end("tool_use"),
      ]),
    );
    expect(message.content.map(({ type }) => type)).toEqual(["reasoning", "text", "reasoning", "tool-call"]);
    expect(sentBack(message)).toEqual([
      { type: "thinking", thinking: "", signature: "b21pdHRlZA==" },
      redacted,
      { type: "thinking", thinking: "aloud", signature: "c2lnbmVk" },
      { type: "text", text: "So." },
      { type: "tool_use", id: "c1", name: "f", input: {} },
    ]);
  });

  test("is the same after the message went through a log as JSON", () => {
    const message = messageOf(assemble([...thinking(0, "hm", "c2ln"), ...text(1, "x"), ...end("end_turn")]));
    const read: AssistantMessage = JSON.parse(JSON.stringify(message));
    expect(sentBack(read)).toEqual(sentBack(message));
  });

  test("are blocks of unknown types as they came, with the input that arrived in pieces", () => {
    const search = { type: "server_tool_use", id: "srv1", name: "web_search", input: {} };
    const result = { type: "web_search_tool_result", tool_use_id: "srv1", content: [{ encrypted: "eA==" }] };
    const message = messageOf(
      assemble([
        ...block(0, search, { type: "input_json_delta", partial_json: '{"query":"x"}' }),
        ...block(1, result),
        ...text(2, "Found."),
        ...end("end_turn"),
      ]),
    );
    expect(message.content).toEqual([{ type: "text", text: "Found." }]);
    expect(sentBack(message)).toEqual([
      { ...search, input: { query: "x" } },
      result,
      { type: "text", text: "Found." },
    ]);
  });

  test("is nothing that could not be put together: half a signature would cost the whole request", () => {
    const message = messageOf(
      assemble([
        ...block(0, { type: "novelty" }, { type: "novelty_delta", part: 1 }),
        start(1, { type: "thinking", thinking: "hm", signature: "c2ln" }),
        delta(1, { type: "seal_delta", seal: "x" }),
        stop(1),
        ...text(2, "x"),
        ...end("end_turn"),
      ]),
    );
    expect(message.source["replayState"]).toBeUndefined();
    expect(sentBack(message)).toEqual([{ type: "text", text: "x" }]);
  });

  test("any order of blocks comes back as it was, but for thinking at the end", () => {
    const word = fc.stringMatching(/^[a-z]{1,8}$/);
    const anyBlock = fc.oneof(
      fc.record({
        type: fc.constant("thinking"),
        thinking: fc.oneof(word, fc.constant("")),
        signature: word,
      }),
      fc.record({ type: fc.constant("redacted_thinking"), data: word }),
      fc.record({ type: fc.constant("text"), text: word }),
      fc.record({
        type: fc.constant("tool_use"),
        id: fc.uuid(),
        name: word,
        input: fc.dictionary(word, fc.integer()),
      }),
      fc.record({ type: fc.constant("server_tool_use"), id: fc.uuid(), input: fc.constant({}) }),
    );
    fc.assert(
      fc.property(
        fc.uniqueArray(anyBlock, { maxLength: 8, selector: (b) => JSON.stringify(b) }),
        (blocks) => {
          const events = blocks.flatMap((content, index): Event[] => block(index, content));
          const calls = blocks.some(({ type }) => type === "tool_use");
          const message = messageOf(assemble([...events, ...end(calls ? "tool_use" : "end_turn")]));
          const isThinking = ({ type }: Event) => type === "thinking" || type === "redacted_thinking";
          const last = blocks.findLastIndex((content) => !isThinking(content));
          expect<unknown>(sentBack(message)).toEqual(blocks.slice(0, last + 1));
        },
      ),
    );
  });

  test("counts for the same model only, and only where it fits the content", () => {
    const message = messageOf(assemble([...thinking(0, "hm", "c2ln"), ...text(1, "x"), ...end("end_turn")]));
    const plain = [{ type: "text", text: "x" }];
    expect(sentBack(message, "another")).toEqual(plain);
    const edited = { ...message, content: [...message.content, { type: "text" as const, text: "y" }] };
    expect(sentBack(edited)).toEqual([...plain, { type: "text", text: "y" }]);
    for (const replayState of [
      5,
      {},
      { blocks: 2, signatures: [{ block: 1, signature: "c2ln" }], hidden: [] },
    ]) {
      expect(sentBack({ ...message, source: { ...message.source, replayState } })).toEqual(plain);
    }
    const elsewhere = { ...message.source, provider: "openai-compatible" };
    expect(sentBack({ ...message, source: elsewhere })).toEqual(plain);
  });
});

describe("usage", () => {
  test("is of the whole answer so far: what a later report leaves out stands", () => {
    const usage = (counts: object): Event => ({ type: "message_delta", delta: {}, usage: counts });
    const chunks = assemble([
      {
        type: "message_start",
        message: {
          usage: {
            input_tokens: 5,
            cache_creation_input_tokens: 20,
            cache_read_input_tokens: 100,
            output_tokens: 1,
          },
        },
      },
      usage({ output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } }),
      usage({ input_tokens: 6, output_tokens: null }),
      { type: "message_delta", delta: { stop_reason: "end_turn" } },
      { type: "message_stop" },
    ]);
    expect(readAnswer(chunks).usage).toEqual({
      inputTokens: 126,
      outputTokens: 9,
      cacheReadTokens: 100,
      cacheWriteTokens: 20,
      reasoningTokens: 4,
    });
  });
});

describe("stop reasons", () => {
  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "max-tokens"],
    ["model_context_window_exceeded", "max-tokens"],
    ["pause_turn", "max-tokens"],
  ])("%s is %s", (reason, kind) => {
    expect(readAnswer(assemble([...text(0, "x"), ...end(reason)])).finish).toBe(kind);
  });

  test("a refusal says why", () => {
    const error = failure([
      ...text(0, "x"),
      ...end("refusal", { stop_details: { type: "refusal", category: "bio", explanation: "No." } }),
    ]);
    expect(error).toMatchObject({ code: "provider-rejected", retryable: false });
    expect(error.message).toBe("The model refused to answer (bio: No.)");
  });
});

describe("what breaks the protocol is a bad response", () => {
  test.each<[string, Event[]]>([
    ["no message_stop", [...text(0, "x"), ...end("end_turn").slice(0, 1)]],
    ["message_stop without a stop reason", [...text(0, "x"), { type: "message_stop" }]],
    ["a stop in the middle of a block", [start(0, { type: "text", text: "x" }), ...end("end_turn")]],
    ["a delta without a block", [delta(0, { type: "text_delta", text: "x" }), ...end("end_turn")]],
    ["a delta after its block", [...text(0, "x"), delta(0, { type: "text_delta", text: "y" })]],
    ["a block that begins twice", [...text(0, "x"), ...text(0, "y"), ...end("end_turn")]],
    ["a second message", [{ type: "message_start" }, { type: "message_start" }]],
    ["a block after the stop reason", [...text(0, "x"), ...end("end_turn").slice(0, 1), ...text(1, "y")]],
    ["a block after the end", [...text(0, "x"), ...end("end_turn"), ...text(1, "y")]],
    ["arguments in text", block(0, { type: "text" }, { type: "input_json_delta", partial_json: "{}" })],
    ["text in a call", block(0, { type: "tool_use", id: "c", name: "f" }, { type: "text_delta", text: "x" })],
    ["a block without a type", [{ type: "content_block_start", index: 0, content_block: {} }]],
    ["an index that is none", [start(-1, { type: "text" })]],
    [
      "a hidden block whose input is no JSON",
      block(0, { type: "server_tool_use" }, { type: "input_json_delta", partial_json: "{" }),
    ],
  ])("%s", (_, events) => {
    expect(failure(events).code).toBe("provider-bad-response");
  });
});
