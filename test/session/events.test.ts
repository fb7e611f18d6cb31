import { describe, expect, test } from "bun:test";
import type { StrictType } from "../../src/session/events.ts";
import { type EventFault, findEventFault, isStrictType } from "../../src/session/events.ts";
import { OPAQUE_TYPES } from "../../src/session/opaque-types.ts";
import { allEventDrafts, toEvents } from "../fixtures/arbitraries.ts";

type Path = readonly (string | number)[];

function get(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, key) => Reflect.get(Object(at), key), value);
}

/** A copy of `value` with the member at `path` set, or left out. */
function edited(value: unknown, path: Path, change: { set: unknown } | "drop"): unknown {
  const copy: unknown = structuredClone(value);
  const key = path.at(-1) ?? "";
  const holder = Object(get(copy, path.slice(0, -1)));
  if (change === "drop") Reflect.deleteProperty(holder, key);
  else Reflect.set(holder, key, change.set);
  return copy;
}

function fieldOf(fault: EventFault | undefined): string | undefined {
  return fault?.kind === "malformed" ? fault.field : fault?.kind;
}

const EVENTS = toEvents(allEventDrafts());

/** What each strict type cannot do without. */
const REQUIRED: Readonly<Record<StrictType, readonly string[]>> = {
  "turn/start": ["turn"],
  "turn/end": ["turn", "reason", "reason.kind"],
  "step/start": ["turn", "step"],
  "step/end": ["turn", "step"],
  "user/message": ["role", "content", "source", "source.kind"],
  "assistant/chunk": ["turn", "step", "chunk", "chunk.type"],
  "assistant/message": [
    "turn",
    "step",
    "message",
    "message.role",
    "message.content",
    "message.source",
    "message.source.kind",
    "message.source.provider",
    "message.source.model",
  ],
  "tool/call": ["turn", "step", "callId", "name", "arguments"],
  "tool/result": [
    "turn",
    "step",
    "message",
    "message.role",
    "message.content",
    "message.source",
    "message.source.kind",
    "message.source.callId",
  ],
  "request/header": ["header", "header.config", "header.config.provider", "header.config.model", "reason"],
  "request/context": ["provider", "model"],
  "session/end-seed": [],
};

const CHUNK_REQUIRED: Readonly<Record<string, readonly string[]>> = {
  "block-start": ["index", "blockType"],
  "text-delta": ["index", "text"],
  "reasoning-delta": ["index", "text"],
  "tool-call-delta": ["index", "id", "argumentsDelta"],
  "block-end": ["index", "block", "block.type"],
  usage: ["usage", "usage.inputTokens", "usage.outputTokens"],
  finish: ["reason", "reason.kind"],
};

