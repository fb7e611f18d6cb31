import { isEvent, type SessionEvent } from "../../../session/events.ts";
import { LiveTranscript, type TranscriptEntry } from "../../../session/projections/index.ts";
import { recordEvents } from "../../../session/records.ts";
import { CorruptError, StorageFailedError } from "../../../store/errors.ts";
import type { SessionPersistence } from "../../../store/persistence.ts";
import { countEvents } from "./log-end.ts";

/** Events that are read at once. */
const BLOCK = 512;
/** Going back: first so many, then more each time, so that going back far takes few reads. */
const FIRST_BLOCK = 64;
const LARGEST_BLOCK = 2_048;
/** Events before a Step among which the beginning of its Turn is looked for. */
const FAR = 1_024;

/** What was shown is no longer there. */
export class LogCutError extends StorageFailedError {}

/** Says before each read which store that is. */
export interface TailSource {
  readonly store: Pick<SessionPersistence, "readFrom" | "stream">;
}

/** Something to be shown: an event, and where entries are shown the one that it makes. */
export interface TailItem {
  readonly event: SessionEvent;
  readonly entry?: TranscriptEntry;
  /** Whether it stands before what was asked for, and only explains it. */
  readonly isBefore?: true;
}

/** What is given out: events that make an entry, all events, or all with those before them that explain them. */
export type TailForm = "entries" | "events" | "transcript";

/**
 * The end of a session's log, and what is added to it. Each event comes once, in order. Reads by seq, some events at a
 * time: what it costs follows what is asked for, and what is new.
 */
export class LogTail {
  readonly #source: TailSource;
  readonly #id: string;
  readonly #form: TailForm;
  readonly #transcript = new LiveTranscript();
  /** Seq of the first event that was not given out, and the event before it, if that was read. */
  #next = 0;
  #last: SessionEvent | undefined;

  constructor(source: TailSource, id: string, form: TailForm) {
    this.#source = source;
    this.#id = id;
    this.#form = form;
  }

