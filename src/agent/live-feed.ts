import type { Chunk } from "../session/events.ts";
import type { SessionLog } from "../session/log.ts";
import type { LogView } from "../session/log-view.ts";
import { isRunType } from "../session/runs.ts";
import { waitFor } from "../session/wait-for.ts";
import { LiveTurn } from "./live-turn.ts";
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

/** One follower's place. It holds nothing that has to be given back. */
export interface LiveFollower {
  /**
   * What is there now and was not taken yet, up to about `maxLength` characters and at least one item: durable events in
   * seq order; once there are no more of them, the deltas that are on their way. A delta comes again as an event, under
   * the seq that it announced, unless its commit is lost: then an event that is no `assistant/chunk` comes under that
   * seq or an earlier one, and voids every delta that was given out and has not come again.
   */
  take(maxLength: number): LiveItem[];
  /** Whether `take` would give something. */
  hasMore(): boolean;
  /** Whether everything was taken and nothing more will come. */
  readonly ended: boolean;
  /** Resolves when `take` would give something, or there is nothing more to come. @throws the signal's reason */
  changed(signal?: AbortSignal): Promise<void>;
}

/**
 * The live side of one session. Followers pull: they keep a place in the log and nothing else, so that a slow one costs
 * no memory and holds nobody up. Deltas are kept here only until they are durable, once for all followers.
 */
export class LiveFeed {
  readonly #log: SessionLog;
  readonly #waiting = new Set<() => void>();
  /** In seq order, all of them beyond the log. */
  #deltas: ProvisionalDelta[] = [];
  /** How often deltas were lost. */
  #losses = 0;
  /** Whether nothing has become durable since deltas were lost. */
  #isLost = false;
  #closed = false;

  constructor(log: SessionLog) {
    this.#log = log;
    log.observe((view, from) => {
      this.#committed(view, from);
      this.wake();
    });
  }

  /** How many followers wait for something to happen. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * A delta that was handed to the log just now. One whose seq is not beyond the last says that commits were lost. What
   * comes after a loss begins with another event, so that deltas are taken again from the next commit on.
   */
  offer(delta: ProvisionalDelta): void {
    const last = this.#deltas.at(-1);
    if (last !== undefined && last.seq >= delta.seq) this.settle();
    if (this.#isLost) return;
    this.#deltas.push(delta);
    this.wake();
  }

  /** The Turn has ended, or fails: a delta that is not durable by now never will be. */
  settle(): void {
    if (this.#deltas.length === 0) return;
    this.#drop();
    this.#isLost = true;
  }

  /** Nothing more will come: followers that took everything have ended. */
  close(): void {
    this.#closed = true;
    this.wake();
  }

  /** Follows the session from the event with seq `from` on. */
  follow(from: number): BoundedFollower {
    const feed = this;
    let next = from;
    // Seq of the last delta that was given out ahead of its commit, and the losses at that time.
    let shown = -1;
    let losses = feed.#losses;
    /** Index of the first delta that was not given out. */
    const firstNewDelta = () => {
      if (losses !== feed.#losses) shown = -1;
      losses = feed.#losses;
      return feed.#firstDelta(Math.max(shown + 1, next));
    };
    const follower: BoundedFollower = {
      take(maxLength, to = Number.POSITIVE_INFINITY) {
        const items: LiveItem[] = [];
        let room = maxLength;
        for (const text of feed.#log.texts(next, Math.min(to, feed.#log.length))) {
          items.push({ kind: "event", seq: next, text });
          next += 1;
          room -= text.length;
          if (room <= 0) return items;
        }
        for (let k = firstNewDelta(); k < feed.#deltas.length; k += 1) {
          const delta = feed.#deltas[k];
          if (delta === undefined || delta.seq >= to) break;
          shown = delta.seq;
          items.push({ kind: "provisional", delta });
          room -= lengthOf(delta.chunk);
          if (room <= 0) break;
        }
        return items;
      },
      hasMore(to = Number.POSITIVE_INFINITY) {
        if (Math.min(to, feed.#log.length) > next) return true;
        const delta = feed.#deltas[firstNewDelta()];
        return delta !== undefined && delta.seq < to;
      },
      get ended() {
        return feed.#closed && !follower.hasMore();
      },
      changed: (signal) => feed.until(() => follower.hasMore() || feed.#closed, signal),
    };
    return follower;
  }

  /** Follows a Turn that is still to begin. */
  followTurn(): LiveTurn {
    return new LiveTurn(this, this.#log);
  }

  /** Resolves when `ready` holds, which is looked at now and after each change. @throws the signal's reason */
  async until(ready: () => boolean, signal?: AbortSignal): Promise<void> {
    while (!ready()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.add(resolve);
      try {
        await waitFor(promise, signal);
      } finally {
        this.#waiting.delete(resolve);
      }
    }
  }

  /** Makes everybody who waits look again. */
  wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #committed(log: LogView, from: number): void {
    this.#isLost = false;
    if (this.#deltas.length === 0) return;
    // Deltas follow each other, and what follows them is handed over after the last of them. So another event before a
    // delta's seq says that the delta was lost on its way.
    const onlyChunks = [...log.records(from)].every(
      ({ type }) => isRunType(type) || type === "assistant/chunk",
    );
    const saved = this.#firstDelta(log.length);
    if (onlyChunks || saved === this.#deltas.length) this.#deltas = this.#deltas.slice(saved);
    else this.#drop();
  }

  #drop(): void {
    this.#deltas = [];
    this.#losses += 1;
  }

  /** Index of the first delta with this seq or a later one. */
  #firstDelta(seq: number): number {
    let low = 0;
    let high = this.#deltas.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#deltas[middle]?.seq ?? 0) < seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function lengthOf(chunk: Chunk): number {
  switch (chunk.type) {
    case "text-delta":
    case "reasoning-delta":
      return chunk.text.length;
    case "tool-call-delta":
      return chunk.argumentsDelta.length;
    default:
      return 0;
  }
}

/** A follower that can be kept from going beyond the event before `to`. */
export interface BoundedFollower extends LiveFollower {
  take(maxLength: number, to?: number): LiveItem[];
  hasMore(to?: number): boolean;
}
