import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { encodeDraft } from "../../src/session/encoding.ts";
import { NotSerialisableError } from "../../src/session/errors.ts";
import {
  findJsonFault,
  formatPath,
  freezeJson,
  MAX_JSON_DEPTH,
  snapshotJson,
} from "../../src/session/json.ts";
import { decodeRecord } from "../../src/session/records.ts";
import { jsonObject, jsonValue } from "../fixtures/arbitraries.ts";

function refusal(value: unknown): NotSerialisableError {
  try {
    snapshotJson(value, { eventType: "x/y" });
  } catch (error) {
    if (error instanceof NotSerialisableError) return error;
    throw error;
  }
  throw new Error("the value was taken");
}

function nest(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = wrap(value);
  return value;
}

function isFrozenThroughout(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isFrozenThroughout);
}

const sparse: unknown[] = [];
sparse[2] = 1;
const swapped: unknown[] = [1];
Object.setPrototypeOf(swapped, null);

const REFUSED: ReadonlyArray<readonly [kind: string, value: unknown, problem: string]> = [
  ["NaN", Number.NaN, "NaN"],
  ["Infinity", Number.POSITIVE_INFINITY, "Infinity"],
  ["-Infinity", Number.NEGATIVE_INFINITY, "-Infinity"],
  ["-0", -0, "-0"],
  ["undefined", undefined, "undefined"],
  ["a function", () => 1, "a function"],
  ["a symbol", Symbol("s"), "a symbol"],
  ["a BigInt", 1n, "a BigInt"],
  ["a Map", new Map(), "a Map"],
  ["a Set", new Set(), "a Set"],
  ["a Date", new Date(0), "a Date"],
  ["a typed array", new Uint8Array(2), "a Uint8Array"],
  ["a boxed string", Object("text"), "a String"],
  ["an instance of a class", new (class Point {})(), "a Point"],
  ["an object with a prototype of its own", Object.create({ inherited: 1 }), "a Object"],
  ["a subclass of Array", new (class List extends Array {})(), "a List"],
  ["an array without a prototype", swapped, "an object with an exotic prototype"],
  ["a sparse array", sparse, "a sparse array"],
  ["an array with extra properties", Object.assign([1], { extra: 1 }), "an array with extra properties"],
  ["a symbol key", { [Symbol("s")]: 1 }, "a symbol key"],
];

describe("values that JSON cannot keep are refused", () => {
  test.each(REFUSED)("%s, with the event type and the path", (_kind, value, problem) => {
    for (const [holder, field] of [
      [{ list: [0, { "odd key": value }] }, 'data.list[1]["odd key"]'],
      [[value], "data[0]"],
      [value, "data"],
    ] as const) {
      const error = refusal(holder);
      expect(error.message).toBe(`The event holds ${problem}, which JSON cannot keep`);
      expect(error.place).toEqual({ eventType: "x/y", field });
      expect(error.code).toBe("not-serialisable");
    }
  });

  test("a cycle is named where it closes", () => {
    const node: Record<string, unknown> = { name: "a" };
    node["child"] = { list: [{ back: node }] };
    const error = refusal(node);
    expect(error.message).toContain("a cycle");
    expect(error.place.field).toBe("data.child.list[0].back");
  });

  test("a cycle of an array through itself is named", () => {
    const list: unknown[] = [];
    list.push(list);
    expect(refusal(list).place.field).toBe("data[0]");
  });

  test("an object that stands twice in a value is no cycle", () => {
    const shared = { a: 1 };
    expect(snapshotJson([shared, shared, { shared }], {})).toEqual([
      { a: 1 },
      { a: 1 },
      { shared: { a: 1 } },
    ]);
  });

  test("a draft is refused with its type, seq and the path inside the event", () => {
    const draft = { type: "session/title" as const, data: { title: 1n } };
    expect(() => encodeDraft(draft, 4, 0)).toThrow(
      expect.objectContaining({ place: { eventType: "session/title", seq: 4, field: "event.data.title" } }),
    );
  });
});

