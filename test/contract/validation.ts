import { describe, expect, test } from "bun:test";
import type { EventDraft, SessionEvent } from "../../src/session/events.ts";
import {
  assistantMessage,
  callBlock,
  replacing,
  textBlock,
  textDelta,
  toEvents,
  toolCall,
  toolResult,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import { expectHistory } from "./model.ts";
import { rejectionOf } from "./support.ts";

const AT = { turn: 1, step: 1 };

/** One call with its result, between two user messages: surface seqs 0, 1, 3, 4. */
const CONVERSATION: readonly EventDraft[] = [
  userMessage("first"),
  assistantMessage(AT, [textBlock("let me see"), callBlock("c1")]),
  toolCall(AT, "c1"),
  toolResult(AT, "c1", "the result"),
  userMessage("second"),
].map((draft, k) => ({ ...draft, time: k }));
const EVENTS = toEvents(CONVERSATION);

function cyclic(): unknown {
  const value: Record<string, unknown> = {};
  value["self"] = value;
  return value;
}

const NOT_JSON: ReadonlyArray<readonly [string, () => unknown]> = [
  ["NaN", () => Number.NaN],
  ["Infinity", () => Number.POSITIVE_INFINITY],
  ["-0", () => -0],
  ["undefined", () => ({ a: undefined })],
  ["a function", () => () => 1],
  ["a symbol", () => Symbol("x")],
  ["a BigInt", () => 1n],
  ["a Map", () => new Map([[1, 2]])],
  ["a Date", () => new Date(0)],
  ["a sparse array", () => new Array(3)],
  ["a cycle", cyclic],
  [
    "an exotic prototype",
    () =>
      new (class Point {
        readonly x = 1;
      })(),
  ],
  ["endless nesting", () => JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`)],
];

const BAD_REPLACEMENTS: ReadonlyArray<readonly [string, EventDraft]> = [
  ["of a seq that is not on the surface", replacing(userMessage("x"), 2, 4, [2, 3, 4])],
  ["of a seq that does not exist yet", replacing(userMessage("x"), 0, 99, [0])],
  ["whose end stands before its start", replacing(userMessage("x"), 4, 0, [0, 1, 3, 4])],
  ["that does not cite all it shadows", replacing(userMessage("x"), 0, 4, [0, 1, 4])],
  ["that leaves a call without its result", replacing(userMessage("x"), 3, 4, [3, 4])],
  ["that leaves a result without its call", replacing(userMessage("x"), 0, 1, [0, 1])],
  ["of a message by a tool result", replacing(toolResult(AT, "c1", "x"), 4, 4, [4])],
  ["of a result by another call's result", replacing(toolResult(AT, "c2", "x"), 3, 3, [3])],
];

/** What must not enter a log is refused before anything is written. */
export function validation({ rigged }: Contract): void {
  describe("validation", () => {
    for (const [what, make] of NOT_JSON) {
      test(
        `${what} is not serialisable: a typed error, and nothing is written`,
        rigged(async (rig) => {
          const session = await rig.create("s");
          const bad: EventDraft = { type: "session/title", data: { value: make() } };
          const refusal = { code: "not-serialisable", place: { eventType: "session/title" } };
          expect(await rejectionOf(session.log.append(bad))).toMatchObject(refusal);
          expect(await rejectionOf(session.log.appendAll([userMessage("good"), bad]))).toMatchObject(refusal);
          const event: SessionEvent = { type: "session/title", seq: 0, time: 0, data: { value: make() } };
          expect(await rejectionOf(rig.store.append("s", [event]))).toMatchObject(refusal);
          expect((await rig.store.list()).items).toEqual([]);
          expect((await session.log.append(userMessage("good"))).seq).toBe(0);
        }),
      );
    }

    const malformed: ReadonlyArray<readonly [string, EventDraft]> = [
      ["a message with an empty id", userMessage("x", "")],
      [
        "a message without an id",
        {
          type: "user/message",
          data: { role: "user", content: [], source: { kind: "user" } },
          surfaceOp: "append",
        },
      ],
      ["an unknown type that is not ignorable", { type: "future/event", data: {} }],
      ["a known type with data of another shape", { type: "tool/call", data: { turn: 1 } }],
      ["a seq that is cited twice", { ...userMessage("x"), sourceEventSeqs: [0, 0] }],
      ["a cited seq that is not earlier", { ...userMessage("x"), sourceEventSeqs: [5] }],
      ["a surface operation on another type", { type: "session/title", data: {}, surfaceOp: "append" }],
      ["a time that is not a natural number", { ...userMessage("x"), time: -1 }],
    ];
    for (const [what, draft] of malformed) {
      test(
        `${what} is an invalid event, and nothing is written`,
        rigged(async (rig) => {
          await rig.stored("s", CONVERSATION);
          const { session } = await rig.resume("s");
          expect(await rejectionOf(session.log.append(draft))).toMatchObject({ code: "invalid-event" });
          await rig.restart();
          expectHistory(await rig.store.inspect("s"), EVENTS, "s");
        }),
      );
    }

    for (const [what, draft] of BAD_REPLACEMENTS) {
      test(
        `a replacement ${what} is refused, with all that would be written with it`,
        rigged(async (rig) => {
          await rig.stored("s", CONVERSATION);
          const { session } = await rig.resume("s");
          const batch = [turnStart(2), draft, userMessage("after")];
          expect(await rejectionOf(session.log.appendAll(batch))).toMatchObject({ code: "invalid-event" });
          const events = toEvents(batch, 0, EVENTS.length);
          expect(await rejectionOf(rig.store.append("s", events))).toMatchObject({ code: "invalid-event" });
          expectHistory({ log: session.log, projections: session.projections }, EVENTS, "s");
          expect((await session.log.append(userMessage("third"))).seq).toBe(EVENTS.length);
          await rig.restart();
          expect((await rig.store.inspect("s")).log.length).toBe(EVENTS.length + 1);
        }),
      );
    }

    test(
      "a replacement is checked against what the batch before it, still on its way, leaves",
      rigged(async (rig) => {
        await rig.stored("s", CONVERSATION);
        const { session } = await rig.resume("s");
        const summary = replacing(userMessage("summary"), 0, 3, [0, 1, 3]);
        const outcomes = await Promise.allSettled([
          session.log.append(summary),
          session.log.append(replacing(userMessage("again"), 0, 0, [0])),
          session.log.append(replacing(userMessage("summary of both"), 5, 4, [5, 4])),
        ]);
        expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
        await rig.restart();
        expect((await rig.store.inspect("s")).projections.surface.seqs).toEqual([6]);
      }),
    );

    test(
      "a compacted session goes on after a restart with the same surface",
      rigged(async (rig) => {
        await rig.stored("s", [...CONVERSATION, replacing(userMessage("summary"), 0, 3, [0, 1, 3])]);
        await rig.restart();
        const { session } = await rig.resume("s");
        expect(session.projections.surface.seqs).toEqual([5, 4]);
        expect(await rejectionOf(session.log.append(replacing(userMessage("x"), 0, 0, [0])))).toMatchObject({
          code: "invalid-event",
        });
        await session.log.append(replacing(userMessage("all"), 5, 4, [4, 5]));
        expect(session.projections.surface.seqs).toEqual([6]);
      }),
    );

    test(
      "events appended together are durable together or not at all",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const good = [userMessage("a"), textDelta(AT, "b")];
        expect(
          await rejectionOf(session.log.appendAll([...good, { type: "session/title", data: 1n }])),
        ).toMatchObject({ code: "not-serialisable" });
        expect(session.log.length).toBe(0);
        const appended = await session.log.appendAll(good);
        await rig.restart();
        expectHistory(await rig.store.inspect("s"), appended, "s");
      }),
    );

    test(
      "what was checked is what is stored: changing the draft afterwards has no effect",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const data = { list: [1, 2] };
        const append = session.log.append({ type: "session/title", data });
        data.list.push(3);
        expect((await append).data).toEqual({ list: [1, 2] });
        await rig.restart();
        expect((await rig.store.inspect("s")).log.at(0).data).toEqual({ list: [1, 2] });
      }),
    );
  });
}
