import { waitFor } from "../session/wait-for.ts";

/** Runs tasks of one key one after the other, in call order; tasks of different keys do not wait for each other. */
export class KeyedMutex {
  readonly #tails = new Map<string, Promise<void>>();

  /** `signal` ends the wait for the turn with its reason; a task that has begun is not ended. */
  async run<T>(key: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const previous = this.#tails.get(key);
    const run = previous === undefined ? task() : waitFor(previous, signal).then(task);
    // The turn of one that was cancelled still ends after those before it.
    const tail = Promise.allSettled([previous, run]).then(() => undefined);
    this.#tails.set(key, tail);
    try {
      return await run;
    } finally {
      void tail.then(() => {
        if (this.#tails.get(key) === tail) this.#tails.delete(key);
      });
    }
  }
}
