import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type EventDraft,
  findEventFault,
  type ModelMessage,
  type SessionEvent,
} from "../../src/session/events.ts";
import type { LogView } from "../../src/session/log-view.ts";
import { SessionProjections } from "../../src/session/projections/index.ts";
import { closeInterruptedTurn } from "../../src/session/recovery.ts";
import { arbitraryEvents, toEvents } from "../fixtures/arbitraries.ts";
import {
  assistantMessage,
  callBlock,
  replacing,
  stepEnd,
  stepStart,
  textDelta,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";
import { viewOf } from "../fixtures/logs.ts";

const AT = { turn: 2, step: 3 };

function closersOf(log: LogView): SessionEvent[] {
  return closeInterruptedTurn(new SessionProjections().catchUp(log).openWork, log.length);
}

function close(drafts: readonly EventDraft[]): SessionEvent[] {
  return closersOf(viewOf(toEvents(drafts, 100)));
}

const OPEN = [turnStart(2), userMessage("q"), stepStart(AT)];
const ASKED = [...OPEN, assistantMessage(AT, [callBlock("one"), callBlock("two"), callBlock("three")])];

/** Call ids that the history asks for and answers, each in their order. */
function pairs(messages: readonly ModelMessage[]): { asked: string[]; answered: string[] } {
  const blocks = messages.flatMap(({ content }) => content);
  return {
    asked: blocks.flatMap((block) => (block.type === "tool-call" ? [block.id] : [])),
    answered: blocks.flatMap((block) => (block.type === "tool-result" ? [block.toolCallId] : [])),
  };
}

describe("the closers of any cut of any session", () => {
  test("balance the Turn, are valid events, answer every call once, and close nothing twice", () => {
    fc.assert(
      fc.property(arbitraryEvents(), (events) => {
        for (let length = 0; length <= events.length; length += 1) {
          const log = viewOf(events.slice(0, length));
          const open = new SessionProjections().catchUp(log).openWork.turn !== undefined;
          const closers = closersOf(log);
          expect(closers.length > 0).toBe(open);
          expect(closersOf(log)).toEqual(closers);
          for (const [k, closer] of closers.entries()) {
            expect(findEventFault(closer)).toBeUndefined();
            expect(Object.isFrozen(closer) && Object.isFrozen(closer.data)).toBe(true);
            expect([closer.seq, closer.time]).toEqual([length + k, log.at(length - 1).time]);
          }
          const closed = viewOf([...log, ...closers]);
          const projections = new SessionProjections().catchUp(closed);
          expect(projections.openWork).toMatchObject({ turn: undefined, step: undefined, calls: [] });
          expect(closersOf(closed)).toEqual([]);
          const { asked, answered } = pairs(projections.messages(closed, "s"));
          expect(new Set(asked).size).toBe(asked.length);
          expect(answered.toSorted()).toEqual(asked.toSorted());
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe("an interrupted Turn", () => {
  test("without a Step gets its end", () => {
    expect(close([turnStart(2), userMessage("q")])).toEqual([
      { type: "turn/end", seq: 2, time: 101, data: { turn: 2, reason: { kind: "interrupted" } } },
    ]);
  });

  test("between two Steps gets its end alone", () => {
    expect(close([...OPEN, stepEnd(AT)]).map(({ type }) => type)).toEqual(["turn/end"]);
  });

  test("while the answer streams gets the ends of Step and Turn, at the time of the last delta", () => {
    const deltas = Array.from({ length: 5 }, (_, k) => textDelta(AT, String(k)));
    expect(close([...OPEN, ...deltas])).toEqual([
      { type: "step/end", seq: 8, time: 107, data: AT },
      { type: "turn/end", seq: 9, time: 107, data: { turn: 2, reason: { kind: "interrupted" } } },
    ]);
  });

  test("with calls that were not started has them answered as such, in message order", () => {
    const [first, second, third, ...ends] = close(ASKED);
    expect(first).toEqual({
      type: "tool/result",
      seq: 4,
      time: 103,
      data: {
        ...AT,
        message: {
          id: "interrupted-tool-result-one-4",
          role: "user",
          source: { kind: "tool", callId: "one" },
          content: [
            {
              type: "tool-result",
              toolCallId: "one",
              isError: true,
              content: [{ type: "text", text: expect.stringContaining("not started") }],
            },
          ],
        },
        error: { name: "ToolNotStartedError", code: "TOOL_NOT_STARTED" },
      },
      surfaceOp: "append",
    });
    expect([second, third].map((event) => event?.data)).toMatchObject([
      { message: { id: "interrupted-tool-result-two-5" } },
      { message: { id: "interrupted-tool-result-three-6" } },
    ]);
    expect(ends.map(({ type, seq }) => [type, seq])).toEqual([
      ["step/end", 7],
      ["turn/end", 8],
    ]);
  });

  test("with a call under way has its outcome as unknown, citing the call, and says what is safe", () => {
    const [result] = close([...ASKED, toolCall(AT, "two")]).slice(1);
    expect(result?.sourceEventSeqs).toEqual([4]);
    expect(result?.data).toMatchObject({
      error: { name: "ToolOutcomeUnknownError", code: "TOOL_OUTCOME_UNKNOWN" },
      message: { source: { callId: "two" }, content: [{ isError: true }] },
    });
    const text = JSON.stringify(result?.data);
    for (const word of ["unknown", "read-only", "idempotent", "check", "ask"]) expect(text).toContain(word);
  });

  test("after two of three results has the third answered, and the real ones stay", () => {
    const drafts = [
      ...ASKED,
      toolCall(AT, "one"),
      toolCall(AT, "two"),
      toolCall(AT, "three"),
      toolResult(AT, "one", "1"),
      toolResult(AT, "three", "3"),
    ];
    const closers = close(drafts);
    expect(closers.map(({ type }) => type)).toEqual(["tool/result", "step/end", "turn/end"]);
    expect(closers[0]).toMatchObject({
      sourceEventSeqs: [5],
      data: { message: { source: { callId: "two" } } },
    });
  });

  test("has no user's message made up for it", () => {
    expect(close(ASKED).some(({ type }) => type === "user/message")).toBe(false);
  });
});

describe("nothing is closed", () => {
  test.each<[what: string, drafts: readonly EventDraft[]]>([
    ["in an empty log", []],
    ["before the first Turn", [userMessage("early")]],
    [
      "after a Turn's end, whatever the reason",
      [...OPEN, turnEnd(2, { kind: "aborted", reason: { kind: "user" } })],
    ],
    [
      "by compaction after a Turn",
      [...OPEN, stepEnd(AT), turnEnd(2), replacing(userMessage("s"), 1, 1, [1])],
    ],
  ])("%s", (_what, drafts) => {
    expect(close(drafts)).toEqual([]);
  });
});
