import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { EventDraft } from "../../../src/session/events.ts";
import {
  LiveTranscript,
  SessionProjections,
  type TranscriptEntry,
} from "../../../src/session/projections/index.ts";
import { decodeRecord } from "../../../src/session/records.ts";
import { arbitraryEvents, batchSizes } from "../../fixtures/arbitraries.ts";
import {
  assistantMessage,
  callDelta,
  chunk,
  reasoningDelta,
  stepEnd,
  stepStart,
  textBlock,
  textDelta,
  turnEnd,
  turnStart,
  userMessage,
} from "../../fixtures/event-drafts.ts";
import { viewOf, viewOfDrafts } from "../../fixtures/logs.ts";

const AT = { turn: 1, step: 1 };
const NEXT = { turn: 1, step: 2 };
const FAILED = turnEnd(1, { kind: "error", error: { message: "It broke", code: "PROVIDER" } });
const RETRY: EventDraft = { type: "llm/retry", data: { ...AT, attempt: 1 } };

function transcript(...drafts: readonly EventDraft[]): TranscriptEntry[] {
  const log = viewOfDrafts(drafts);
  return [...new SessionProjections().catchUp(log).transcript(log)];
}

function streamed(text: string, at = AT): EventDraft[] {
  return Array.from(text, (letter) => textDelta(at, letter));
}

describe("an answer without a message", () => {
  test("is an interrupted entry of the event that ends its Step, put together from its pieces", () => {
    const usage = { inputTokens: 3, outputTokens: 2 };
    const entries = transcript(
      turnStart(1),
      stepStart(AT),
      chunk(AT, { type: "block-start", index: 0, blockType: "reasoning" }),
      reasoningDelta(AT, "Hm, ", 0),
      reasoningDelta(AT, "hm", 0),
      chunk(AT, { type: "block-end", index: 0, block: { type: "reasoning", text: "Hm, hm." } }),
      ...Array.from("One \u{1F44B}", (letter) => textDelta(AT, letter, 1)),
      textDelta(AT, "Two", 2),
      callDelta(AT, "c", '{"a":', { name: "ls", index: 3 }),
      chunk(AT, { type: "usage", usage }),
      stepEnd(AT),
      FAILED,
    );
    expect(entries).toEqual([
      {
        kind: "assistant",
        seq: 14,
        turn: 1,
        step: 1,
        text: "One \u{1F44B}\nTwo",
        reasoning: "Hm, hm.",
        toolCalls: [],
        usage,
        interrupted: true,
      },
      expect.objectContaining({ kind: "turn-end", seq: 15 }),
    ]);
  });

  test.each<[string, EventDraft]>([
    ["the end of its Step", stepEnd(AT)],
    ["the next Step", stepStart(NEXT)],
    ["the next Turn", turnStart(2)],
    ["the end of its Turn", turnEnd(1)],
  ])("ends with %s", (_, end) => {
    expect(transcript(stepStart(AT), ...streamed("Hi"), end)).toMatchObject([
      { kind: "assistant", seq: 3, step: 1, text: "Hi", interrupted: true },
    ]);
  });

  test("is no entry where not a word was said, or where its message came", () => {
    const failure = { message: "no", code: "AUTH" };
    const refused = chunk(AT, { type: "finish", reason: { kind: "error", failure } });
    expect(transcript(stepStart(AT), refused, callDelta(AT, "c", "{"), stepEnd(AT))).toEqual([]);
    const said = [...streamed("Hi"), assistantMessage(AT, [textBlock("Hi")])];
    const usage = chunk(AT, { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } });
    expect(transcript(stepStart(AT), ...said, usage, stepEnd(AT), FAILED)).toMatchObject([
      { kind: "assistant", seq: 3 },
      { kind: "turn-end" },
    ]);
  });

  test("is that of the last attempt that said something", () => {
    const first = [stepStart(AT), ...streamed("First"), RETRY];
    expect(transcript(...first, ...streamed("Second"), stepEnd(AT))).toMatchObject([{ text: "Second" }]);
    expect(transcript(...first, stepEnd(AT))).toMatchObject([{ text: "First" }]);
  });

  test("stands behind what was said while it streamed, and the model's history is without it", () => {
    const log = viewOfDrafts([stepStart(AT), ...streamed("Hi"), userMessage("wait"), stepEnd(AT)]);
    const projections = new SessionProjections().catchUp(log);
    expect([...projections.transcript(log)].map(({ seq }) => seq)).toEqual([3, 4]);
    expect(projections.messages(log, "s")).toHaveLength(1);
  });

  test("is not there as long as it goes on, and can be asked for", () => {
    const drafts = [stepStart(AT), ...streamed("Hello")];
    expect(transcript(...drafts)).toEqual([]);
    const live = new LiveTranscript();
    for (const record of viewOfDrafts(drafts).records()) live.pass(record);
    expect(live.openAnswer(9)).toMatchObject({ kind: "assistant", seq: 9, text: "Hello", interrupted: true });
    expect(new LiveTranscript().openAnswer(9)).toBeUndefined();
  });
});

test("a transcript that is read forwards has the entries of one that is read at once, however it was packed", () => {
  fc.assert(
    fc.property(arbitraryEvents(), batchSizes(), fc.boolean(), (events, sizes, byEvent) => {
      const log = viewOf(events, sizes);
      const live = new LiveTranscript();
      const entries: TranscriptEntry[] = [];
      for (const { text } of log.records()) {
        const { record, event } = decodeRecord(text, {});
        if (event === undefined || (!byEvent && record.type === "assistant/chunk")) live.pass(record);
        else {
          const entry = live.fold(event);
          if (entry !== undefined) entries.push(entry);
        }
      }
      expect(entries).toEqual([...new SessionProjections().catchUp(log).transcript(log)]);
    }),
    { numRuns: 100 },
  );
});
