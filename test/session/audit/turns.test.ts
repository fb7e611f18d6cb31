import { describe, expect, test } from "bun:test";
import type { EventDraft } from "../../../src/session/events.ts";
import { SessionProjections } from "../../../src/session/projections/index.ts";
import { closeInterruptedTurn } from "../../../src/session/recovery.ts";
import { auditDrafts, auditEvents, auditRecords } from "../../fixtures/audited.ts";
import {
  assistantMessage,
  callBlock,
  callDelta,
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
import { recordsOf, viewOf } from "../../fixtures/logs.ts";

const at = (turn: number, step: number) => ({ turn, step });
const hi = userMessage("hi");

function answer(turn: number, step: number): EventDraft[] {
  const place = at(turn, step);
  return [
    stepStart(place),
    textDelta(place, "Hello"),
    assistantMessage(place, [textBlock("Hello")]),
    stepEnd(place),
  ];
}

/** A Turn without tools. */
function turn(number: number): EventDraft[] {
  return [turnStart(number), hi, ...answer(number, 1), turnEnd(number)];
}

/** A Turn of one Step that makes these calls, and of what comes between its message and its end. */
function callTurn(ids: readonly string[], ...between: readonly EventDraft[]): EventDraft[] {
  const place = at(1, 1);
  const message = assistantMessage(
    place,
    ids.map((id) => callBlock(id)),
  );
  return [turnStart(1), stepStart(place), message, ...between, stepEnd(place), ...answer(1, 2), turnEnd(1)];
}

const call = (id: string) => toolCall(at(1, 1), id);
const result = (id: string) => toolResult(at(1, 1), id, "done");

/** What is found, without its place but for the seq. */
function faultsOf(drafts: readonly EventDraft[]): string[] {
  return auditDrafts(drafts).map(({ code, message, place }) => `${code} ${place.seq ?? "end"}: ${message}`);
}

describe("nothing is wrong with a log", () => {
  test.each<[string, readonly EventDraft[]]>([
    ["of no event", []],
    ["of Turns and Steps that follow each other", [...turn(1), ...turn(2)]],
    ["of a Turn without a Step", [turnStart(1), hi, turnEnd(1)]],
    ["whose Step brought no message", [turnStart(1), stepStart(at(1, 1)), stepEnd(at(1, 1)), turnEnd(1)]],
    ["that lacks Turns in the middle, as one that was salvaged", [...turn(3), ...turn(7)]],
    [
      "with messages of users anywhere",
      [hi, ...turn(1), hi, turnStart(2), stepStart(at(2, 1)), hi, stepEnd(at(2, 1)), turnEnd(2)],
    ],
    ["that begins with chunks of no Turn", [hi, textDelta(at(1, 1), "a"), ...turn(1)]],
    ["of nothing but messages", [hi, assistantMessage(at(1, 1), [callBlock("a")]), toolCall(at(1, 1), "a")]],
    [
      "with the mark of a seed between its Turns",
      [...turn(1), { type: "session/end-seed", data: {} }, ...turn(2)],
    ],
    [
      "whose calls have results, one after the other",
      callTurn(["a", "b"], call("a"), result("a"), call("b"), result("b")),
    ],
    [
      "whose calls run at once, and answer in another order",
      callTurn(["a", "b"], call("b"), call("a"), result("a"), result("b")),
    ],
    ["with the result of a call that never started", callTurn(["a"], result("a"))],
    [
      "with opaque and ignorable events between",
      callTurn(["a"], { type: "hook/invoked", data: 1 }, result("a"), {
        type: "x/y",
        data: 1,
        ignorable: true,
      }),
    ],
    [
      "whose Steps use the same ids again",
      [
        ...callTurn(["a"], result("a")),
        turnStart(2),
        stepStart(at(2, 1)),
        assistantMessage(at(2, 1), [callBlock("a")]),
        toolResult(at(2, 1), "a", "x"),
        stepEnd(at(2, 1)),
        turnEnd(2),
      ],
    ],
    [
      "with a result that was shortened later",
      [...callTurn(["a"], result("a")), replacing(result("a"), 3, 3, [3])],
    ],
  ])("%s", (_, drafts) => {
    expect(faultsOf(drafts)).toEqual([]);
  });

  test("that recovery closed in the middle of its calls", () => {
    const events = toEvents(callTurn(["a", "b", "c"], call("a"), result("a"), call("b")).slice(0, 6));
    const { openWork, seen } = new SessionProjections().catchUp(viewOf(events));
    const closed = [...events, ...closeInterruptedTurn(openWork, seen)];
    expect(closed.length).toBe(events.length + 4);
    expect(auditEvents([...closed, ...toEvents(turn(2), 0, closed.length)])).toEqual([]);
  });
});

describe("the end of a log", () => {
  test("with an open Turn is no more than a note, which says what is open", () => {
    const [fault, ...others] = auditDrafts(callTurn(["a", "b"], result("a")).slice(0, 4));
    expect(others).toEqual([]);
    expect(fault).toEqual({
      code: "open-turn",
      message: "The last Turn is open",
      place: { row: 4 },
      expected: "a turn/end",
      found: "Turn 1, Step 1, 1 call without a result",
    });
  });
});

describe("one fault is found where", () => {
  test.each<[string, readonly EventDraft[], string]>([
    [
      "a Turn does not begin",
      [...turn(1), ...turn(2).slice(1)],
      "turn-balance 8: A Step begins outside of its Turn",
    ],
    [
      "a Turn does not end",
      [...turn(1).slice(0, -1), ...turn(2)],
      "turn-balance 6: A Turn begins before the last one ended",
    ],
    [
      "a Turn ends twice",
      [...turn(1), turnEnd(1), ...turn(2)],
      "turn-balance 7: A Turn ends that is not open",
    ],
    [
      "another Turn ends",
      [turnStart(1), ...answer(1, 1), turnEnd(2), ...turn(3)],
      "turn-balance 5: A Turn ends that is not open",
    ],
    [
      "a Turn ends before its Step",
      [turnStart(1), ...answer(1, 1).slice(0, -1), turnEnd(1), ...turn(2)],
      "turn-balance 4: A Turn ends before its Step",
    ],
    [
      "a number of a Turn comes again",
      [...turn(1), ...turn(1)],
      "turn-balance 7: The numbers of Turns do not grow",
    ],
    [
      "a Step does not begin",
      [turnStart(1), ...answer(1, 1).slice(1), ...answer(1, 2), turnEnd(1)],
      "turn-balance 1: What belongs to a Step stands outside of it",
    ],
    [
      "a Step does not end",
      [turnStart(1), ...answer(1, 1).slice(0, -1), ...answer(1, 2), turnEnd(1)],
      "turn-balance 4: A Step begins before the last one ended",
    ],
    [
      "a Step ends twice",
      [turnStart(1), ...answer(1, 1), stepEnd(at(1, 1)), ...answer(1, 2), turnEnd(1)],
      "turn-balance 5: A Step ends that is not open",
    ],
    [
      "a Step of another Turn begins",
      [turnStart(2), ...answer(1, 1), turnEnd(1)],
      "turn-balance 1: A Step begins outside of its Turn",
    ],
    [
      "a number of a Step comes again",
      [turnStart(1), ...answer(1, 1), ...answer(1, 1), turnEnd(1)],
      "turn-balance 5: The numbers of Steps do not grow",
    ],
    [
      "deltas stand in another Step",
      [
        turnStart(1),
        stepStart(at(1, 1)),
        textDelta(at(1, 2), "a"),
        textDelta(at(1, 2), "b"),
        stepEnd(at(1, 1)),
        turnEnd(1),
      ],
      "turn-balance 2: What belongs to a Step stands outside of it",
    ],
    [
      "a message comes after its Turn",
      [...turn(1), assistantMessage(at(1, 1), [textBlock("late")]), ...turn(2)],
      "turn-balance 7: What belongs to a Step stands outside of it",
    ],
    [
      "a call has no result",
      callTurn(["a", "b"], call("a"), result("a"), call("b")),
      "tool-pairing 6: A tool call has no result",
    ],
    [
      "a call has two results",
      callTurn(["a"], result("a"), result("a")),
      "tool-pairing 4: A tool call has two results",
    ],
    [
      "a result has no call",
      callTurn(["a"], result("a"), result("b")),
      "tool-pairing 4: A tool result has no call",
    ],
    [
      "a call starts that nobody asked for",
      callTurn(["a"], result("a"), call("b"), result("b")),
      "tool-pairing 4: A tool call starts that no message asks for",
    ],
    [
      "a call starts twice",
      callTurn(["a"], call("a"), call("a"), result("a")),
      "tool-pairing 4: A tool call starts twice",
    ],
    [
      "a call starts after its result",
      callTurn(["a"], result("a"), call("a")),
      "tool-pairing 4: A tool call starts after its result",
    ],
    [
      "two calls have one id",
      callTurn(["a", "a"], result("a")),
      "tool-pairing 2: Two tool calls of one Step have the same id",
    ],
  ])("%s", (_, drafts, fault) => {
    expect(faultsOf(drafts)).toEqual([fault]);
  });

  test("packed deltas stand in another Step", () => {
    const place = at(1, 1);
    const deltas = Array.from({ length: 5 }, () => callDelta(at(1, 2), "a", "{"));
    const events = toEvents([turnStart(1), stepStart(place), ...deltas, stepEnd(place), turnEnd(1)]);
    const records = recordsOf(events);
    expect(records.map(({ count }) => count)).toEqual([1, 1, 5, 1, 1]);
    expect(auditRecords(records)).toEqual([
      {
        code: "turn-balance",
        message: "What belongs to a Step stands outside of it",
        place: { row: 3, seq: 2, eventType: "tool-call-chunks" },
        expected: "what goes on with Turn 1, Step 1",
        found: "deltas of Turn 1, Step 2",
      },
    ]);
  });
});
