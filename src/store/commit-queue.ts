import { type EncodedEvent, packBatch } from "../session/encoding.ts";
import type { SessionRecord } from "../session/records.ts";
import type { AppendBatch, AppendOutcome, Revision } from "./backend.ts";
import { ClosedError, HoldfastError, StorageFailedError } from "./errors.ts";

/** A session as the queue sees it. */
export interface CommitTarget {
  readonly id: string;
  /** Header text while the session is not stored yet. */
  readonly pendingHeader: string | undefined;
  /** Seq that follows the durable tail. */
  readonly durableSeq: number;
  /** The events are durable; called once a commit, before any append of it resolves. */
  committed(events: readonly EncodedEvent[], records: readonly SessionRecord[], revision: Revision): void;
  /** All that this target had in the queue is lost; called before any append of it rejects. */
  rejected(error: HoldfastError): void;
}

/** Runs `task` after `ms`, unless the handle is disposed before. */
export type Schedule = (task: () => void, ms: number) => Disposable;

export interface CommitQueueOptions {
  /** How long streaming deltas may wait for company, in milliseconds; 0 = not at all. */
  readonly chunkWindowMs: number;
  /** Events and bytes that may wait before `writable` makes producers wait. */
  readonly maxEvents?: number;
  readonly maxBytes?: number;
  /** A parameter so that tests own the time. */
  readonly schedule?: Schedule;
}

interface Item {
  readonly target: CommitTarget;
  readonly events: readonly EncodedEvent[];
  readonly size: number;
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: HoldfastError) => void;
}

const DEFAULT_MAX_EVENTS = 20_000;
const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;

/**
 * Group commit for all sessions of one store. While one commit is on its way to the disk the next batch gathers, so
 * that one sync serves everything that arrived meanwhile. Streaming deltas may wait for the chunk window; any other
 * event flushes at once and takes the deltas before it along. Order within a session never changes.
 *
 * A failed commit rejects the batch and everything queued behind it.
 */
export class CommitQueue {
  readonly #commit: (batches: readonly AppendBatch[]) => Promise<readonly AppendOutcome[]>;
  readonly #chunkWindowMs: number;
  readonly #maxEvents: number;
  readonly #maxBytes: number;
  readonly #schedule: Schedule;
  #queue: Item[] = [];
  #underWay: readonly Item[] = [];
  #events = 0;
  #bytes = 0;
  #busy = false;
  #due = false;
  #startQueued = false;
  #closed = false;
  #window: Disposable | undefined;
  #lastFailure: HoldfastError | undefined;
  #wantOfSpace: HoldfastError | undefined;
  readonly #waiting: Array<() => void> = [];

  constructor(
    commit: (batches: readonly AppendBatch[]) => Promise<readonly AppendOutcome[]>,
    options: CommitQueueOptions,
  ) {
    this.#commit = commit;
    this.#chunkWindowMs = options.chunkWindowMs;
    this.#maxEvents = options.maxEvents ?? DEFAULT_MAX_EVENTS;
    this.#maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;
    this.#schedule = options.schedule ?? scheduleTimer;
  }

  /** Whether a commit is under way. */
  get busy(): boolean {
    return this.#busy;
  }

  /** The failure of the newest commit, if it failed. */
  get lastFailure(): HoldfastError | undefined {
    return this.#lastFailure;
  }

  /** The newest failure for want of space. It stays: that a small commit fitted in says little. */
  get wantOfSpace(): HoldfastError | undefined {
    return this.#wantOfSpace;
  }

