/** Bytes that are worked on before others get their turn. */
export const STRETCH = 512 * 1024;

/**
 * A step of a long reading that yields nothing: so many bytes were worked on. Whoever takes the steps may let others
 * have their turn, or stop.
 */
export interface Pause {
  readonly kind: "pause";
  readonly bytes: number;
}

export function pause(bytes: number): Pause {
  return { kind: "pause", bytes };
}

/** What a reading comes to, for those who cannot wait. */
export function withoutPause<T>(steps: Generator<Pause, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Counts what was worked on. */
export class Breather {
  #left = STRETCH;

  /** Whether others are to have their turn, after so many more bytes. */
  isDue(bytes: number): boolean {
    this.#left -= bytes;
    if (this.#left > 0) return false;
    this.#left = STRETCH;
    return true;
  }
}

/** Lets timers, requests and signals have their turn in the middle of a long log. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
