import type { SessionEvent } from "./events.ts";
import { recordEvents, recordTexts, type SessionRecord } from "./records.ts";

/**
 * Reading side of a log: the events `0 … length-1`, kept as records and parsed when somebody asks.
 *
 * A view shares the record list of the log it came from; that list only grows, so a view never changes and costs O(1).
 */
export class LogView implements Iterable<SessionEvent> {
  readonly #records: readonly SessionRecord[];
  readonly #recordCount: number;

  constructor(records: readonly SessionRecord[], recordCount = records.length) {
    this.#records = records;
    this.#recordCount = recordCount;
  }

  /** Number of records. */
  get recordCount(): number {
    return this.#recordCount;
  }

  /** Number of logical events; also the seq that comes next. */
  get length(): number {
    const last = this.#records[this.recordCount - 1];
    return last === undefined ? 0 : last.seq + last.count;
  }

  /** The record that holds this seq; nothing outside `0 … length-1`. */
  recordAt(seq: number): SessionRecord | undefined {
    const index = this.#find(seq);
    // The list may have grown behind this view.
    return index < this.recordCount ? this.#records[index] : undefined;
  }

  /** The event with this seq, frozen. @throws RangeError outside `0 … length-1`. */
  at(seq: number): SessionEvent {
    const record = this.recordAt(seq);
    const event = record === undefined ? undefined : recordEvents(record)[seq - record.seq];
    if (event === undefined) throw new RangeError(`no event ${seq} in a log of ${this.length}`);
    return event;
  }

  /** Events `from` (inclusive) to `to` (exclusive), cut to the log. */
  slice(from = 0, to = this.length): SessionEvent[] {
    const events: SessionEvent[] = [];
    for (const record of this.records(from, to)) {
      for (const event of recordEvents(record)) if (event.seq >= from && event.seq < to) events.push(event);
    }
    return events;
  }

  /** JSON texts of the events `from` to `to`, as stored. */
  *texts(from = 0, to = this.length): Generator<string> {
    for (const record of this.records(from, to)) {
      const texts = recordTexts(record);
      for (let k = Math.max(0, from - record.seq); k < Math.min(texts.length, to - record.seq); k += 1) {
        yield texts[k] ?? "";
      }
    }
  }

  /** The records that hold events from `from` to `to`; the first and the last may hold others as well. */
  *records(from = 0, to = this.length): Generator<SessionRecord> {
    const end = to > from ? this.recordCount : 0;
    for (let index = from <= 0 ? 0 : this.#find(from); index < end; index += 1) {
      const record = this.#records[index];
      if (record === undefined || record.seq >= to) return;
      yield record;
    }
  }

  *[Symbol.iterator](): Generator<SessionEvent> {
    for (const record of this.records()) yield* recordEvents(record);
  }

  /** Index of the record that holds `seq`; `recordCount` when there is none. */
  #find(seq: number): number {
    if (!Number.isSafeInteger(seq) || seq < 0 || seq >= this.length) return this.recordCount;
    let low = 0;
    let high = this.recordCount - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#records[middle]?.seq ?? 0) <= seq) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
