import type { SessionRecord } from "../../session/records.ts";
import { isBorder, type Said } from "../../session/search/said.ts";
import type { TermSet } from "./terms.ts";

/** Events of a session that are indexed together. */
export interface IndexedRange {
  /** Seq of its first event, and of the one after its last. */
  readonly first: number;
  readonly next: number;
  /** See {@link TermSet.take}. */
  readonly terms: string;
  /** UTF-16 units of its texts. */
  readonly length: number;
}

/** When texts are indexed, in UTF-16 units of them. */
export interface IndexLimits {
  /** A range ends at the first border after so much text. */
  readonly range: number;
  /** With less text the end of a session that grows is not indexed, lest it become many small ranges. */
  readonly leastRange: number;
  /** A session without a border in so much text is indexed no further: it would all be held in memory. */
  readonly mostOpen: number;
  /** With less text that is not indexed it is read each time, and nothing is written. */
  readonly least: number;
  /** So much is written together. */
  readonly due: number;
}

export const INDEX_LIMITS: IndexLimits = {
  range: 256 * 1024,
  leastRange: 32 * 1024,
  mostOpen: 16 * 1024 * 1024,
  least: 4 * 1024 * 1024,
  due: 2 * 1024 * 1024,
};

/** Makes ranges of a session that is read in order. Each begins where it can be read without what precedes it. */
export class RangeBuilder {
  readonly #terms: TermSet;
  readonly #limits: IndexLimits;
  readonly #isNew: boolean;
  #first: number;
  /** The last border, up to which all is in the terms, and how much that is. */
  #border: number;
  #settled = 0;
  #unsettled: string[] = [];
  #unsettledLength = 0;
  #isGivenUp = false;

  /**
   * @param from seq that comes first, 0 or where a range ends
   * @param terms an empty set, which is empty again afterwards
   */
  constructor(from: number, terms: TermSet, limits: IndexLimits) {
    this.#limits = limits;
    this.#isNew = from === 0;
    this.#first = from;
    this.#border = from;
    this.#terms = terms;
  }

  /** Takes the next record and what was said in it. Gives back a range that it completes. */
  take(record: SessionRecord, said: readonly Said[], isOutside: boolean): IndexedRange | undefined {
    if (this.#isGivenUp) return undefined;
    for (const { text } of said) {
      this.#unsettled.push(text);
      this.#unsettledLength += text.length;
    }
    if (isBorder(record)) this.#settle(record.seq);
    else if (isOutside) this.#settle(record.seq + record.count);
    else if (this.#unsettledLength > this.#limits.mostOpen) {
      this.#isGivenUp = true;
      this.#unsettled = [];
    }
    return this.#settled >= this.#limits.range ? this.#cut() : undefined;
  }

  /** The rest, as far as it can be indexed; nothing where it is not worth it. Nothing may be taken afterwards. */
  finish(): IndexedRange | undefined {
    const isWorthIt = this.#isNew || this.#settled >= this.#limits.leastRange;
    if (this.#border > this.#first && isWorthIt) return this.#cut();
    this.#terms.take();
    return undefined;
  }

  #settle(border: number): void {
    for (const text of this.#unsettled) this.#terms.add(text);
    this.#settled += this.#unsettledLength;
    this.#border = border;
    this.#unsettled = [];
    this.#unsettledLength = 0;
  }

  #cut(): IndexedRange {
    const range = {
      first: this.#first,
      next: this.#border,
      terms: this.#terms.take(),
      length: this.#settled,
    };
    this.#first = this.#border;
    this.#settled = 0;
    return range;
  }
}
