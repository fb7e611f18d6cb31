import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { withMembers } from "../../../src/session/salvage/text.ts";
import { jsonObject, jsonValue } from "../../fixtures/arbitraries.ts";

const KEYS = ["seq", "sourceEventSeqs", "surfaceOp"];

describe("members with other values", () => {
  test("leave all else of a text as it is, byte for byte", () => {
    const text =
      ' {"type":"x\\u002f\\"seq\\":1","s\\u0065q" : 1e1 ,"data":{"seq":[1,"}"]},\t"sourceEventSeqs":[ 3,4 ],"x":1.50}';
    expect(withMembers(text, { seq: "7", sourceEventSeqs: "[]", surfaceOp: '"append"' })).toBe(
      ' {"type":"x\\u002f\\"seq\\":1","s\\u0065q" : 7 ,"data":{"seq":[1,"}"]},\t"sourceEventSeqs":[],"x":1.50}',
    );
  });

  test.each([
    ['{"seq":1,"a":2}', '{"a":2}'],
    ['{"a":2,"seq":1}', '{"a":2}'],
    ['{"a":2 , "seq":1 , "b":3}', '{"a":2 , "b":3}'],
    ['{"seq":1}', "{}"],
    ['{"seq":1,"seq":{"seq":2}}', "{}"],
    ["{}", "{}"],
  ])("can be taken away: %s", (text, expected) => {
    expect(withMembers(text, { seq: undefined })).toBe(expected);
  });

  test("are what a reader then finds, whatever the object holds", () => {
    const changes = fc.dictionary(fc.constantFrom(...KEYS), fc.option(jsonValue(), { nil: undefined }), {
      noNullPrototype: true,
    });
    const members = fc.dictionary(fc.constantFrom(...KEYS), jsonValue(), { noNullPrototype: true });
    fc.assert(
      fc.property(jsonObject(), members, changes, fc.constantFrom(0, 1, 2), (object, own, others, space) => {
        const before: Record<string, unknown> = JSON.parse(JSON.stringify({ ...object, ...own }));
        const texts = Object.fromEntries(
          Object.entries(others).map(([key, value]) => [
            key,
            value === undefined ? value : JSON.stringify(value),
          ]),
        );
        const after: unknown = JSON.parse(withMembers(JSON.stringify(before, null, space), texts));
        for (const [key, value] of Object.entries(others)) {
          if (value === undefined) delete before[key];
          else if (Object.hasOwn(before, key)) before[key] = JSON.parse(JSON.stringify(value));
        }
        expect(JSON.stringify(after)).toBe(JSON.stringify(before));
      }),
    );
  });
});
