import type { FileIdentity } from "./log-file.ts";

/** A place where reading can begin: a unit's offset, and the seq of its first event. */
export interface IndexPoint {
  readonly offset: number;
  readonly seq: number;
}

/** Bytes between two points: reading from anywhere decodes at most this much for nothing, and one unit. */
const SPACING = 16 * 1024;

/**
 * Where in a log file which events lie: some of the units' places, in order. Only a hint: whoever reads at a point
 * checks that the log has that seq there.
 */
export class LogIndex {
  readonly identity: FileIdentity;
  readonly #offsets: number[] = [];
  readonly #seqs: number[] = [];
  /** Bytes of the file that are indexed; a unit begins there, or the file ends. */
  end: number;
  /** Seq that comes next at `end`. */
  next: number;
  /** Whether it has points that nobody came to by reading all that precedes them. */
  isGuessed = false;
  /** Offset that guesses may lead up to, of a file of so many bytes. */
  reach: { readonly size: number; readonly offset: number } | undefined;

  /** @param bodyOffset where the first record begins */
  constructor(identity: FileIdentity, bodyOffset: number) {
    this.identity = identity;
    this.#offsets.push(bodyOffset);
    this.#seqs.push(0);
    this.end = bodyOffset;
    this.next = 0;
  }

  get points(): readonly IndexPoint[] {
    return this.#offsets.map((offset, k) => ({ offset, seq: this.#seqs[k] ?? 0 }));
  }

  /** Takes in the unit that begins at `end`. */
  add(end: number, next: number): void {
    if (this.end - (this.#offsets.at(-1) ?? 0) >= SPACING) {
      this.#offsets.push(this.end);
      this.#seqs.push(this.next);
    }
    this.end = end;
    this.next = next;
  }

  /** The last point at or before `seq`. */
  find(seq: number): IndexPoint {
    let low = 0;
    let high = this.#seqs.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#seqs[middle] ?? 0) <= seq) low = middle;
      else high = middle - 1;
    }
    return { offset: this.#offsets[low] ?? 0, seq: this.#seqs[low] ?? 0 };
  }

  /** The point behind another one of this index. */
  after({ offset }: IndexPoint): IndexPoint | undefined {
    const k = this.#offsets.indexOf(offset) + 1;
    const found = this.#offsets[k];
    return k === 0 || found === undefined ? undefined : { offset: found, seq: this.#seqs[k] ?? 0 };
  }

  /** Takes in a point that was found by a look at it alone. Returns whether it can be one, by the others. */
  insert({ offset, seq }: IndexPoint): boolean {
    const k = this.#seqs.findLastIndex((before) => before < seq) + 1;
    const [before = -1, behind = Number.POSITIVE_INFINITY] = [this.#offsets[k - 1], this.#offsets[k]];
    if (k === 0 || offset <= before || offset >= behind || this.#seqs[k] === seq) return false;
    // What lies up to the end was read.
    if (offset < this.end ? seq >= this.next : seq < this.next) return false;
    this.#offsets.splice(k, 0, offset);
    this.#seqs.splice(k, 0, seq);
    this.isGuessed = true;
    if (offset > this.end) {
      this.end = offset;
      this.next = seq;
    }
    return true;
  }

  /** An index with these points, as a sidecar file kept it; it ends with the last. Nothing when they are not in order. */
  static from(identity: FileIdentity, points: readonly IndexPoint[]): LogIndex | undefined {
    const [first, ...others] = points;
    if (first === undefined || first.seq !== 0) return undefined;
    const index = new LogIndex(identity, first.offset);
    let last = first;
    for (const point of others) {
      if (point.offset <= last.offset || point.seq <= last.seq) return undefined;
      index.#offsets.push(point.offset);
      index.#seqs.push(point.seq);
      last = point;
    }
    index.end = last.offset;
    index.next = last.seq;
    return index;
  }
}
