import type { Chunk } from "../session/events.ts";
import type { SessionLog } from "../session/log.ts";
import { waitFor } from "../session/wait-for.ts";
import type { StepPlace } from "./step.ts";

/** A streaming delta on its way to the disk. `seq` is the one that its event gets when its commit succeeds. */
export interface ProvisionalDelta extends StepPlace {
  readonly seq: number;
  readonly chunk: Chunk;
}

/** What a follower of a session sees: durable events as stored, and ahead of them deltas that may still be lost. */
export type LiveItem =
  | { readonly kind: "event"; readonly seq: number; readonly text: string }
  | { readonly kind: "provisional"; readonly delta: ProvisionalDelta };

/**
 * The live side of one session. Followers pull: they keep a place in the log and nothing else, so that a slow one costs
 * no memory and holds nobody up. Deltas are kept here only until they are durable, once for all followers.
 */
export class LiveFeed {
  readonly #log: SessionLog;
  readonly #waiting = new Set<() => void>();
  #deltas: ProvisionalDelta[] = [];
  #generation = 0;

  constructor(log: SessionLog) {
    this.#log = log;
    log.observe(() => {
      this.#deltas = this.#deltas.filter(({ seq }) => seq >= log.length);
      this.#wake();
    });
  }

  /** How many followers wait for something to happen. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** A delta that was handed to the log just now. One whose seq is not beyond the last says that commits were lost. */
  offer(delta: ProvisionalDelta): void {
    const last = this.#deltas.at(-1);
    if (last !== undefined && last.seq >= delta.seq) {
      this.#deltas = [];
      this.#generation += 1;
    }
    this.#deltas.push(delta);
    this.#wake();
  }

  /** Follows the session from the event with seq `from` on. */
  follow(from: number): LiveFollower {
    const feed = this;
    let next = from;
    // Seq of the last delta that was given out ahead of its commit.
    let shown = -1;
    let generation = feed.#generation;
    return {
      take(maxBytes) {
        const items: LiveItem[] = [];
        let room = maxBytes;
        for (const text of feed.#log.texts(next)) {
          items.push({ kind: "event", seq: next, text });
          next += 1;
          room -= text.length;
          if (room <= 0) return items;
        }
        if (generation !== feed.#generation) shown = -1;
        generation = feed.#generation;
        for (const delta of feed.#deltas) {
          if (delta.seq <= shown || delta.seq < next) continue;
          shown = delta.seq;
          items.push({ kind: "provisional", delta });
        }
        return items;
      },
      hasMore: () => feed.#log.length > next || feed.#hasDeltaAfter(Math.max(shown, next - 1)),
      async changed(signal) {
        const { promise, resolve } = Promise.withResolvers<void>();
        feed.#waiting.add(resolve);
        try {
          await waitFor(promise, signal);
        } finally {
          feed.#waiting.delete(resolve);
        }
      },
    };
  }

  #hasDeltaAfter(seq: number): boolean {
    return (this.#deltas.at(-1)?.seq ?? -1) > seq;
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** One follower's place. It holds nothing that has to be given back. */
export interface LiveFollower {
  /**
   * What is there now and was not taken yet: durable events in seq order, up to about `maxBytes` characters and at least
   * one; once there are no more of them, the deltas that are on their way. A delta comes again as an event, under the
   * seq that it announced, unless its commit is lost.
   */
  take(maxBytes: number): LiveItem[];
  /** Whether `take` would give something. */
  hasMore(): boolean;
  /** Resolves at the next change. @throws the signal's reason */
  changed(signal?: AbortSignal): Promise<void>;
}
