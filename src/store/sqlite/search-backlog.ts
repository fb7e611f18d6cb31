import { HoldfastError } from "../errors.ts";
import type { IndexLimits } from "../search/range-builder.ts";
import { type PendingRange, writeRanges } from "./search-writer.ts";

/** Most ranges that wait for being written. */
const DUE_RANGES = 256;
/** How long the lock is free between two slices, in milliseconds, so that one who waits for it gets it. */
const REST_MS = 40;

/** Ranges that are to be written into the index of a store. Once one cannot be written, no more are taken. */
export class SearchBacklog {
  readonly #path: string;
  readonly #limits: IndexLimits;
  #pending: PendingRange[] = [];
  /** Text of them, and of all that there were. */
  #length = 0;
  #total = 0;
  #isOver = false;
  #error: HoldfastError | undefined;

  constructor(path: string, limits: IndexLimits) {
    this.#path = path;
    this.#limits = limits;
  }

  /** Why ranges could not be written, if so. */
  get error(): HoldfastError | undefined {
    return this.#error;
  }

  /** Whether it is time to write. */
  get isDue(): boolean {
    if (this.#pending.length === 0 || this.#total < this.#limits.least) return false;
    return this.#isOver || this.#length >= this.#limits.due || this.#pending.length >= DUE_RANGES;
  }

  put(range: PendingRange): void {
    if (this.#error !== undefined) return;
    this.#pending.push(range);
    this.#length += range.length;
    this.#total += range.length;
  }

  /** No more will come. */
  end(): void {
    this.#isOver = true;
  }

  /** Writes them, a slice at a time. No connection to the store may be open. Throws nothing that concerns the store. */
  async write(): Promise<void> {
    try {
      while (this.#pending.length > 0) {
        this.#pending.splice(0, writeRanges(this.#path, this.#pending));
        if (this.#pending.length > 0) await Bun.sleep(REST_MS);
      }
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      this.#error = error;
      this.#pending = [];
    }
    this.#length = 0;
  }
}
