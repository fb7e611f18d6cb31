/** Durations up to here are kept as they are. */
const EXACT = 1_000;

/**
 * Durations in whole milliseconds, counted: up to a second exactly, longer ones to three digits, so that memory is bounded
 * however many there are.
 */
export class Durations {
  readonly #counts = new Map<number, number>();
  #max = 0;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** The longest one, exactly; 0 where there is none. */
  get max(): number {
    return this.#max;
  }

  /** A negative duration, of a clock that was set back, counts as 0. */
  add(duration: number): void {
    const ms = Math.max(0, duration);
    const shown = rounded(ms);
    this.#counts.set(shown, (this.#counts.get(shown) ?? 0) + 1);
    this.#max = Math.max(this.#max, ms);
    this.#count += 1;
  }

  /** The shortest duration that at least half of them do not exceed; 0 where there is none. */
  get median(): number {
    let left = Math.ceil(this.#count / 2);
    for (const duration of [...this.#counts.keys()].sort((a, b) => a - b)) {
      left -= this.#counts.get(duration) ?? 0;
      if (left <= 0) return duration;
    }
    return 0;
  }
}

/** Cut to three digits, so that a longer one is never the shorter afterwards. */
export function rounded(ms: number): number {
  let unit = 1;
  while (ms / unit >= EXACT) unit *= 10;
  return Math.floor(ms / unit) * unit;
}