describe("nesting", () => {
  const LEVELS = 100_000;

  test.each([
    ["arrays", (inner: unknown) => [inner]],
    ["objects", (inner: unknown) => ({ a: inner })],
  ])("100,000 levels of %s in a value are refused without a stack overflow", (_name, wrap) => {
    const error = refusal(nest(LEVELS, wrap));
    expect(error.message).toContain(`nesting deeper than ${MAX_JSON_DEPTH} levels`);
    expect(error.place.field?.length).toBeLessThan(200);
  });

  test.each([
    ["arrays", "[", "]"],
    ["objects", '{"a":', "}"],
  ])("100,000 levels of %s in a stored text are refused without a stack overflow", (_name, open, close) => {
    const deep = open.repeat(LEVELS) + (open === "[" ? "" : "1") + close.repeat(LEVELS);
    const text = `{"type":"session/title","seq":3,"time":1,"data":${deep}}`;
    expect(() => decodeRecord(text, { row: 9 })).toThrow(
      expect.objectContaining({
        code: "corrupt",
        found: `nesting deeper than ${MAX_JSON_DEPTH} levels`,
        place: expect.objectContaining({ row: 9, seq: 3, eventType: "session/title" }),
      }),
    );
  });

  test.each(["text-chunks", "user/message", "assistant/chunk"])(
    "100,000 levels in a %s record are refused",
    (type) => {
      const deep = "[".repeat(LEVELS) + "]".repeat(LEVELS);
      const key = type === "text-chunks" ? "0" : "";
      const text = `{"type":"${type}","seq${key}":0,"time${key}":1,"data":${deep}}`;
      expect(() => decodeRecord(text, {})).toThrow(expect.objectContaining({ code: "corrupt" }));
    },
  );

  test("the deepest event that may be written may also be read", () => {
    const draft = { type: "session/title" as const, data: nest(MAX_JSON_DEPTH - 1, (inner) => [inner]) };
    const encoded = encodeDraft(draft, 0, 1);
    expect(decodeRecord(encoded.text(), {}).event).toEqual(encoded.event);
    const deeper = { type: "session/title" as const, data: [draft.data] };
    expect(() => encodeDraft(deeper, 0, 1)).toThrow(NotSerialisableError);
  });
});

describe("a snapshot", () => {
  test("is equal to the value, has the same JSON text, and is frozen at all levels", () => {
    fc.assert(
      fc.property(jsonValue(), (value) => {
        const copy = snapshotJson(value, {});
        expect(copy).toEqual(value);
        expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
        expect(isFrozenThroughout(copy)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("does not follow later changes of the value", () => {
    const value = { list: [1], text: "a" };
    const copy = snapshotJson(value, {});
    value.list.push(2);
    value.text = "b";
    expect(copy).toEqual({ list: [1], text: "a" });
  });

  test("keeps a __proto__ key as a key", () => {
    const value: unknown = JSON.parse('{"__proto__":{"polluted":1},"a":{"__proto__":null}}');
    const copy = snapshotJson(value, {});
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"polluted":1},"a":{"__proto__":null}}');
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect("polluted" in Object(copy)).toBe(false);
  });

  test("keeps lone surrogates and objects without a prototype", () => {
    const bare: unknown = Object.assign(Object.create(null), { "\udfff": "\ud800" });
    expect(snapshotJson(bare, {})).toEqual({ "\udfff": "\ud800" });
  });

  test("reads each accessor once, so that what was checked is what is kept", () => {
    let reads = 0;
    const shifty = {
      get value() {
        reads += 1;
        return reads === 1 ? "checked" : 1n;
      },
    };
    expect(snapshotJson([shifty], {})).toEqual([{ value: "checked" }]);
    expect(reads).toBe(1);
  });

  test("reads each accessor once even when the value is refused for its depth", () => {
    let reads = 0;
    const shifty = {
      get value() {
        reads += 1;
        if (reads > 1) throw new Error("read twice");
        return nest(MAX_JSON_DEPTH, (inner) => [inner]);
      },
    };
    expect(refusal(shifty).message).toContain("nesting");
    expect(reads).toBe(1);
  });
});

describe("parsed JSON", () => {
  test.each([
    ["1e999", "", "1e999"],
    ["-1e999 in a list", "[1]", "[0,-1e999]"],
    ["1e999 under an odd key", '["a b"].c[0]', '{"a b":{"c":[1e999]}}'],
  ])("%s is a fault with its path", (_name, path, text) => {
    expect(findJsonFault(JSON.parse(text))).toEqual({ path, problem: expect.stringContaining("Infinity") });
  });

  test("without such a number and not too deep has no fault", () => {
    fc.assert(
      fc.property(jsonValue(), (value) => findJsonFault(JSON.parse(JSON.stringify(value))) === undefined),
    );
  });

  test("is frozen at all levels in place", () => {
    fc.assert(
      fc.property(jsonObject(), (value) => {
        const parsed: unknown = JSON.parse(JSON.stringify(value));
        expect(freezeJson(parsed)).toBe(parsed);
        expect(isFrozenThroughout(parsed)).toBe(true);
      }),
    );
  });
});

test("a path quotes the keys that are no identifiers", () => {
  expect(formatPath(["data", "items", 3, "a b", "$x_1", "1", ""])).toBe('data.items[3]["a b"].$x_1["1"][""]');
  expect(formatPath([])).toBe("");
});