  /** The last `count` entries or events. @throws CorruptError of a damaged log, after those before the damage */
  async *last(count: number): AsyncGenerator<readonly TailItem[]> {
    let read = () => this.#sound();
    let damage: CorruptError | undefined;
    let first: number | undefined;
    let start: SessionEvent | undefined;
    try {
      const end = await countEvents(this.#source.store, this.#id);
      if (this.#form === "events") first = Math.max(0, end - count);
      else start = await this.#startOf(count, end);
      const from = first ?? start?.seq ?? 0;
      this.#next = end;
      read = () => this.#between(from, end);
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
      damage = error;
    }
    // Read twice, so that no more than a block is kept, however many are asked for.
    first ??= await this.#firstShown(count, start, read());
    enterTurn(this.#transcript, start);
    for await (const events of read()) {
      const items = events.map((event) => this.#take(event));
      const isBefore = ({ event }: TailItem) => event.seq < first;
      yield this.#form === "transcript"
        ? items.map((item) => (isBefore(item) ? { ...item, isBefore: true } : item))
        : this.#given(items).filter((item) => !isBefore(item));
    }
    if (damage !== undefined) throw damage;
  }

  /** What was committed since and is given out, block by block, as long as there is more. */
  async *added(): AsyncGenerator<readonly TailItem[]> {
    for (;;) {
      // With the last one that is known: it shows that this is still the same log.
      const from = Math.max(0, this.#next - 1);
      const events = await this.#source.store.readFrom(this.#id, from, { limit: BLOCK });
      const [known] = events;
      if (this.#next > 0) this.#assertSame(known);
      const items = events.filter(({ seq }) => seq >= this.#next).map((event) => this.#take(event));
      if (items.length === 0) return;
      yield this.#given(items);
    }
  }

  #given(items: readonly TailItem[]): readonly TailItem[] {
    return this.#form === "entries" ? items.filter(({ entry }) => entry !== undefined) : items;
  }

  /** @throws LogCutError unless the event before the next one is what it was */
  #assertSame(found: SessionEvent | undefined): void {
    this.#last ??= found;
    if (found !== undefined && Bun.deepEquals(found, this.#last)) return;
    const what =
      found === undefined ? "is shorter than what was shown of it" : "is another one than was shown";
    throw new LogCutError(`The log ${what}`, {
      place: { sessionId: this.#id, seq: this.#next - 1 },
      hint: "It was repaired, deleted or replaced. Start anew to follow what is there now.",
    });
  }

  /** The events from seq `from` up to seq `end`, block by block. */
  async *#between(from: number, end: number): AsyncGenerator<readonly SessionEvent[]> {
    for (let next = from; next < end; ) {
      const events = await this.#source.store.readFrom(this.#id, next, {
        limit: Math.min(BLOCK, end - next),
      });
      if (events.length === 0) this.#assertSame(undefined);
      yield events;
      next += events.length;
    }
  }

  /** The events before the damage. */
  async *#sound(): AsyncGenerator<readonly SessionEvent[]> {
    try {
      const { pages } = await this.#source.store.stream(this.#id);
      for await (const page of pages) yield page.flatMap(({ record }) => [...recordEvents(record)]);
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
    }
  }

  /**
   * The event that begins a Turn or a Step and that at least `count` entries follow; nothing where none does. A transcript
   * begins with its Turn, unless that is far away.
   */
  async #startOf(count: number, end: number): Promise<SessionEvent | undefined> {
    let found = 0;
    let step: SessionEvent | undefined;
    for (let to = end, size = FIRST_BLOCK; to > 0; size = Math.min(2 * size, LARGEST_BLOCK)) {
      const from = Math.max(0, to - size);
      const events = await this.#source.store.readFrom(this.#id, from, { limit: to - from });
      for (const event of events.toReversed()) {
        if (isEntry(event)) found += 1;
        if (found < count) continue;
        if (isEvent(event, "turn/start")) return event;
        if (isEvent(event, "step/start")) step ??= event;
        if (step !== undefined && this.#form === "entries") return step;
      }
      to = from;
      if (step !== undefined && step.seq - to > FAR) return step;
    }
    return step;
  }

  /** Seq of the first of the last `count` items that are shown of these events. */
  async #firstShown(
    count: number,
    start: SessionEvent | undefined,
    read: AsyncIterable<readonly SessionEvent[]>,
  ): Promise<number> {
    const transcript = new LiveTranscript();
    enterTurn(transcript, start);
    let seqs: number[] = [];
    for await (const events of read) {
      for (const event of events) {
        const isShown = this.#form === "events" || transcript.fold(event) !== undefined;
        if (isShown) seqs.push(event.seq);
      }
      if (seqs.length > 2 * count) seqs = last(seqs, count);
    }
    return last(seqs, count)[0] ?? Number.POSITIVE_INFINITY;
  }

  #take(event: SessionEvent): TailItem {
    this.#next = event.seq + 1;
    this.#last = event;
    if (this.#form === "events") return { event };
    const entry = this.#transcript.fold(event);
    return entry === undefined ? { event } : { event, entry };
  }
}

/** Tells a transcript that begins with a Step which Turn it is of. */
function enterTurn(transcript: LiveTranscript, start: SessionEvent | undefined): void {
  if (start === undefined || !isEvent(start, "step/start")) return;
  const { seq, time, data } = start;
  transcript.fold({ type: "turn/start", seq, time, data: { turn: data.turn } });
}

/** Whether an event surely makes an entry; one that ends an answer which was cut off makes one as well. */
function isEntry(event: SessionEvent): boolean {
  if (isEvent(event, "turn/end")) return event.data.reason.kind !== "completed";
  const isMessage =
    isEvent(event, "user/message") || isEvent(event, "assistant/message") || isEvent(event, "tool/result");
  return isMessage && event.surfaceOp === "append";
}

function last<T>(items: T[], count: number): T[] {
  return count === 0 ? [] : items.slice(-count);
}
