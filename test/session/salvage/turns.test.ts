import { describe, expect, test } from "bun:test";
import { type EventDraft, isEvent, type SessionEvent } from "../../../src/session/events.ts";
import { LogView } from "../../../src/session/log-view.ts";
import { SessionProjections } from "../../../src/session/projections/index.ts";
import { recordEvents, type SessionRecord } from "../../../src/session/records.ts";
import {
  assistantMessage,
  callBlock,
  replacing,
  stepEnd,
  stepStart,
  textBlock,
  textDelta,
  toEvents,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
  userMessage,
} from "../../fixtures/event-drafts.ts";
import { recordsOf } from "../../fixtures/logs.ts";
import { DAMAGE, type StoredItem, salvaged } from "../../fixtures/salvaging.ts";

const FIRST = { turn: 1, step: 1 };
const SECOND = { turn: 1, step: 2 };
const NEXT = { turn: 2, step: 1 };

/** Two Turns; the first reads a file in its first Step. */
const LOG: readonly EventDraft[] = [
  turnStart(1),
  userMessage("Read it."),
  stepStart(FIRST),
  textDelta(FIRST, "Well"),
  assistantMessage(FIRST, [textBlock("Well"), callBlock("a"), callBlock("b")], { sources: [3] }),
  toolCall(FIRST, "a"),
  toolCall(FIRST, "b"),
  toolResult(FIRST, "a", "A", { sources: [5] }),
  toolResult(FIRST, "b", "B", { sources: [6] }),
  stepEnd(FIRST),
  stepStart(SECOND),
  assistantMessage(SECOND, [textBlock("Done")]),
  stepEnd(SECOND),
  turnEnd(1),
  turnStart(2),
  userMessage("Thanks."),
  stepStart(NEXT),
  assistantMessage(NEXT, [textBlock("Sure")]),
  stepEnd(NEXT),
  turnEnd(2),
];

/** What a salvage makes of a log without the events of these seqs. */
function without(lost: readonly number[], drafts: readonly EventDraft[] = LOG): readonly SessionRecord[] {
  const events = toEvents(drafts).filter(({ seq }) => !lost.includes(seq));
  return salvaged(events.flatMap((event) => recordsOf([event]))).records;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, k) => from + k);
}

function shorthand(event: SessionEvent): string {
  if (isEvent(event, "turn/start")) return `turn ${event.data.turn}`;
  if (isEvent(event, "turn/end")) return `end ${event.data.turn} ${event.data.reason.kind}`;
  if (isEvent(event, "step/start")) return `step ${event.data.step}`;
  if (isEvent(event, "step/end")) return `step end ${event.data.step}`;
  if (isEvent(event, "user/message")) return `user ${textOf(event.data.content)}`;
  if (isEvent(event, "assistant/message")) return `answer ${textOf(event.data.message.content)}`;
  if (isEvent(event, "tool/call")) return `call ${event.data.callId}`;
  if (isEvent(event, "tool/result"))
    return `result ${event.data.message.source.callId} ${event.data.error?.code ?? "ok"}`;
  return event.type;
}

function textOf(content: ReadonlyArray<{ readonly type: string; readonly text?: unknown }>): string {
  return content.map(({ text, type }) => text ?? type).join();
}

function shown(records: readonly SessionRecord[]): string[] {
  return records.flatMap(recordEvents).map(shorthand);
}

/** Texts and kinds of the messages that a model gets. */
function messages(records: readonly SessionRecord[]): string[] {
  const log = new LogView(records);
  const list = new SessionProjections().catchUp(log).messages(log, "new");
  return list.map(({ role, source, content }) =>
    source.kind === "tool" ? "tool" : `${role} ${textOf(content)}`,
  );
}