describe("each strict type", () => {
  test.each(Object.keys(REQUIRED))(
    "%s is accepted in all its forms, also with unknown extra keys",
    (type) => {
      const samples = EVENTS.filter((event) => event.type === type);
      expect(samples.length).toBeGreaterThan(0);
      for (const event of samples) {
        expect(findEventFault(event)).toBeUndefined();
        expect(findEventFault(edited(event, ["data", "later"], { set: { x: [1] } }))).toBeUndefined();
      }
    },
  );

  test.each(Object.entries(REQUIRED))(
    "%s is refused where a required key is missing or mistyped",
    (type, keys) => {
      for (const event of EVENTS.filter((sample) => sample.type === type)) {
        for (const key of keys) refusesWithout(event, ["data", ...key.split(".")]);
      }
    },
  );

  test.each(Object.entries(CHUNK_REQUIRED))(
    "a %s chunk is refused where a required key is missing or mistyped",
    (kind, keys) => {
      const samples = EVENTS.filter((event) => get(event, ["data", "chunk", "type"]) === kind);
      expect(samples.length).toBeGreaterThan(0);
      for (const event of samples)
        for (const key of keys) refusesWithout(event, ["data", "chunk", ...key.split(".")]);
    },
  );

  test.each([
    ["turn/start", "turn", -1],
    ["turn/start", "turn", 1.5],
    ["turn/start", "turn", 2 ** 53],
    ["turn/end", "reason", { kind: "finished" }],
    ["turn/end", "reason", { kind: "aborted", reason: { kind: "bored" } }],
    ["turn/end", "reason", { kind: "error", error: { message: "no code" } }],
    ["tool/call", "callId", ""],
    ["tool/call", "name", ""],
    ["request/header", "reason", "fallback"],
    ["request/context", "contextWindow", "large"],
    ["user/message", "id", 7],
    ["user/message", "role", "assistant"],
    ["user/message", "content", [{ type: "video" }]],
    ["user/message", "content", [{ type: "text" }]],
    ["user/message", "source", { kind: "" }],
    ["assistant/message", "usage", { inputTokens: "1", outputTokens: 2 }],
    ["assistant/message", "interrupted", "yes"],
    ["assistant/chunk", "chunk", { type: "tool-call-delta", index: 0, id: "", argumentsDelta: "" }],
    ["assistant/chunk", "chunk", { type: "tool-call-delta", index: 0, id: "a", name: 1, argumentsDelta: "" }],
    ["assistant/chunk", "chunk", { type: "finish", reason: { kind: "tired" } }],
    ["assistant/chunk", "chunk", { type: "picture", index: 0 }],
    ["tool/result", "error", { name: "E" }],
  ])("%s with %s = %j is refused", (type, key, value) => {
    const event = EVENTS.find((sample) => sample.type === type);
    const fault = findEventFault(edited(event, ["data", key], { set: value }));
    expect(fieldOf(fault)).toStartWith(`data.${key}`);
  });
});

/** Without the member, or with one of no valid type there, the event is refused at that place or inside it. */
function refusesWithout(event: unknown, path: Path): void {
  for (const change of ["drop", { set: null }, { set: true }] as const) {
    expect(fieldOf(findEventFault(edited(event, path, change)))).toStartWith(path.join("."));
  }
}

describe("a tool result", () => {
  const event = EVENTS.find(({ type }) => type === "tool/result");
  const block = get(event, ["data", "message", "content", 0]);

  test("has exactly one block", () => {
    for (const content of [[], [block, block]]) {
      const fault = findEventFault(edited(event, ["data", "message", "content"], { set: content }));
      expect(fieldOf(fault)).toStartWith("data.message.content");
    }
  });

  test("has a block for the call that its source names", () => {
    const fault = findEventFault(
      edited(event, ["data", "message", "content", 0, "toolCallId"], { set: "other" }),
    );
    expect(fault).toEqual({
      kind: "malformed",
      field: "data.message.content[0].toolCallId",
      expected: "the call id of the source",
      found: '"other"',
    });
  });
});

describe("the envelope", () => {
  const event = EVENTS.find(({ type }) => type === "turn/start");

  test.each([
    ["type", ""],
    ["type", 3],
    ["seq", -1],
    ["seq", 0.5],
    ["seq", "7"],
    ["time", -5],
    ["time", null],
    ["ignorable", "yes"],
  ])("is refused with %s = %j", (key, value) => {
    expect(fieldOf(findEventFault(edited(event, [key], { set: value })))).toBe(key);
  });

  test.each(["type", "seq", "time", "data"])("is refused without %s", (key) => {
    expect(fieldOf(findEventFault(edited(event, [key], "drop")))).toBe(key);
  });

  test.each([[null], [7], ["text"], [[]]])("is refused when it is %j", (value) => {
    expect(findEventFault(value)?.kind).toBe("malformed");
  });

  test("may have unknown extra keys", () => {
    expect(findEventFault(edited(event, ["later"], { set: 1 }))).toBeUndefined();
  });

  test("says what was expected and what was found", () => {
    expect(findEventFault(edited(event, ["data", "turn"], { set: "one" }))).toEqual({
      kind: "malformed",
      field: "data.turn",
      expected: "number",
      found: '"one"',
    });
  });
});

