import { describe, expect, test } from "bun:test";
import type { EventDraft } from "../../src/session/events.ts";
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
} from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import { expectHistory } from "./model.ts";
import { title } from "./support.ts";

const AT = { turn: 1, step: 1 };
const BEGUN = [turnStart(1), userMessage("x")];
const STEP = [...BEGUN, stepStart(AT)];
const CALLS = [
  ...STEP,
  assistantMessage(AT, [textBlock("ok"), callBlock("c1"), callBlock("c2"), callBlock("c3")]),
];

const STEP_END = { type: "step/end", data: { turn: 1, step: 1 } };
const TURN_END = { type: "turn/end", data: { turn: 1, reason: { kind: "interrupted" } } };

/** A closing result as design and format fix it, but for its text. */
function closing(callId: string, seq: number, started?: number) {
  const error =
    started === undefined
      ? { name: "ToolNotStartedError", code: "TOOL_NOT_STARTED" }
      : { name: "ToolOutcomeUnknownError", code: "TOOL_OUTCOME_UNKNOWN" };
  return {
    type: "tool/result",
    seq,
    data: {
      ...AT,
      error,
      message: {
        id: `interrupted-tool-result-${callId}-${seq}`,
        role: "user",
        source: { kind: "tool", callId },
        content: [{ type: "tool-result", toolCallId: callId, isError: true }],
      },
    },
    surfaceOp: "append",
    ...(started === undefined ? {} : { sourceEventSeqs: [started] }),
  };
}

const INTERRUPTED: ReadonlyArray<readonly [string, readonly EventDraft[], readonly object[]]> = [
  ["after the Turn began", [turnStart(1)], [TURN_END]],
  ["after the user's message", BEGUN, [TURN_END]],
  ["after the Step began", STEP, [STEP_END, TURN_END]],
  [
    "in the middle of deltas",
    [...STEP, ...["a", "b", "c", "d"].map((text) => textDelta(AT, text))],
    [STEP_END, TURN_END],
  ],
  ["after one delta", [...STEP, textDelta(AT, "a")], [STEP_END, TURN_END]],
  ["after an answer without calls", [...STEP, assistantMessage(AT, [textBlock("hi")])], [STEP_END, TURN_END]],
  [
    "after an answer with calls",
    CALLS,
    [closing("c1", 4), closing("c2", 5), closing("c3", 6), STEP_END, TURN_END],
  ],
  [
    "between a call and its result",
    [...CALLS, toolCall(AT, "c1")],
    [closing("c1", 5, 4), closing("c2", 6), closing("c3", 7), STEP_END, TURN_END],
  ],
  [
    "between two of three results",
    [
      ...CALLS,
      toolCall(AT, "c1"),
      toolCall(AT, "c2"),
      toolCall(AT, "c3"),
      toolResult(AT, "c3", "3"),
      toolResult(AT, "c1", "1"),
    ],
    [closing("c2", 9, 5), STEP_END, TURN_END],
  ],
  [
    "after the last result",
    [...CALLS, ...["c1", "c2", "c3"].flatMap((id) => [toolCall(AT, id), toolResult(AT, id, id)])],
    [STEP_END, TURN_END],
  ],
  ["between Steps", [...STEP, assistantMessage(AT, [textBlock("hi")]), stepEnd(AT)], [TURN_END]],
  ["after an event beside the Turn", [...BEGUN, title(1)], [TURN_END]],
];

const IN_ORDER: ReadonlyArray<readonly [string, readonly EventDraft[]]> = [
  ["a closed Turn", [...STEP, assistantMessage(AT, [textBlock("hi")]), stepEnd(AT), turnEnd(1)]],
  ["events after a closed Turn", [turnStart(1), turnEnd(1), title(1)]],
  ["no Turn at all", [title(0)]],
];

function timed(drafts: readonly EventDraft[]): EventDraft[] {
  // The clock ran backwards, so that the last time is not the largest.
  return drafts.map((draft, k) => ({ ...draft, time: 5_000 - k }));
}

