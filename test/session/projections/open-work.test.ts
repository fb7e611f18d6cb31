import { describe, expect, test } from "bun:test";
import type { EventDraft } from "../../../src/session/events.ts";
import { OpenWork } from "../../../src/session/projections/open-work.ts";
import { toEvents } from "../../fixtures/arbitraries.ts";
import {
  assistantMessage,
  callBlock,
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

const AT = { turn: 3, step: 2 };
const ASKING = [
  turnStart(3),
  stepStart(AT),
  assistantMessage(AT, [callBlock("b", "grep"), textBlock("x"), callBlock("a", "ls")]),
];

function fold(drafts: readonly EventDraft[]): OpenWork {
  const work = new OpenWork();
  for (const event of toEvents(drafts, 100)) work.fold(event);
  return work;
}

function summary({ turn, step, calls }: OpenWork) {
  return { turn, step, calls };
}

const NOTHING = { turn: undefined, step: undefined, calls: [] };

describe("open work", () => {
  test("is nothing before the first Turn", () => {
    const work = fold([userMessage("early"), { type: "session/title", data: {} }]);
    expect({ ...summary(work), lastTurn: work.lastTurn, lastTime: work.lastTime }).toEqual({
      ...NOTHING,
      lastTurn: 0,
      lastTime: 101,
    });
  });

  test("is the Turn and Step that have started and not ended", () => {
    expect(summary(fold([turnStart(3)]))).toEqual({ ...NOTHING, turn: 3 });
    expect(summary(fold([turnStart(3), stepStart(AT)]))).toEqual({ ...NOTHING, turn: 3, step: 2 });
    expect(summary(fold([turnStart(3), stepStart(AT), stepEnd(AT)]))).toEqual({ ...NOTHING, turn: 3 });
    expect(summary(fold([turnStart(3), stepStart(AT), stepEnd(AT), turnEnd(3)]))).toEqual(NOTHING);
  });

  test("is the calls without a result, in message order, with the seq of those that were started", () => {
    expect(fold(ASKING).calls).toEqual([
      { callId: "b", name: "grep" },
      { callId: "a", name: "ls" },
    ]);
    const started = [...ASKING, toolCall(AT, "a", "ls")];
    expect(fold(started).calls).toEqual([
      { callId: "b", name: "grep" },
      { callId: "a", name: "ls", callSeq: 3 },
    ]);
    expect(fold([...started, toolResult(AT, "a", "x")]).calls).toEqual([{ callId: "b", name: "grep" }]);
  });

  test("has no calls once the Step has ended", () => {
    expect(fold([...ASKING, stepEnd(AT)]).calls).toEqual([]);
    expect(fold([...ASKING, turnEnd(3)])).toMatchObject(NOTHING);
  });

  test("has no calls that compaction brings back", () => {
    const compacted = replacing(assistantMessage(AT, [callBlock("old")]), 0, 0, [0]);
    expect(fold([turnStart(3), compacted]).calls).toEqual([]);
  });

  test("does not take a tool/call for open work that no message asked for", () => {
    expect(fold([turnStart(3), stepStart(AT), toolCall(AT, "stray")]).calls).toEqual([]);
  });

  test("counts the Turns by the highest number", () => {
    expect(fold([turnStart(3), turnEnd(3), turnStart(1), turnEnd(1)]).lastTurn).toBe(3);
  });

  test("remembers the time of the last event, also where times run backwards", () => {
    expect(
      fold([
        { ...turnStart(1), time: 900 },
        { ...turnEnd(1), time: 5 },
      ]).lastTime,
    ).toBe(5);
  });

  test("can be cloned, and the copy goes its own way", () => {
    const work = fold(ASKING);
    const copy = work.clone();
    for (const event of toEvents([toolResult(AT, "a", "x"), stepEnd(AT), turnEnd(3)], 0, 3)) copy.fold(event);
    expect(summary(copy)).toEqual(NOTHING);
    expect(work.calls.length).toBe(2);
    expect([work.turn, work.step]).toEqual([3, 2]);
  });
});