describe("surface operations and sources", () => {
  const message = EVENTS.find(({ type }) => type === "user/message");
  const other = EVENTS.find(({ type }) => type === "step/start");
  const at = (seq: number, sourceEventSeqs: unknown) => ({ ...Object(message), seq, sourceEventSeqs });

  test("a message must have a surfaceOp", () => {
    for (const type of ["user/message", "assistant/message", "tool/result"]) {
      const sample = EVENTS.find((event) => event.type === type);
      expect(fieldOf(findEventFault(edited(sample, ["surfaceOp"], "drop")))).toBe("surfaceOp");
    }
  });

  test.each([
    ["surfaceOp", "append"],
    ["sourceEventSeqs", []],
  ])("nothing but a message may have a %s", (key, value) => {
    expect(fieldOf(findEventFault(edited(other, [key], { set: value })))).toBe(key);
  });

  test.each([
    ["prepend"],
    [null],
    [{ op: "replace", start: 1 }],
    [{ op: "replace", start: 1, end: "2" }],
    [{ op: "replace", start: -1, end: 2 }],
    [{ op: "insert", start: 1, end: 2 }],
    [{ op: "replace", start: 1, end: 2, extra: true }],
  ])("%j is no surfaceOp", (value) => {
    expect(fieldOf(findEventFault(edited(message, ["surfaceOp"], { set: value })))).toStartWith("surfaceOp");
  });

  test("sources are unique and earlier, in any order", () => {
    expect(findEventFault(at(9, []))).toBeUndefined();
    expect(findEventFault(at(9, [8, 0, 3]))).toBeUndefined();
    expect(findEventFault(at(9, [0, 9]))).toMatchObject({ field: "sourceEventSeqs[1]", found: "9" });
    expect(findEventFault(at(9, [10]))).toMatchObject({
      field: "sourceEventSeqs[0]",
      expected: "a seq before 9",
    });
    expect(findEventFault(at(9, [3, 1, 3]))).toMatchObject({
      field: "sourceEventSeqs",
      found: "a repeated seq",
    });
    expect(findEventFault(at(9, [4, 4]))).toMatchObject({ field: "sourceEventSeqs" });
    expect(fieldOf(findEventFault(at(9, [-1])))).toBe("sourceEventSeqs[0]");
    expect(fieldOf(findEventFault(at(9, 3)))).toBe("sourceEventSeqs");
  });
});

describe("other types", () => {
  const event = (type: string, ignorable?: boolean) => ({
    type,
    seq: 0,
    time: 0,
    data: [1],
    ...(ignorable === undefined ? {} : { ignorable }),
  });

  test.each([...OPAQUE_TYPES])("%s of the table is taken with any data", (entry) => {
    expect(findEventFault(event(entry.replace("*", "-any")))).toBeUndefined();
  });

  test("a name in the table covers no longer name", () => {
    expect(findEventFault(event("session/title-x"))).toEqual({ kind: "unknown-type" });
    expect(findEventFault(event("subagent"))).toEqual({ kind: "unknown-type" });
  });

  test("an unknown type is a fault of its own kind, unless it may be ignored", () => {
    expect(findEventFault(event("future/event"))).toEqual({ kind: "unknown-type" });
    expect(findEventFault(event("future/event", false))).toEqual({ kind: "unknown-type" });
    expect(findEventFault(event("future/event", true))).toBeUndefined();
  });

  test.each(["text-chunks", "reasoning-chunks", "tool-call-chunks", "session"])(
    "%s names a storage record and is no event type, ignorable or not",
    (type) => {
      for (const ignorable of [undefined, true]) {
        expect(findEventFault(event(type, ignorable))).toMatchObject({ kind: "malformed", field: "type" });
      }
    },
  );

  test.each(["constructor", "__proto__", "toString"])("%s is no strict type", (type) => {
    expect(isStrictType(type)).toBe(false);
    expect(findEventFault(event(type))).toEqual({ kind: "unknown-type" });
  });
});