/** A Turn that a crash interrupted is closed: nothing is dropped, nothing is run again. */
export function recovery({ rigged, needing }: Contract): void {
  describe("an interrupted Turn", () => {
    for (const [where, drafts, expected] of INTERRUPTED) {
      test(
        `${where} is closed: in memory by inspect, in the store once by load and prepare`,
        rigged(async (rig) => {
          const events = toEvents(timed(drafts));
          await rig.stored("s", timed(drafts));
          await rig.restart();
          const stored = await rig.store.listSnapshots();

          const inspected = await rig.store.inspect("s");
          const { closers } = inspected;
          expect(closers).toMatchObject([...expected]);
          const closed = [...events, ...closers];
          expect(closers.map(({ seq }) => seq)).toEqual(
            closed.slice(events.length).map((_, k) => events.length + k),
          );
          for (const { time } of closers) expect(time).toBe(5_000 - events.length + 1);
          expectHistory(inspected, closed, "s");
          expect(await rig.store.listSnapshots()).toEqual(stored);
          expect(inspected.revision).toBe(stored.items[0]?.revision ?? "");
          expect(await rig.store.readFrom("s", 0)).toEqual(events);

          const loaded = await rig.store.load("s");
          expectHistory(loaded, closed, "s");
          expect(loaded.closers).toEqual([]);
          expect(loaded.revision).not.toBe(inspected.revision);
          const repaired = await rig.store.listSnapshots();
          expect(repaired.items).toEqual([{ id: "s", revision: loaded.revision }]);

          await rig.restart();
          expectHistory(await rig.store.load("s"), closed, "s");
          const again = await rig.resume("s");
          expect(again.closers).toEqual([]);
          expectHistory({ log: again.session.log, projections: again.session.projections }, closed, "s");
          expect(await rig.store.listSnapshots()).toEqual(repaired);
          expect((await again.session.log.append(turnStart(2))).seq).toBe(closed.length);
        }),
      );

      test(
        `${where} is closed the same way by prepare at once, and anywhere`,
        rigged(async (rig) => {
          await rig.stored("s", timed(drafts));
          await rig.stored("t", timed(drafts));
          const { closers, session } = await rig.resume("s");
          expect(closers).toMatchObject([...expected]);
          expect((await rig.store.inspect("t")).closers).toEqual(closers);
          expect((await rig.store.load("t")).log.slice(drafts.length)).toEqual([...closers]);
          expect(session.projections.openWork.turn).toBeUndefined();
          await rig.restart();
          expect((await rig.store.inspect("s")).log.slice(drafts.length)).toEqual([...closers]);
        }),
      );
    }

    test(
      "afterwards every call in the model's history has exactly one result",
      rigged(async (rig) => {
        for (const [k, [, drafts]] of INTERRUPTED.entries()) {
          await rig.stored(`${k}`, timed(drafts));
          const { log, projections } = await rig.store.load(`${k}`);
          const blocks = projections.messages(log, `${k}`).flatMap(({ content }) => [...content]);
          const calls = blocks.flatMap((block) => (block.type === "tool-call" ? [block.id] : []));
          const results = blocks.flatMap((block) => (block.type === "tool-result" ? [block.toolCallId] : []));
          expect(results.toSorted()).toEqual(calls.toSorted());
        }
      }),
    );

    test(
      "results that recovery added can be compacted like any other",
      rigged(async (rig) => {
        await rig.stored("s", CALLS);
        const { session } = await rig.resume("s");
        const surface = session.projections.surface.seqs;
        expect(surface).toEqual([1, 3, 4, 5, 6]);
        await session.log.append(replacing(userMessage("summary"), 1, 6, surface));
        expect(session.projections.surface.seqs).toEqual([session.log.length - 1]);
      }),
    );

    test(
      "no synthetic user message enters the log",
      rigged(async (rig) => {
        await rig.stored("s", CALLS);
        const { log } = await rig.store.load("s");
        expect([...log].filter(({ type }) => type === "user/message").length).toBe(1);
      }),
    );

    needing("faults", "with counted commits", () => {
      test(
        "recovering again and again, or twice at once, commits once",
        rigged(async (rig) => {
          await rig.stored("s", CALLS);
          const [a, b] = await Promise.all([rig.store.load("s"), rig.store.load("s")]);
          expect(a.revision).toBe(b.revision);
          await rig.store.inspect("s");
          await rig.store.load("s");
          await using preparation = await rig.store.prepare("s");
          expect(preparation.closers).toEqual([]);
          expect(rig.faults.calls("commitRepair")).toBe(1);
        }),
      );
    });
  });

  describe("a session that was left in order", () => {
    for (const [what, drafts] of IN_ORDER) {
      test(
        `${what}: recovery adds nothing`,
        rigged(async (rig) => {
          await rig.stored("s", timed(drafts));
          const before = await rig.store.inspect("s");
          expect(before.closers).toEqual([]);
          expect((await rig.store.load("s")).revision).toBe(before.revision);
          const { closers, session } = await rig.resume("s");
          expect(closers).toEqual([]);
          expectHistory({ log: session.log, projections: session.projections }, toEvents(timed(drafts)), "s");
        }),
      );
    }
  });
}