describe("behind a gap", () => {
  test("a Step goes on where it stood", () => {
    expect(shown(without([3])).slice(0, 6)).toEqual([
      "turn 1",
      "user Read it.",
      "step 1",
      "salvage/gap",
      "answer Well,tool-call,tool-call",
      "call a",
    ]);
  });

  test("in which results were lost, the calls of the Step are answered as a crash answers them", () => {
    expect(shown(without([6, 7, 8])).slice(5, 10)).toEqual([
      "call a",
      "salvage/gap",
      "result a TOOL_OUTCOME_UNKNOWN",
      "result b TOOL_NOT_STARTED",
      "step end 1",
    ]);
  });

  test("a Step that is not the open one is begun, and the open one ended", () => {
    expect(shown(without([9, 10])).slice(8, 13)).toEqual([
      "result b ok",
      "salvage/gap",
      "step end 1",
      "step 2",
      "answer Done",
    ]);
  });

  test("a Turn that is not the open one is begun, and the open one ended as interrupted", () => {
    expect(shown(without(range(12, 16))).slice(11, 19)).toEqual([
      "answer Done",
      "salvage/gap",
      "step end 2",
      "end 1 interrupted",
      "turn 2",
      "step 1",
      "answer Sure",
      "step end 1",
    ]);
  });

  test("an input whose Turn follows begins that Turn", () => {
    expect(shown(without([12, 13, 14])).slice(12, 18)).toEqual([
      "salvage/gap",
      "step end 2",
      "end 1 interrupted",
      "turn 2",
      "user Thanks.",
      "step 1",
    ]);
  });

  test("an input at the end of the log begins a Turn", () => {
    expect(shown(without(range(13, 14), LOG.slice(0, 16))).slice(13)).toEqual([
      "salvage/gap",
      "end 1 interrupted",
      "turn 2",
      "user Thanks.",
      "end 2 interrupted",
      "salvage/end",
    ]);
  });

  test("the end of a Turn or Step that never began, and results without their call, are kept beside the history", () => {
    const records = without(range(4, 8));
    expect(shown(records).slice(3, 7)).toEqual(["assistant/chunk", "salvage/gap", "step end 1", "step 2"]);
    const orphans = without(range(0, 6));
    expect(shown(orphans).slice(0, 5)).toEqual([
      "salvage/gap",
      "salvage/event",
      "salvage/event",
      "salvage/event",
      "turn 1",
    ]);
    expect(messages(orphans)).toEqual(["assistant Done", "user Thanks.", "assistant Sure"]);
  });
});

describe("a place that nothing behind it confirms", () => {
  test("is not believed: neither a Turn nor a Step far ahead costs what follows", () => {
    const drafts = LOG.map((draft, seq) => {
      if (seq === 14) return turnStart(9002);
      return seq === 10 ? stepStart({ turn: 1, step: 200 }) : draft;
    });
    const records = without([], drafts);
    expect(messages(records)).toEqual(messages(without([])));
    expect(shown(records).filter((text) => text === "salvage/event")).toHaveLength(2);
  });
});

describe("what a message names", () => {
  test("moves along with it, and what is lost is not named any more; the rest of the text stays", () => {
    const sources = (lost: readonly number[]) =>
      without(lost)
        .flatMap(recordEvents)
        .filter(({ type }) => type === "assistant/message" || type === "tool/result")
        .map(({ seq, sourceEventSeqs }) => [seq, sourceEventSeqs]);
    expect(sources([]).slice(0, 3)).toEqual([
      [4, [3]],
      [7, [5]],
      [8, [6]],
    ]);
    // A note stands for the input, and another one for the chunk.
    expect(sources([1]).slice(0, 3)).toEqual(sources([]).slice(0, 3));
    expect(sources([0, 1]).slice(0, 1)).toEqual([[4, [3]]]);
    expect(sources([3, 5]).slice(0, 3)).toEqual([
      [4, undefined],
      [7, undefined],
      [8, [6]],
    ]);
    const [before, after] = [without([]), without([0, 1, 2, 3])].map((records) =>
      records.find(({ type }) => type === "assistant/message"),
    );
    expect(after?.seq).toBe(3);
    expect(after?.text).toBe(
      before?.text.replace('"seq":4', '"seq":3').replace(',"sourceEventSeqs":[3]', ""),
    );
  });

  test("in a replacement is what is left of it, with the answers that were made up among it", () => {
    const summary = replacing(userMessage("Summary", "s"), 1, 11, [1, 4, 7, 8, 11]);
    const drafts = [...LOG, summary];
    expect(messages(without([], drafts))).toEqual(["user Summary", "user Thanks.", "assistant Sure"]);
    // Its first message, a result in the middle, and its last one are lost.
    expect(messages(without([1, 8, 9, 10, 11], drafts))).toEqual(messages(without([], drafts)));
    // All that it stands for is lost, and more is there: nobody knows where it belongs.
    const far = without(range(0, 13), drafts);
    expect(messages(far)).toEqual(["user Thanks.", "assistant Sure"]);
    expect(shown(far)).toContain("salvage/event");
    // It is the first that is left.
    expect(messages(without(range(0, 19), drafts))).toEqual(["user Summary"]);
  });
});

test("the notes say what is missing, where, and why", () => {
  const events = toEvents(LOG).filter(({ seq }) => seq < 3 || seq > 5);
  const items: StoredItem[] = events.flatMap((event) => recordsOf([event]));
  items.splice(3, 0, { damage: DAMAGE }, { damage: DAMAGE });
  const { records, totals } = salvaged(items);
  const notes = records.flatMap(recordEvents).filter(({ type }) => /^salvage\/(gap|end)$/.test(type));
  const { isSound, ...counts } = totals;
  expect(notes).toMatchObject([
    { ignorable: true, data: { fromSeq: 3, toSeq: 5, damaged: 2, reason: DAMAGE } },
    { ignorable: true, data: { file: "session.jsonl", session: "old", header: "kept" } },
  ]);
  expect(isSound).toBe(false);
  expect(counts).toEqual({ taken: 14, aside: 3, repeated: 0, missing: 3, damaged: 2, added: 0 });
  expect(notes[1]?.data).toMatchObject(counts);
});
