import { type EncodedEvent, encodeDraft } from "./encoding.ts";
import type { EventDraft, SessionEvent } from "./events.ts";
import type { SessionHeader } from "./header.ts";
import { freezeJson } from "./json.ts";
import { LogView } from "./log-view.ts";
import type { SessionRecord } from "./records.ts";

/** Where a log sends what is appended. The storage seam implements it. */
export interface EventSink {
  /** Seq that the next submitted event must carry: the durable length plus what is on its way. */
  readonly nextSeq: number;
  /** Grows whenever submitted events were rejected. */
  readonly generation: number;
  /** Resolves when the events are durable and published; rejects when they never will be. */
  submit(events: readonly EncodedEvent[]): Promise<void>;
  /** Resolves when the queue has room; a producer that does not await each append awaits this. */
  writable(): Promise<void>;
}

/** Told about events after they became durable and visible. What it throws is reported as uncaught. */
export type LogObserver = (log: LogView, from: number) => void;

/**
 * The append-only log of one session.
 *
 * Commit before visible: `append` resolves when the event is durable, and only then is it in the log, in a projection
 * or with an observer. A failed append leaves the log as it was; the next one starts from the durable length.
 */
export class SessionLog extends LogView {
  readonly header: SessionHeader;
  readonly #records: SessionRecord[];
  readonly #sink: EventSink;
  readonly #clock: () => number;
  readonly #observers = new Set<LogObserver>();

  /** `records` are the durable ones, in order. The log owns the array from here on. */
  constructor(header: SessionHeader, records: SessionRecord[], sink: EventSink, clock: () => number) {
    super(records);
    this.header = header;
    this.#records = records;
    this.#sink = sink;
    this.#clock = clock;
  }

  override get recordCount(): number {
    return this.#records.length;
  }

  /** The log as it is now, for ever. O(1). */
  snapshot(): LogView {
    return new LogView(this.#records, this.#records.length);
  }

  /**
   * Appends one event; the log gives it its seq, and its time unless the draft has one.
   * @returns the frozen event, durable. @throws InvalidEventError, NotSerialisableError, or what the store threw.
   */
  async append(draft: EventDraft): Promise<SessionEvent> {
    const encoded = encodeDraft(draft, this.#sink.nextSeq, this.#clock());
    await this.#sink.submit([encoded]);
    return freezeJson(encoded.event);
  }

  /** Appends several events that become durable together or not at all. */
  async appendAll(drafts: readonly EventDraft[]): Promise<readonly SessionEvent[]> {
    const first = this.#sink.nextSeq;
    const encoded = drafts.map((draft, k) => encodeDraft(draft, first + k, this.#clock()));
    if (encoded.length > 0) await this.#sink.submit(encoded);
    return encoded.map(({ event }) => freezeJson(event));
  }

  /** A writer for one producer that does not wait for each append; see {@link LogWriter}. */
  writer(): LogWriter {
    return new LogWriter(this, this.#sink);
  }

  /** Takes records over that are durable now. For the storage seam only. */
  publish(records: readonly SessionRecord[]): void {
    const from = this.length;
    for (const record of records) this.#records.push(record);
    for (const observe of this.#observers) {
      try {
        observe(this, from);
      } catch (error) {
        // The events are durable: an observer's mistake must not look like a failed append, nor be hidden.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  /** Calls `observer` after each commit, until the returned handle is disposed. */
  observe(observer: LogObserver): Disposable {
    this.#observers.add(observer);
    return { [Symbol.dispose]: () => void this.#observers.delete(observer) };
  }
}

/**
 * Appends of one producer in a row, each awaited before the next is handed over. Once one of them has failed, the
 * writer refuses all further ones with the same error: an event must not enter the log when one before it was lost.
 */
export class LogWriter {
  readonly #log: SessionLog;
  readonly #sink: EventSink;
  #generation: number;
  readonly #pending = new Set<Promise<unknown>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(log: SessionLog, sink: EventSink) {
    this.#log = log;
    this.#sink = sink;
    this.#generation = sink.generation;
  }

  /** Seq that the next append will get. */
  get nextSeq(): number {
    return this.#sink.nextSeq;
  }

  /** Appends and waits until the event is durable. */
  async append(draft: EventDraft): Promise<SessionEvent> {
    while (this.#stale) await this.#settle();
    return this.#hand(draft);
  }

  /** Hands an event over and returns when the queue has room for the next; {@link flush} reports how it went. */
  async push(draft: EventDraft): Promise<void> {
    while (this.#stale) await this.#settle();
    this.#hand(draft).catch(() => undefined);
    await this.#sink.writable();
  }

  /** Waits until all that was pushed is durable. @throws the first failure. */
  async flush(): Promise<void> {
    await Promise.allSettled(this.#pending);
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** A newer generation means that appends were rejected; the failure of ours may still be on its way here. */
  get #stale(): boolean {
    return this.#sink.generation !== this.#generation;
  }

  async #settle(): Promise<void> {
    const { generation } = this.#sink;
    await this.flush();
    this.#generation = generation;
  }

  /** Nothing may be awaited between the checks and the append, or a rejection in between would be missed. */
  #hand(draft: EventDraft): Promise<SessionEvent> {
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#track(this.#log.append(draft));
  }

  #track<T>(append: Promise<T>): Promise<T> {
    const tracked = append.catch((error: unknown) => {
      this.#failure ??= { error };
      throw error;
    });
    this.#pending.add(tracked);
    const forget = () => void this.#pending.delete(tracked);
    tracked.then(forget, forget);
    return tracked;
  }
}