  /** Takes a failure for want of space as overcome, unless a newer failure has come. */
  forgive(failure: HoldfastError): void {
    if (this.#wantOfSpace === failure) this.#wantOfSpace = undefined;
    if (this.#lastFailure === failure) this.#lastFailure = undefined;
  }

  /** Queues events of one session, which become durable together. The order of calls is the order in the log. */
  submit(target: CommitTarget, events: readonly EncodedEvent[]): Promise<void> {
    if (this.#closed) return Promise.reject(new ClosedError());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const size = events.reduce((sum, event) => sum + event.size, 0);
    this.#queue.push({ target, events, size, promise, resolve, reject });
    this.#events += events.length;
    this.#bytes += size;
    if (this.#chunkWindowMs <= 0 || this.#full || events.some(({ delta }) => delta === undefined))
      this.#flush();
    else this.#window ??= this.#schedule(() => this.#flush(), this.#chunkWindowMs);
    return promise;
  }

  /** Resolves when the queue has room. */
  writable(): Promise<void> {
    if (!this.#full) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Flushes, and resolves when all that is queued now is durable or lost; what comes later is not waited for. */
  async drain(): Promise<void> {
    const items = [...this.#underWay, ...this.#queue];
    if (items.length === 0) return;
    this.#flush();
    await Promise.allSettled(items.map(({ promise }) => promise));
  }

  /** Refuses further events and drains. */
  close(): Promise<void> {
    this.#closed = true;
    return this.drain();
  }

  get #full(): boolean {
    return this.#events >= this.#maxEvents || this.#bytes >= this.#maxBytes;
  }

  #flush(): void {
    this.#window?.[Symbol.dispose]();
    this.#window = undefined;
    this.#due = true;
    if (this.#busy || this.#startQueued) return;
    // A microtask later, so that producers that append in the same tick share the commit.
    this.#startQueued = true;
    queueMicrotask(() => {
      this.#startQueued = false;
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    while (this.#due && this.#queue.length > 0) {
      this.#due = false;
      this.#window?.[Symbol.dispose]();
      this.#window = undefined;
      const items = this.#queue;
      this.#queue = [];
      this.#underWay = items;
      await this.#commitItems(items);
      this.#underWay = [];
    }
    this.#due = false;
    this.#busy = false;
  }

  async #commitItems(items: readonly Item[]): Promise<void> {
    const groups = groupByTarget(items);
    const prepared = [...groups].map(([target, group]) => {
      const events = group.flatMap((item) => item.events);
      return { target, group, events, records: packBatch(events) };
    });
    let outcomes: readonly AppendOutcome[];
    try {
      outcomes = await this.#commit(
        prepared.map(({ target, records }) => ({
          id: target.id,
          ...(target.pendingHeader === undefined ? {} : { header: target.pendingHeader }),
          expectedSeq: target.durableSeq,
          records,
        })),
      );
    } catch (cause) {
      this.#failAll(items, cause instanceof HoldfastError ? cause : failed(cause));
      return;
    }
    this.#lastFailure = undefined;
    this.#release(items);
    for (const [index, { target, group, events, records }] of prepared.entries()) {
      const outcome = outcomes[index];
      if (outcome?.ok === true) {
        target.committed(events, records, outcome.revision);
        for (const item of group) item.resolve();
      } else this.#failTarget(target, group, outcome?.error ?? failed("the backend gave no outcome"));
    }
  }

  /** The whole commit failed: everything queued, of every session, goes with it. */
  #failAll(items: readonly Item[], error: HoldfastError): void {
    this.#note(error);
    const behind = this.#queue;
    this.#queue = [];
    const lost = [...items, ...behind];
    this.#release(lost);
    for (const target of groupByTarget(lost).keys()) target.rejected(error);
    for (const item of lost) item.reject(error);
  }

  /** One session's batch was refused: what that session has queued behind it goes with it. */
  #failTarget(target: CommitTarget, group: readonly Item[], error: HoldfastError): void {
    const behind = this.#queue.filter((item) => item.target === target);
    this.#queue = this.#queue.filter((item) => item.target !== target);
    this.#release(behind);
    // Only somebody else's writing makes the store refuse what passed every check here.
    this.#note(error);
    target.rejected(error);
    for (const item of [...group, ...behind]) item.reject(error);
  }

  #note(error: HoldfastError): void {
    this.#lastFailure = error;
    if (error.code === "storage-full") this.#wantOfSpace = error;
  }

  #release(items: readonly Item[]): void {
    for (const { events, size } of items) {
      this.#events -= events.length;
      this.#bytes -= size;
    }
    if (this.#full) return;
    for (const resume of this.#waiting.splice(0)) resume();
  }
}

function groupByTarget(items: readonly Item[]): Map<CommitTarget, Item[]> {
  const groups = new Map<CommitTarget, Item[]>();
  for (const item of items) {
    const group = groups.get(item.target);
    if (group === undefined) groups.set(item.target, [item]);
    else group.push(item);
  }
  return groups;
}

function failed(cause: unknown): StorageFailedError {
  return new StorageFailedError(`The commit failed: ${cause instanceof Error ? cause.message : cause}`, {
    cause,
  });
}

export function scheduleTimer(task: () => void, ms: number): Disposable {
  const timer = setTimeout(task, ms);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}
