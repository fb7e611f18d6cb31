import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { z } from "zod";
import { eventSchemas } from "../../src/session/event-schemas.ts";
import { isStrictType, type StrictType } from "../../src/session/events.ts";
import type { JsonValue } from "../../src/session/json.ts";
import { compileChecker } from "../../src/session/schema-checker.ts";
import { allEventDrafts, jsonValue } from "../fixtures/arbitraries.ts";

const TYPES = Object.keys(eventSchemas().data).filter(isStrictType);

/** Places inside a value, the whole of it first. */
function placesIn(
  value: unknown,
  path: readonly (string | number)[] = [],
): Array<readonly (string | number)[]> {
  if (typeof value !== "object" || value === null) return [path];
  const keys = Array.isArray(value) ? value.map((_, index) => index) : Object.keys(value);
  return [path, ...keys.flatMap((key) => placesIn(Reflect.get(value, key), [...path, key]))];
}

/** A copy of `value` with something else, or nothing, at one place. */
function changed(
  value: unknown,
  path: readonly (string | number)[],
  change: { to: unknown } | "drop",
): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return change === "drop" ? undefined : change.to;
  const drops = rest.length === 0 && change === "drop";
  if (drops && Array.isArray(value)) return value.filter((_, index) => index !== key);
  const copy: object = Array.isArray(value) ? [...value] : { ...Object(value) };
  if (drops) Reflect.deleteProperty(copy, key);
  else Reflect.set(copy, key, changed(Reflect.get(copy, key), rest, change));
  return copy;
}

const oddValue = fc.oneof(
  jsonValue(),
  fc.constantFrom<JsonValue>(
    0,
    1,
    -1,
    0.5,
    2 ** 53,
    1e308,
    "",
    "append",
    "text",
    "tool",
    "model",
    "stop",
    true,
    null,
    [],
    {},
  ),
);
const change = fc.oneof(
  fc.constant("drop" as const),
  oddValue.map((to) => ({ to })),
);

function samplesOf(type: StrictType): unknown[] {
  return allEventDrafts().flatMap((draft) => (draft.type === type ? [draft.data] : []));
}

describe("a compiled checker says what the schema says", () => {
  test.each(TYPES)("of %s data, whole and with one member changed or dropped", (type) => {
    const schema = eventSchemas().data[type];
    const check = compileChecker(schema);
    const samples = samplesOf(type);
    for (const data of samples) expect(check(data)).toBe(true);
    fc.assert(
      fc.property(fc.constantFrom(...samples), fc.nat(), change, (data, at, what) => {
        const places = placesIn(data);
        const value = changed(data, places[at % places.length] ?? [], what);
        expect(check(value)).toBe(schema.safeParse(value).success);
      }),
      { numRuns: 200 },
    );
  });
});

test("a schema or check that it does not know is refused, never skipped", () => {
  expect(() => compileChecker(z.date())).toThrow(TypeError);
  expect(() => compileChecker(z.string().regex(/a/))).toThrow(TypeError);
  expect(() => compileChecker(z.looseObject({ a: z.map(z.string(), z.string()) }))).toThrow(TypeError);
});
