import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { pairToolCalls } from "../../src/agent/request.ts";
import type { ContentBlock, ModelMessage, ToolMessage } from "../../src/session/events.ts";
import { SessionProjections } from "../../src/session/projections/index.ts";
import { arbitraryEvents, batchSizes, oddString } from "../fixtures/arbitraries.ts";
import { callBlock, textBlock } from "../fixtures/event-drafts.ts";
import { viewOf } from "../fixtures/logs.ts";

const RUNS = { numRuns: 300 };

// Few ids, so that messages meet by chance, and one of them odd.
const callId = fc.constantFrom("a", "b", "c", "__proto__");

function user(text: string): ModelMessage {
  return { id: `u-${text}`, role: "user", content: [textBlock(text)], source: { kind: "user" } };
}

function assistant(calls: readonly string[], text = "t"): ModelMessage {
  const content: ContentBlock[] = [textBlock(text), ...calls.map((id) => callBlock(id))];
  return {
    id: `m-${calls.join()}`,
    role: "assistant",
    content,
    source: { kind: "model", provider: "p", model: "m" },
  };
}

function toolResult(id: string, text = "r"): ToolMessage {
  return {
    id: `r-${id}-${text}`,
    role: "user",
    content: [{ type: "tool-result", toolCallId: id, content: [textBlock(text)] }],
    source: { kind: "tool", callId: id },
  };
}

const calls = fc.uniqueArray(callId, { maxLength: 3 });
const anyMessage: fc.Arbitrary<ModelMessage> = fc.oneof(
  oddString(2).map(user),
  calls.map((ids) => assistant(ids)),
  fc.tuple(callId, oddString(1)).map(([id, text]) => toolResult(id, text)),
);
/** Any messages in any order. */
const anyHistory = fc.array(anyMessage, { maxLength: 14 });

/** Messages as a provider wants them: the results of a message right behind it, in any order that is not its own. */
const validHistory = fc
  .array(
    fc.oneof(
      oddString(2).map((text) => [user(text)]),
      calls.map((ids) => [assistant(ids), ...ids.map((id) => toolResult(id))]),
    ),
  )
  .map((groups) => groups.flat());

function callsOf(message: ModelMessage | undefined): string[] {
  if (message?.role !== "assistant") return [];
  return message.content.flatMap((block) => (block.type === "tool-call" ? [block.id] : []));
}

function resultOf(message: ModelMessage | undefined): string | undefined {
  const [block] = message?.content ?? [];
  return block?.type === "tool-result" ? block.toolCallId : undefined;
}

/** Each call has its result right after the message that made it, and each result has its call there. */
function expectPaired(messages: readonly ModelMessage[]): void {
  for (let at = 0; at < messages.length; ) {
    const ids = callsOf(messages[at]);
    expect(resultOf(messages[at])).toBeUndefined();
    expect(ids.map((_, k) => resultOf(messages[at + 1 + k]))).toEqual(ids);
    at += 1 + ids.length;
  }
}

describe("pairToolCalls", () => {
  test("whatever the history: each call has exactly one result right behind it, and each result its call", () => {
    fc.assert(
      fc.property(anyHistory, (messages) => expectPaired(pairToolCalls(messages))),
      RUNS,
    );
  });

  test("however a valid history is cut at both ends: the same", () => {
    const cut = fc.tuple(validHistory, fc.nat(20), fc.nat(20));
    fc.assert(
      fc.property(cut, ([messages, from, length]) =>
        expectPaired(pairToolCalls(messages.slice(from, from + length))),
      ),
      RUNS,
    );
  });

  test("a valid history stays as it is", () => {
    fc.assert(
      fc.property(validHistory, (messages) => expect(pairToolCalls(messages)).toEqual(messages)),
      RUNS,
    );
  });

  test("what is not a result is kept, all of it and in order; real results are the ones that were there", () => {
    const said = (messages: readonly ModelMessage[]) =>
      messages.filter((message) => resultOf(message) === undefined);
    fc.assert(
      fc.property(anyHistory, (messages) => {
        const paired = pairToolCalls(messages);
        expect(said(paired)).toEqual(said(messages));
        const real = new Set(messages);
        const made = paired.filter((message) => !real.has(message));
        for (const message of made) expect(JSON.stringify(message)).toContain("is missing from the history");
      }),
      RUNS,
    );
  });

  test("doing it twice changes nothing more", () => {
    fc.assert(
      fc.property(anyHistory, (messages) => {
        const paired = pairToolCalls(messages);
        expect(pairToolCalls(paired)).toEqual(paired);
      }),
      RUNS,
    );
  });

  test("any log, cut anywhere and compacted in any way, gives a paired history", () => {
    fc.assert(
      fc.property(arbitraryEvents(), batchSizes(), (events, sizes) => {
        const log = viewOf(events, sizes);
        const messages = new SessionProjections().catchUp(log).messages(log, "s");
        for (const message of messages) fc.pre(new Set(callsOf(message)).size === callsOf(message).length);
        expectPaired(pairToolCalls(messages));
      }),
      { numRuns: 100 },
    );
  });
});

describe("by example", () => {
  const [hello, ask] = [user("hello"), assistant(["a", "b"])];
  const [a, b] = [toolResult("a"), toolResult("b")];

  test.each<[string, ModelMessage[], ModelMessage[]]>([
    ["results in another order come in the order of the calls", [ask, b, a], [ask, a, b]],
    ["what was said between call and result comes after it", [ask, a, hello, b], [ask, a, b, hello]],
    ["the first of two results counts", [ask, a, toolResult("a", "again"), b], [ask, a, b]],
    ["a result before its call, or without one, vanishes", [a, hello, toolResult("c")], [hello]],
  ])("%s", (_, messages, expected) => {
    expect(pairToolCalls(messages)).toEqual(expected);
  });

  test("a result that comes after the next answer is too late: the call's outcome is unknown", () => {
    const paired = pairToolCalls([assistant(["a"]), assistant([], "later"), a]);
    expect(paired.map(resultOf)).toEqual([undefined, "a", undefined]);
    expect(paired[1]).toMatchObject({ content: [{ isError: true }], source: { kind: "tool", callId: "a" } });
  });
});
