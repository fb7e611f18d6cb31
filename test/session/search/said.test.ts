import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { CorruptError } from "../../../src/session/errors.ts";
import { LogView } from "../../../src/session/log-view.ts";
import { SessionProjections } from "../../../src/session/projections/index.ts";
import { type DecodedRecord, decodeRecord, type SessionRecord } from "../../../src/session/records.ts";
import { isBorder, type Said, SaidFinder } from "../../../src/session/search/said.ts";
import { skimRecord } from "../../../src/session/search/skim.ts";
import { arbitraryEvents, batchSizes } from "../../fixtures/arbitraries.ts";
import { recordsOf } from "../../fixtures/logs.ts";

function decoded(records: readonly SessionRecord[]): DecodedRecord[] {
  return records.map(({ text }) => decodeRecord(text, {}));
}

/** What a transcript shows, text by text. */
function shown(records: readonly SessionRecord[]): Said[] {
  const view = new LogView(records);
  const entries = [...new SessionProjections().catchUp(view).transcript(view)];
  const texts = entries.flatMap((entry): Said[] => {
    const { seq, turn } = entry;
    if (entry.kind === "user") return [{ seq, turn, who: "user", text: entry.text }];
    if (entry.kind === "tool")
      return [{ seq, turn, who: "tool", text: entry.text, tool: entry.name, part: "result" }];
    if (entry.kind !== "assistant") return [];
    return [
      { seq, turn, who: "reasoning", text: entry.reasoning ?? "" },
      { seq, turn, who: "assistant", text: entry.text },
      ...entry.toolCalls.map(
        (call): Said => ({
          seq,
          turn,
          who: "tool",
          text: call.arguments,
          tool: call.name,
          part: "arguments",
        }),
      ),
    ];
  });
  return texts.filter(({ text }) => text !== "");
}

describe("a record that is skimmed", () => {
  test("has its place, and says what it says when it is read whole", () => {
    fc.assert(
      fc.property(arbitraryEvents(), batchSizes(), (events, sizes) => {
        const records = recordsOf(events, sizes);
        const skimmed = records.map(({ text }) => skimRecord(text, {}));
        expect(skimmed.map(({ record }) => record)).toEqual(records);
        const [finder, other] = [new SaidFinder(), new SaidFinder()];
        expect(skimmed.flatMap((record) => [...finder.fold(record)])).toEqual(
          decoded(records).flatMap((record) => [...other.fold(record)]),
        );
      }),
    );
  });

  test.each([
    ["spaces", '{"type": "step/end", "seq": 7, "time": 1, "data": {"turn": 1, "step": 1}}'],
    ["another order", '{"seq":7,"type":"step/end","time":1,"data":{"turn":1,"step":1}}'],
    [
      "one delta",
      '{"type":"text-chunks","seq0":7,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[],"texts":["x"]}}',
    ],
  ])("may have %s", (_, text) => {
    expect(skimRecord(text, {}).record).toEqual(decodeRecord(text, {}).record);
  });

  test.each([
    "{",
    '{"type":"step/end","seq":-1,"time":1,"data":{}}',
    '{"type":"user/message","seq":1,"time":1,"data":{}}',
  ])("is refused where it is none: %s", (text) => {
    expect(() => skimRecord(text, {})).toThrow(CorruptError);
  });
});

describe("what was said", () => {
  test("is what a transcript shows", () => {
    fc.assert(
      fc.property(arbitraryEvents(), (events) => {
        const records = recordsOf(events);
        const finder = new SaidFinder();
        expect(decoded(records).flatMap((record) => [...finder.fold(record)])).toEqual(shown(records));
      }),
    );
  });

  test("is the same wherever a log is taken up at a border, or outside of Turns", () => {
    fc.assert(
      fc.property(arbitraryEvents(), fc.array(fc.boolean(), { minLength: 1 }), (events, cuts) => {
        const records = decoded(recordsOf(events));
        const whole = new SaidFinder();
        const all = records.flatMap((record) => [...whole.fold(record)]);
        let finder = new SaidFinder();
        const parts: Said[] = [];
        for (const [k, record] of records.entries()) {
          if (cuts[k % cuts.length] === true && (isBorder(record.record) || finder.isOutside)) {
            parts.push(...finder.finish(record.record.seq));
            finder = new SaidFinder();
          }
          parts.push(...finder.fold(record));
        }
        expect(parts).toEqual(all);
      }),
    );
  });
});
