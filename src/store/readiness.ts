import type { StorageBackend } from "./backend.ts";
import type { CommitQueue, Schedule } from "./commit-queue.ts";
import { HoldfastError } from "./errors.ts";
import type { StoreHealth } from "./persistence.ts";

/** Longest time that an answer waits for the disk, in milliseconds. A slow disk is no reason to be unready. */
const PATIENCE_MS = 500;

type Answer = Omit<StoreHealth, "backend">;

/**
 * Whether the store takes writes. From a failed commit on it does not until one works. A disk that is full is asked
 * instead, where it can be: the next small commit may fit into the last block, and whoever waits for readiness before
 * sending more would wait for ever.
 */
export class Readiness {
  readonly #backend: StorageBackend;
  readonly #queue: CommitQueue;
  readonly #schedule: Schedule;
  /** The check under way. It serves all who ask meanwhile. */
  #check: Promise<Answer> | undefined;

  constructor(backend: StorageBackend, queue: CommitQueue, schedule: Schedule) {
    this.#backend = backend;
    this.#queue = queue;
    this.#schedule = schedule;
  }

  async read(): Promise<StoreHealth> {
    const { name: backend } = this.#backend;
    const answer = await this.#ask();
    return { backend, ...(answer ?? this.#known()) };
  }

  /** Nothing when the disk is busy: its answer comes with what keeps it busy. */
  async #ask(): Promise<Answer | undefined> {
    if (this.#queue.busy) return undefined;
    this.#check ??= this.#examine().finally(() => {
      this.#check = undefined;
    });
    const late = Promise.withResolvers<undefined>();
    using _ = this.#schedule(() => late.resolve(undefined), PATIENCE_MS);
    return await Promise.race([this.#check, late.promise]);
  }

  #known(): Answer {
    const failure = this.#queue.lastFailure ?? this.#wantOfSpace;
    return failure === undefined ? { writable: true } : { writable: false, problem: failure.code };
  }

  /** A want of space that counts until the disk was asked. */
  get #wantOfSpace(): HoldfastError | undefined {
    return this.#backend.hasRoom === undefined ? undefined : this.#queue.wantOfSpace;
  }

  async #examine(): Promise<Answer> {
    const full = this.#wantOfSpace;
    if (full !== undefined && (await this.#backend.hasRoom?.()) === true) this.#queue.forgive(full);
    const known = this.#known();
    if (!known.writable) return known;
    try {
      await this.#backend.checkWritable();
      return known;
    } catch (error) {
      return { writable: false, problem: error instanceof HoldfastError ? error.code : "storage-failed" };
    }
  }
}
