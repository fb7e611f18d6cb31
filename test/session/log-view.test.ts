import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { LogView } from "../../src/session/log-view.ts";
import { allEventDrafts, arbitraryEvents, batchSizes, toEvents } from "../fixtures/arbitraries.ts";
import { textDelta } from "../fixtures/event-drafts.ts";
import { recordsOf, viewOf } from "../fixtures/logs.ts";

const AT = { turn: 1, step: 1 };
/** In batches of 4, 4 and 2 they lie as two runs and two single records. */
const TEN = toEvents(Array.from({ length: 10 }, (_, k) => textDelta(AT, `t${k}`)));

function isFrozenThroughout(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isFrozenThroughout);
}

describe("a view agrees with a plain list of events", () => {
  test("at, length, iteration, slice, texts and records, for any session and batches", () => {
    const bound = fc.integer({ min: -3, max: 60 });
    fc.assert(
      fc.property(arbitraryEvents(), batchSizes(), bound, bound, (events, sizes, from, to) => {
        const view = viewOf(events, sizes);
        expect(view.length).toBe(events.length);
        expect([...view]).toEqual([...events]);
        for (const event of events) expect(view.at(event.seq)).toEqual(event);
        const part = events.filter(({ seq }) => seq >= from && seq < to);
        expect(view.slice(from, to)).toEqual(part);
        expect([...view.texts(from, to)]).toEqual(part.map((event) => JSON.stringify(event)));
        const covered = new Set<number>();
        for (const { seq, count } of view.records(from, to))
          for (let k = 0; k < count; k += 1) covered.add(seq + k);
        expect(part.every(({ seq }) => covered.has(seq))).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  test("records gives just those that hold events of the range", () => {
    const view = viewOf(TEN, [4, 4, 2]);
    const seqs = (from?: number, to?: number) => [...view.records(from, to)].map(({ seq }) => seq);
    expect(seqs()).toEqual([0, 4, 8, 9]);
    expect(seqs(3, 5)).toEqual([0, 4]);
    expect(seqs(4, 8)).toEqual([4]);
    expect(seqs(9)).toEqual([9]);
    expect(seqs(10)).toEqual([]);
    expect(seqs(0, 0)).toEqual([]);
    expect(seqs(5, 5)).toEqual([]);
    expect(seqs(6, 2)).toEqual([]);
  });
});

describe("a view", () => {
  test("holds no event outside its range", () => {
    const view = viewOf(TEN);
    for (const seq of [-1, 10, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => view.at(seq)).toThrow(RangeError);
    }
    expect(() => new LogView([]).at(0)).toThrow(RangeError);
  });

  test("of nothing is empty", () => {
    const view = new LogView([]);
    expect([view.length, view.recordCount, [...view], view.slice(), [...view.texts()]]).toEqual([
      0,
      0,
      [],
      [],
      [],
    ]);
  });

  test("gives events that are frozen at all levels", () => {
    expect([...viewOf(toEvents(allEventDrafts()))].every(isFrozenThroughout)).toBe(true);
  });

  test("does not change when the list of records grows behind it", () => {
    const records = recordsOf(TEN, [4, 4, 2]);
    const growing = records.slice(0, 2);
    const view = new LogView(growing);
    growing.push(...records.slice(2));
    expect(view.length).toBe(8);
    expect(view.slice()).toEqual(TEN.slice(0, 8));
    expect(() => view.at(8)).toThrow(RangeError);
  });
});
