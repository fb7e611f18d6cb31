import type { Place } from "../errors.ts";
import type { SessionRecord } from "../records.ts";
import { counted, type LogFault } from "./fault.ts";

/** A stretch of records that begins where the log was before. */
interface Branch {
  readonly place: Place;
  readonly expected: number;
  readonly from: number;
  records: number;
  events: number;
}

/** Seqs from `from` to `to` (exclusive). */
interface Range {
  readonly from: number;
  readonly to: number;
}

/**
 * The order of the seqs: each record begins where the one before it ends. Where it does not, events are missing, or
 * stand where the log was before: the same ones again, another branch, or ones that come too late.
 */
export class SeqOrder {
  /** Seq after the last record. */
  #cursor: number;
  /** Seq after the highest event so far. */
  #high: number;
  /** What is not there below `#high`, in ascending order. */
  #missing: Range[] = [];
  #branch: Branch | undefined;
  #isBroken = false;

  /** @param next seq that comes next, where nothing is missing before it */
  constructor(next = 0) {
    this.#cursor = next;
    this.#high = next;
  }

  /** Seq after the last record. */
  get next(): number {
    return this.#cursor;
  }

  /** Whether some record did not begin where the one before it ended. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /**
   * Takes the record that comes next in storage.
   * @returns how it stands to the one before it: behind a `gap`, going `back`, or nothing where it follows
   */
  take(
    record: SessionRecord,
    placeOf: () => Place,
    report: (fault: LogFault) => void,
  ): "gap" | "back" | undefined {
    const { seq, count } = record;
    const cursor = this.#cursor;
    this.#cursor = seq + count;
    if (seq === cursor) {
      this.#pass(record);
      return undefined;
    }
    this.#isBroken = true;
    this.finish(report);
    if (seq < this.#high) {
      this.#branch = { place: placeOf(), expected: cursor, from: seq, records: 0, events: 0 };
    } else if (seq > this.#high) {
      const events = seq - this.#high;
      report({
        code: "events-missing",
        message: counted(events, "event") + (events === 1 ? " is missing" : " are missing"),
        place: { ...placeOf(), seq: this.#high },
        expected: `seq ${this.#high}`,
        found: `seq ${seq}`,
      });
      this.#missing.push({ from: this.#high, to: seq });
    }
    this.#pass(record);
    return seq < cursor ? "back" : "gap";
  }

  /** To be called after the last record. */
  finish(report: (fault: LogFault) => void): void {
    const branch = this.#branch;
    if (branch === undefined) return;
    this.#branch = undefined;
    const { place, expected, from, records, events } = branch;
    const extent = `${counted(events, "event")} in ${counted(records, "record")} from there on`;
    report({
      code: "events-repeated",
      message: "The log goes back to where it was before",
      place: { ...place, seq: from },
      expected: `seq ${expected}`,
      found: `seq ${from}, and ${extent}`,
    });
  }

  /** The first of these seqs that is missing. */
  findMissing(seqs: readonly number[]): number | undefined {
    return this.#missing.length === 0 ? undefined : seqs.find((seq) => this.#isMissing(seq));
  }

  #isMissing(seq: number): boolean {
    let low = 0;
    let high = this.#missing.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#missing[middle]?.to ?? 0) <= seq) low = middle + 1;
      else high = middle;
    }
    const range = this.#missing[low];
    return range !== undefined && range.from <= seq;
  }

  #pass({ seq, count }: SessionRecord): void {
    const end = seq + count;
    if (this.#branch !== undefined) {
      this.#branch.records += 1;
      this.#branch.events += count;
      if (this.#missing.length > 0) this.#fill(seq, end);
    }
    if (end > this.#high) this.#high = end;
  }

  /** What comes late is not missing any more. */
  #fill(from: number, to: number): void {
    this.#missing = this.#missing.flatMap((range) => {
      if (to <= range.from || range.to <= from) return [range];
      const before = { from: range.from, to: from };
      const after = { from: to, to: range.to };
      return [before, after].filter((rest) => rest.from < rest.to);
    });
  }
}
