import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { encodeEvent, packBatch } from "../../src/session/encoding.ts";
import { RunMerger } from "../../src/session/merge-runs.ts";
import { type DecodedRecord, decodeRecord, recordTexts } from "../../src/session/records.ts";
import { arbitraryEvents, batchSizes, inBatches } from "../fixtures/arbitraries.ts";

/** Texts of records as they are merged. */
function merge(texts: readonly string[]): string[] {
  const merger = new RunMerger();
  const records = texts.flatMap((text) => merger.take(decodeRecord(text, {})));
  return [...records, ...merger.end()].map(({ text }) => text);
}

function eventsOf(texts: readonly string[]): string[] {
  return decoded(texts).flatMap(({ record }) => recordTexts(record));
}

function decoded(texts: readonly string[]): DecodedRecord[] {
  return texts.map((text) => decodeRecord(text, {}));
}

interface RunPlan {
  readonly seq0: number;
  readonly time0?: number;
  readonly texts: readonly string[];
  readonly index?: number;
}

function run({ seq0, time0 = 100, texts, index = 0 }: RunPlan): string {
  const dt = Array<number>(texts.length - 1).fill(2);
  return JSON.stringify({ type: "text-chunks", seq0, time0, data: { turn: 1, step: 1, index, dt, texts } });
}

function delta(seq: number, text: string, more: object = {}): string {
  const chunk = { type: "text-delta", index: 0, text, ...more };
  return JSON.stringify({
    type: "assistant/chunk",
    seq,
    time: 100 + seq,
    data: { turn: 1, step: 1, chunk },
  });
}

const many = (count: number) => Array.from({ length: count }, (_, k) => `${k}`);

describe("merged runs", () => {
  test("hold the same events to the byte, whatever was in which batch, and are merged once for all", () => {
    fc.assert(
      fc.property(arbitraryEvents(), batchSizes(), (events, sizes) => {
        const batches = inBatches(events, sizes);
        const texts = batches.flatMap((batch) => packBatch(batch.map(encodeEvent)).map(({ text }) => text));
        const merged = merge(texts);
        expect(eventsOf(merged)).toEqual(eventsOf(texts));
        expect(merge(merged)).toEqual(merged);
        // What is no delta comes out as it went in.
        const others = (list: readonly string[]) => list.filter((text) => !text.includes("chunk"));
        expect(others(merged)).toEqual(others(texts));
      }),
      { numRuns: 60 },
    );
  });

  test("come of runs and single deltas that follow each other, with the gap between them", () => {
    const merged = merge([delta(0, "a"), run({ seq0: 1, time0: 90, texts: ["b", "c"] }), delta(3, "d")]);
    expect(merged.map((text): unknown => JSON.parse(text))).toEqual([
      {
        type: "text-chunks",
        seq0: 0,
        time0: 100,
        data: { turn: 1, step: 1, index: 0, dt: [-10, 2, 11], texts: ["a", "b", "c", "d"] },
      },
    ]);
  });

  test("have at most 512 members and 64 Ki characters of text, and are whole records put together", () => {
    const counts = (texts: readonly string[]) => decoded(texts).map(({ record }) => record.count);
    const runs = (...sizes: readonly number[]) => {
      let seq0 = 0;
      return sizes.map((size) => {
        const text = run({ seq0, texts: many(size) });
        seq0 += size;
        return text;
      });
    };
    expect(counts(merge(runs(300, 212, 1, 511, 600, 3)))).toEqual([512, 512, 600, 3]);
    expect(counts(merge(runs(300, 213, 2)))).toEqual([300, 215]);
    const long = "x".repeat(40_000);
    expect(counts(merge([delta(0, long), delta(1, long), delta(2, "a"), delta(3, "b")]))).toEqual([1, 3]);
  });

  test("stay apart where two deltas are all, the seq has a gap, or the block is another one", () => {
    for (const texts of [
      [delta(0, "a"), delta(1, "b")],
      [run({ seq0: 0, texts: many(3) }), run({ seq0: 4, texts: many(3) })],
      [run({ seq0: 0, texts: many(3) }), run({ seq0: 3, texts: many(3), index: 1 })],
    ])
      expect(merge(texts)).toEqual(texts);
  });

  test.each([
    ["a key more", delta(1, "b", { more: 1 })],
    ["a space", delta(1, "b").replace(":", ": ")],
    ["an escape that nobody needs", delta(1, "b").replace('"b"', '"\\u0062"')],
    ["half a character in capitals", delta(1, "b").replace('"b"', '"\\uD83D"')],
    ["another order of keys", delta(1, "b").replace('"index":0,"text":"b"', '"text":"b","index":0')],
    ["a run in another form", run({ seq0: 1, texts: ["b"] }).replace("[]", "[ ]")],
  ])("leave a text alone that has %s", (_, odd) => {
    const texts = [run({ seq0: 0, texts: ["a"] }), odd, delta(2, "c"), delta(3, "d"), delta(4, "e")];
    expect(merge(texts).slice(0, 2)).toEqual(texts.slice(0, 2));
    expect(merge(texts)).toHaveLength(3);
  });

  test("keep halves of characters apart, where a pair was cut in two", () => {
    const texts = ["\ud83d", "\ude00", "!"].map((text, seq) => delta(seq, text));
    const merged = merge(texts);
    expect(merged).toHaveLength(1);
    expect(eventsOf(merged)).toEqual(texts);
  });
});
