import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { EventDraft, SessionEvent } from "../../../src/session/events.ts";
import { Surface } from "../../../src/session/projections/surface.ts";
import { arbitraryEvents, toEvents } from "../../fixtures/arbitraries.ts";
import {
  assistantMessage,
  callBlock,
  replacing,
  stepStart,
  textBlock,
  toolResult,
  userMessage,
} from "../../fixtures/event-drafts.ts";

const AT = { turn: 1, step: 1 };
/** Seqs: 0 user, 1 a Step's start, 2 assistant with calls a and b, 3 result a, 4 result b, 5 assistant. */
const BASE: readonly EventDraft[] = [
  userMessage("hi"),
  stepStart(AT),
  assistantMessage(AT, [callBlock("a"), callBlock("b")]),
  toolResult(AT, "a", "A"),
  toolResult(AT, "b", "B"),
  assistantMessage({ turn: 1, step: 2 }, [textBlock("done")]),
];

function surfaceOf(drafts: readonly EventDraft[]): Surface {
  const surface = new Surface();
  for (const event of toEvents(drafts)) {
    expect(surface.findFault(event)).toBeUndefined();
    surface.fold(event);
  }
  return surface;
}

/** The event that comes after {@link BASE}. */
function next(draft: EventDraft): SessionEvent {
  const [event] = toEvents([draft], 0, BASE.length);
  if (event === undefined) throw new Error("one draft makes one event");
  return event;
}

function fault(draft: EventDraft): string | undefined {
  return surfaceOf(BASE).findFault(next(draft));
}

describe("the surface", () => {
  test("is the messages in the order of their appends", () => {
    expect(surfaceOf(BASE).seqs).toEqual([0, 2, 3, 4, 5]);
  });

  test("has a replacement stand where its range stood", () => {
    const summary = replacing(userMessage("summary"), 2, 4, [2, 3, 4]);
    expect(surfaceOf([...BASE, summary]).seqs).toEqual([0, 6, 5]);
    expect(surfaceOf([...BASE, replacing(userMessage("all"), 0, 5, [0, 2, 3, 4, 5])]).seqs).toEqual([6]);
  });

  test("lets a replacement be replaced, and go on behind it", () => {
    const drafts = [
      ...BASE,
      replacing(userMessage("first"), 2, 4, [2, 3, 4]),
      userMessage("more"),
      replacing(userMessage("second"), 0, 5, [0, 6, 5]),
    ];
    expect(surfaceOf(drafts).seqs).toEqual([8, 7]);
  });

  test("has a range by position, so that a replacement with a higher seq may start one", () => {
    const drafts = [
      ...BASE,
      replacing(userMessage("first"), 0, 4, [0, 2, 3, 4]),
      replacing(userMessage("second"), 6, 5, [6, 5]),
    ];
    expect(surfaceOf(drafts).seqs).toEqual([7]);
  });

  test("lets a tool result take another text", () => {
    expect(surfaceOf([...BASE, replacing(toolResult(AT, "a", "short"), 3, 3, [3])]).seqs).toEqual([
      0, 2, 6, 4, 5,
    ]);
  });

  test("agrees with a plain list for any session, and never finds a fault in a valid one", () => {
    fc.assert(
      fc.property(arbitraryEvents(), (events) => {
        const surface = new Surface();
        let list: number[] = [];
        for (const event of events) {
          expect(surface.findFault(event)).toBeUndefined();
          expect(surface.findSplitPair(event)).toBeUndefined();
          surface.fold(event);
          const op = event.surfaceOp;
          if (op === "append") list.push(event.seq);
          else if (op !== undefined) {
            const [from, to] = [list.indexOf(op.start), list.indexOf(op.end)];
            list = [...list.slice(0, from), event.seq, ...list.slice(to + 1)];
          }
          expect(surface.seqs).toEqual(list);
        }
      }),
    );
  });

  test("can be cloned, and the copy goes its own way", () => {
    const surface = surfaceOf(BASE);
    const copy = surface.clone();
    copy.fold(next(userMessage("more")));
    expect(surface.seqs).toEqual([0, 2, 3, 4, 5]);
    expect(copy.seqs).toEqual([0, 2, 3, 4, 5, 6]);
  });
});

describe("a replacement does not fit", () => {
  test.each<[why: string, draft: EventDraft, says: string]>([
    ["from a seq that is not on the surface", replacing(userMessage("s"), 1, 4, [1, 2, 3, 4]), "from seq 1"],
    ["up to a seq that is not on the surface", replacing(userMessage("s"), 0, 1, [0, 1]), "up to seq 1"],
    ["from a seq that is not in the log", replacing(userMessage("s"), 99, 5, [5]), "from seq 99"],
    [
      "with its end before its start",
      replacing(userMessage("s"), 4, 2, [2, 3, 4]),
      "end 2 stands before its start 4",
    ],
    ["that leaves a shadowed event uncited", replacing(userMessage("s"), 2, 4, [2, 4]), "but not seq 3"],
    [
      "that cites nothing",
      { ...userMessage("s"), surfaceOp: { op: "replace", start: 2, end: 2 } },
      "but not seq 2",
    ],
    [
      "of a message by a tool result",
      replacing(toolResult(AT, "a", "x"), 0, 0, [0]),
      "something other than one result",
    ],
    [
      "of two results by one",
      replacing(toolResult(AT, "a", "x"), 3, 4, [3, 4]),
      "something other than one result",
    ],
    [
      "of the result of another call",
      replacing(toolResult(AT, "b", "x"), 3, 3, [3]),
      "something other than one result",
    ],
  ])("%s", (_why, draft, says) => {
    expect(fault(draft)).toContain(says);
  });

  test("when what it starts from was replaced before", () => {
    const surface = surfaceOf([...BASE, replacing(userMessage("first"), 2, 4, [2, 3, 4])]);
    const [again] = toEvents([replacing(userMessage("again"), 2, 5, [2, 5])], 0, 7);
    expect(again && surface.findFault(again)).toContain("from seq 2");
  });

  test("but may cite more than it shadows", () => {
    expect(fault(replacing(userMessage("s"), 2, 4, [0, 1, 2, 3, 4]))).toBeUndefined();
  });
});

describe("a replacement splits a pair", () => {
  test.each<[what: string, draft: EventDraft, says: string]>([
    [
      "when it takes a call and leaves a result",
      replacing(userMessage("s"), 0, 3, [0, 2, 3]),
      "a result b without its call",
    ],
    [
      "when it takes a result and leaves the call",
      replacing(userMessage("s"), 4, 5, [4, 5]),
      "a call b without its result",
    ],
    [
      "when it rewrites the calls of an answer",
      replacing(assistantMessage(AT, [callBlock("a")]), 2, 2, [2]),
      "a result b without its call",
    ],
  ])("%s", (_what, draft, says) => {
    expect(fault(draft)).toBeUndefined();
    expect(surfaceOf(BASE).findSplitPair(next(draft))).toBe(says);
  });

  test.each<[what: string, draft: EventDraft]>([
    ["when it takes whole pairs", replacing(userMessage("s"), 2, 4, [2, 3, 4])],
    ["when it gives a result another text", replacing(toolResult(AT, "a", "x"), 3, 3, [3])],
    ["when it keeps the calls", replacing(assistantMessage(AT, [callBlock("a"), callBlock("b")]), 2, 2, [2])],
    ["when it is an append", userMessage("more")],
  ])("not %s", (_what, draft) => {
    expect(surfaceOf(BASE).findSplitPair(next(draft))).toBeUndefined();
  });
});
