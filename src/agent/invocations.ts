import {
  ClosingError,
  DuplicateInvocationError,
  InvocationCancelledError,
  QueueFullError,
  TurnAbort,
} from "./errors.ts";
import type { TurnResult } from "./turn.ts";

/** Runs the Turn of one invocation. The signal fires with a {@link TurnAbort}. */
export type InvocationTask = (signal: AbortSignal) => Promise<TurnResult>;

interface Invocation {
  readonly task: InvocationTask;
  readonly abort: AbortController;
  readonly answer: PromiseWithResolvers<TurnResult>;
}

const DEFAULT_CAPACITY = 64;

/**
 * The invocations of one agent: one Turn at a time, in the order they came. A queued invocation has written nothing, so
 * that cancelling it leaves no trace; a running one ends its Turn as aborted.
 */
export class InvocationQueue {
  readonly #capacity: number;
  readonly #live = new Map<string, Invocation>();
  #active: string | undefined;
  #closing = false;
  #idle: PromiseWithResolvers<void> | undefined;

  /** `capacity`: how many may wait. */
  constructor(capacity = DEFAULT_CAPACITY) {
    this.#capacity = capacity;
  }

  /**
   * Queues an invocation. `answer` is its Turn's result, or fails with InvocationCancelledError, ClosingError or what the
   * task threw.
   * @throws DuplicateInvocationError, QueueFullError, ClosingError at once
   */
  enqueue(id: string, task: InvocationTask): { readonly answer: Promise<TurnResult> } {
    if (this.#closing) throw new ClosingError();
    if (this.#live.has(id)) throw new DuplicateInvocationError(id);
    if (this.#live.size > this.#capacity) throw new QueueFullError(this.#capacity);
    const answer = Promise.withResolvers<TurnResult>();
    this.#live.set(id, { task, abort: new AbortController(), answer });
    void this.#next();
    return { answer: answer.promise };
  }

  /** Cancels a queued or running invocation. Returns whether there was one. */
  cancel(id: string): boolean {
    return this.#stop(id, new TurnAbort("user"), new InvocationCancelledError());
  }

  /** Refuses new invocations, cancels all, and resolves when the running one has ended its Turn. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const id of [...this.#live.keys()]) this.#stop(id, new TurnAbort("disposed"), new ClosingError());
    if (this.#active === undefined) return;
    this.#idle ??= Promise.withResolvers<void>();
    await this.#idle.promise;
  }

  #stop(id: string, reason: TurnAbort, queuedAnswer: Error): boolean {
    const invocation = this.#live.get(id);
    if (invocation === undefined) return false;
    invocation.abort.abort(reason);
    if (id !== this.#active) {
      this.#live.delete(id);
      invocation.answer.reject(queuedAnswer);
    }
    return true;
  }

  async #next(): Promise<void> {
    if (this.#active !== undefined) return;
    for (const [id, invocation] of this.#live) {
      this.#active = id;
      try {
        invocation.answer.resolve(await invocation.task(invocation.abort.signal));
      } catch (error) {
        invocation.answer.reject(error);
      }
      this.#live.delete(id);
      this.#active = undefined;
    }
    this.#idle?.resolve();
  }
}
