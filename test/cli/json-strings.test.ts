import { expect, test } from "bun:test";
import fc from "fast-check";
import { mapStrings } from "../../src/cli/sessions/exchange/redact/json-strings.ts";
import type { JsonValue } from "../../src/session/json.ts";
import { jsonValue } from "../fixtures/arbitraries.ts";

/** The same value with a mark behind each string, and another one behind each name. */
function marked(value: JsonValue): JsonValue {
  if (typeof value === "string") return `${value}!`;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(marked);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [`${name}?`, marked(member)]));
}

test("every string of a JSON text is replaced, and nothing else of it changes", () => {
  fc.assert(
    fc.property(jsonValue(), fc.constantFrom(undefined, 2, "\t"), (value, space) => {
      const text = JSON.stringify(value, undefined, space);
      expect(mapStrings(text, (string) => string)).toBe(text);
      const mapped = mapStrings(text, (string, { isName }) => string + (isName ? "?" : "!"));
      expect(mapped).toBe(JSON.stringify(marked(value), undefined, space));
    }),
    { numRuns: 200 },
  );
});

test("a string is told the names around it; digits, spaces and repeated members stay", () => {
  const text = ' {"a":[1e400,{"b\\u0022":["x"]},"y"],"a":12345678901234567890 , "c" : {"d":"z"}} ';
  const seen: unknown[] = [];
  const mapped = mapStrings(text, (value, { names, isName }) => {
    seen.push([value, names.join("/"), isName]);
    return value === "y" ? "\ud800" : value;
  });
  expect(mapped).toBe(text.replace('"y"', '"\\ud800"'));
  expect(seen).toEqual([
    ["a", "", true],
    ['b"', "a/", true],
    ["x", 'a/b"', false],
    ["y", "a", false],
    ["a", "", true],
    ["c", "", true],
    ["d", "c/", true],
    ["z", "c/d", false],
  ]);
});
