import { describe, expect, test } from "bun:test";
import type { EventDraft } from "../../../src/session/events.ts";
import { SessionProjections, type TranscriptEntry } from "../../../src/session/projections/index.ts";
import { joinText } from "../../../src/session/projections/transcript.ts";
import {
  assistantMessage,
  callBlock,
  callDelta,
  replacing,
  stepEnd,
  stepStart,
  textBlock,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
  userMessage,
} from "../../fixtures/event-drafts.ts";
import { viewOfDrafts } from "../../fixtures/logs.ts";

const AT = { turn: 1, step: 1 };

function transcript(...drafts: readonly EventDraft[]): TranscriptEntry[] {
  const log = viewOfDrafts(drafts);
  return [...new SessionProjections().catchUp(log).transcript(log)];
}

describe("a transcript has one entry for", () => {
  test("a user's message, with the text of all its text blocks", () => {
    const image = { type: "image" as const, attachment: {} };
    const message: EventDraft = {
      type: "user/message",
      data: {
        id: "u",
        role: "user",
        content: [textBlock("one"), image, textBlock("two")],
        source: { kind: "user" },
      },
      surfaceOp: "append",
    };
    expect(transcript(turnStart(4), message)).toEqual([{ kind: "user", seq: 1, turn: 4, text: "one\ntwo" }]);
  });

  test("an assistant's message, with what it has", () => {
    expect(transcript(assistantMessage(AT, [textBlock("hi")]))).toEqual([
      { kind: "assistant", seq: 0, turn: 1, step: 1, text: "hi", toolCalls: [] },
    ]);
    const content = [
      { type: "reasoning" as const, text: "hm" },
      callBlock("c", "ls", '{"a":1}'),
      textBlock("hi"),
    ];
    const usage = { inputTokens: 1, outputTokens: 2 };
    expect(transcript(assistantMessage(AT, content, { usage, interrupted: true }))).toEqual([
      {
        kind: "assistant",
        seq: 0,
        turn: 1,
        step: 1,
        text: "hi",
        reasoning: "hm",
        toolCalls: [{ id: "c", name: "ls", arguments: '{"a":1}' }],
        usage,
        interrupted: true,
      },
    ]);
  });

  test("a tool's result, named by its call, by the message that asked for it, or not at all", () => {
    const asked = assistantMessage(AT, [callBlock("c", "ls")]);
    const result = toolResult(AT, "c", "found");
    const entry = { kind: "tool", turn: 1, step: 1, callId: "c", ok: true, text: "found" };
    expect(transcript(toolCall(AT, "c", "grep"), result)).toMatchObject([{ ...entry, seq: 1, name: "grep" }]);
    expect(transcript(asked, result)[1]).toEqual({ ...entry, kind: "tool", seq: 1, name: "ls" });
    expect(transcript(result)).toMatchObject([{ ...entry, seq: 0, name: "" }]);
  });

  test("a tool's failure, with its error", () => {
    const error = { name: "ToolError", code: "E" };
    expect(transcript(toolResult(AT, "c", "broke", { error }))).toMatchObject([
      { kind: "tool", ok: false, error },
    ]);
  });

  test.each<[EventDraft, number]>([
    [turnEnd(1), 0],
    [turnEnd(1, { kind: "interrupted" }), 1],
    [turnEnd(1, { kind: "max-tokens" }), 1],
    [turnEnd(1, { kind: "aborted", reason: { kind: "user" } }), 1],
  ])("a Turn's end that is not completed: %j", (end, count) => {
    const entries = transcript(end);
    expect(entries.length).toBe(count);
    for (const entry of entries) expect(entry).toMatchObject({ kind: "turn-end", seq: 0, turn: 1 });
  });

  test("nothing else", () => {
    expect(
      transcript(turnStart(1), stepStart(AT), callDelta(AT, "c", "{"), toolCall(AT, "c"), stepEnd(AT), {
        type: "session/title",
        data: {},
      }),
    ).toEqual([]);
  });
});

describe("a transcript", () => {
  test("is not changed by compaction, which hides nothing from a reader", () => {
    const drafts = [
      turnStart(1),
      userMessage("q"),
      assistantMessage(AT, [callBlock("c")]),
      toolResult(AT, "c", "long"),
      assistantMessage({ turn: 1, step: 2 }, [textBlock("a")]),
      turnEnd(1),
    ];
    const compacted = [
      ...drafts,
      replacing(toolResult(AT, "c", "short"), 3, 3, [3]),
      replacing(assistantMessage(AT, [textBlock("s")]), 4, 4, [4]),
      replacing(userMessage("summary"), 1, 7, [1, 2, 6, 7]),
    ];
    expect(transcript(...compacted)).toEqual(transcript(...drafts));
  });

  test("does not take a call's name from an earlier Turn", () => {
    const entries = transcript(
      turnStart(1),
      toolCall(AT, "c", "ls"),
      turnEnd(1),
      turnStart(2),
      toolResult(AT, "c", "x"),
    );
    expect(entries).toMatchObject([{ kind: "tool", name: "" }]);
  });

  test("of an earlier view ends where that view ends", () => {
    const drafts = [turnStart(1), userMessage("a"), userMessage("b")];
    const projections = new SessionProjections().catchUp(viewOfDrafts(drafts));
    expect([...projections.transcript(viewOfDrafts(drafts.slice(0, 2)))]).toMatchObject([
      { seq: 1, text: "a" },
    ]);
  });
});

test("the blocks of one kind are joined by line breaks", () => {
  const content = [textBlock("a"), { type: "reasoning" as const, text: "r" }, textBlock("b")];
  expect([joinText(content), joinText(content, "reasoning"), joinText([])]).toEqual(["a\nb", "r", ""]);
});
