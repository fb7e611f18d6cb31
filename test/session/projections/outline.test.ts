import { expect, test } from "bun:test";
import fc from "fast-check";
import { isEvent, type SessionEvent } from "../../../src/session/events.ts";
import { lastActive, type Outline, OutlineFold } from "../../../src/session/projections/outline.ts";
import { decodeRecord } from "../../../src/session/records.ts";
import { arbitraryEvents, batchSizes, toEvents } from "../../fixtures/arbitraries.ts";
import { turnEnd, turnStart, userMessage } from "../../fixtures/event-drafts.ts";
import { recordsOf } from "../../fixtures/logs.ts";

function outlineOf(events: readonly SessionEvent[], sizes?: readonly number[]): Outline {
  const fold = new OutlineFold();
  for (const { text } of recordsOf(events, sizes)) fold.fold(decodeRecord(text, {}));
  return fold.outline;
}

function titled(title: unknown) {
  return { type: "session/title", data: { title, messageSeqs: [], source: { kind: "user" } } } as const;
}

/** What the whole list says, looked up piece by piece. */
function naive(events: readonly SessionEvent[], bytes: number): Outline {
  const titles = events.filter(({ type }) => type === "session/title");
  const given = titles.map(({ data }) => Object(data).title).filter((title) => typeof title === "string");
  const said = events.flatMap((event) =>
    isEvent(event, "user/message") && event.surfaceOp === "append" && event.data.source.kind === "user"
      ? [event.data.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")]
      : [],
  );
  const texts = [...given.reverse(), ...said].map((text) => text.replace(/\s+/g, " ").trim());
  const title = texts.find((text) => text !== "");
  const marks = events.filter((event) => isEvent(event, "turn/start") || isEvent(event, "turn/end"));
  const last = marks.at(-1);
  return {
    ...(title === undefined ? {} : { title }),
    ...(events.length === 0 ? {} : { firstTime: events[0]?.time ?? 0, lastTime: events.at(-1)?.time ?? 0 }),
    turns: marks.filter((event) => isEvent(event, "turn/start")).length,
    events: events.length,
    bytes,
    ...(last !== undefined && isEvent(last, "turn/start") ? { openTurn: last.data.turn } : {}),
  };
}

test("the outline of a log is what its events say, however they are packed", () => {
  fc.assert(
    fc.property(arbitraryEvents(), batchSizes(), (events, sizes) => {
      const records = recordsOf(events, sizes);
      const bytes = records.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
      const { title, ...rest } = outlineOf(events, sizes);
      const { title: expected, ...others } = naive(events, bytes);
      expect(rest).toEqual(others);
      // A long one is cut.
      if (title?.endsWith("…") === true) expect(expected).toStartWith(title.slice(0, -1));
      else expect(title).toBe(expected);
    }),
  );
});

test("a session is as active as its last event, or as itself where that is later", () => {
  const outline = { turns: 0, events: 1, bytes: 1, firstTime: 1, lastTime: 5 };
  expect(lastActive({ createdAt: 3 }, outline)).toBe(5);
  expect(lastActive({ createdAt: 7 }, outline)).toBe(7);
  expect(lastActive(undefined, outline)).toBe(5);
  expect(lastActive({ createdAt: 3 }, undefined)).toBe(3);
  expect(lastActive(undefined, undefined)).toBeUndefined();
});

test("the title is the last one that was given, or else the beginning of the first input", () => {
  const title = (...drafts: Parameters<typeof toEvents>[0]) => outlineOf(toEvents(drafts)).title;
  const turn = [turnStart(1), userMessage("Where is\n\n  the milk?"), turnEnd(1)];
  expect(title()).toBeUndefined();
  expect(title(...turn)).toBe("Where is the milk?");
  expect(title(...turn, titled("Milk"), titled("Bread"), titled(" "), titled(7))).toBe("Bread");
  const injected = { id: "c", role: "user", content: [{ type: "text", text: "A" }], source: { kind: "x" } };
  const context = { type: "user/message", data: injected, surfaceOp: "append" } as const;
  expect(title(turnStart(1), context, userMessage(""), userMessage("B"))).toBe("B");
  expect(title(userMessage("x".repeat(119) + "👨‍👩‍👧".repeat(9)))).toBe(`${"x".repeat(119)}…`);
});
