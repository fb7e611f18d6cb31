import { expect, test } from "bun:test";
import fc from "fast-check";
import { encodeEvent, packBatch } from "../../../src/session/encoding.ts";
import { stringsOf, toOneString } from "../../../src/store/sqlite/delta-text.ts";
import { parseSources, SplitRecord, splitText } from "../../../src/store/sqlite/row-text.ts";

import { oddString, toEvents } from "../../fixtures/arbitraries.ts";
import { callDelta, textDelta } from "../../fixtures/event-drafts.ts";

/* How texts are split into columns, whatever stands in them. */

function whole({ body, sources }: ReturnType<typeof splitText>): string {
  const parsed = sources === null ? {} : parseSources(sources, body, Number.MAX_SAFE_INTEGER);
  if (parsed === undefined) throw new Error(`${sources} does not fit`);
  return new SplitRecord({ seq: 0, count: 1, type: "x", time: 0, text: body }, parsed).text;
}

const number = fc.oneof(
  fc.nat(40).map(String),
  fc.maxSafeNat().map(String),
  fc.constantFrom("007", "-1", "1.5", "1e3", "", " 4", "0", "1,", "9".repeat(20), "]", '"x"', "null"),
);
const list = fc.oneof(
  fc.array(number, { maxLength: 9 }).map((numbers) => numbers.join()),
  fc
    .uniqueArray(fc.nat(30), { minLength: 4, maxLength: 20 })
    .map((seqs) => seqs.toSorted((a, b) => a - b).join()),
);
const op = fc.constantFrom(
  '"append"',
  '{"op":"replace","start":1,"end":2}',
  '{"op":"replace","surfaceOp":"append"}',
  '{"a":{}}',
);
const end = fc.constantFrom("}", ',"ignorable":true}', ',"ignorable":false}', ',"more":1}', "}}");

test("the seqs that a text cites are put back as they stood, however they are written", () => {
  let split = 0;
  fc.assert(
    fc.property(fc.string(), list, op, end, (data, seqs, surfaceOp, rest) => {
      const text = `{"data":${JSON.stringify(data)},"sourceEventSeqs":[${seqs}],"surfaceOp":${surfaceOp}${rest}`;
      const columns = splitText(text);
      if (columns.sources !== null) split += 1;
      expect(whole(columns)).toBe(text);
    }),
    { numRuns: 1_000 },
  );
  expect(split).toBeGreaterThan(50);
});

/** Ends and beginnings of strings that look like what stands between two of them. */
const tricky = fc.constantFrom(
  '"',
  '",',
  ',"',
  '","',
  ",",
  "\\",
  '\\"',
  '\\",',
  "",
  "\ud83e",
  "\udd80",
  "\\ud83e",
);

test("the strings of deltas are put together as JSON writes them together", () => {
  const pieces = fc.array(fc.oneof(tricky, oddString(3)), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(pieces, fc.boolean(), (texts, isCall) => {
      const at = { turn: 1, step: 1 };
      const drafts = texts.map((text) =>
        isCall ? callDelta(at, "c,", text, { name: '"' }) : textDelta(at, text),
      );
      const records = packBatch(toEvents(drafts).map(encodeEvent));
      const written = JSON.stringify(texts.join("")).slice(1, -1);
      expect(toOneString(records.map(stringsOf).join(""))).toBe(written);
    }),
    { numRuns: 2_000 },
  );
});
