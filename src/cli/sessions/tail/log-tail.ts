import type { SessionEvent } from "../../../session/events.ts";
import { isPiece } from "../../../session/projections/cut-off.ts";
import { LiveTranscript, type TranscriptEntry } from "../../../session/projections/index.ts";
import { type DecodedRecord, recordEvents, type SessionRecord } from "../../../session/records.ts";
import { CorruptError, StorageFailedError } from "../../../store/errors.ts";
import type { SessionPersistence } from "../../../store/persistence.ts";
import { pagesIn, partIn, shownEvent } from "../show/read-session.ts";
import { type Beginning, BeginningFinder, FAR, lastOf } from "./beginning.ts";
import { countEvents } from "./log-end.ts";

/** Going back: first so many events, then twice as many each time, so that going back far takes few readings. */
const FIRST_STRETCH = 64;

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

/**
 * What is given out: events that make an entry, all events, or all that a transcript is made of, with those before them
 * that explain them. A transcript needs no deltas.
 */
export type TailForm = "entries" | "events" | "transcript";

/**
 * The end of a session's log, and what is added to it. Each event comes once, in order. Reads by seq, a page at a time:
 * what it costs follows what is asked for, and what is new; the deltas of a long answer are not taken apart.
 */
export class LogTail {
  readonly #source: TailSource;
  readonly #id: string;
  readonly #form: TailForm;
  readonly #transcript = new LiveTranscript();
  #isOpen = false;
  /** Seq of the first event that was not given out, and the record that ends before it, if that was read. */
  #next = 0;
  #last: SessionRecord | undefined;

  constructor(source: TailSource, id: string, form: TailForm) {
    this.#source = source;
    this.#id = id;
    this.#form = form;
  }

  /** Whether the Turn goes on that was given out last, or that what was given out is in; not known of events. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** What was said so far of an answer behind the last entry; nothing where no answer is begun. */
  get openAnswer(): Extract<TranscriptEntry, { kind: "assistant" }> | undefined {
    const entry = this.#transcript.openAnswer(this.#next);
    return entry?.kind === "assistant" ? entry : undefined;
  }

  /** The last `count` entries or events. @throws CorruptError of a damaged log, after those before the damage */
  async *last(count: number): AsyncGenerator<readonly TailItem[]> {
    let read = () => this.#sound();
    let damage: CorruptError | undefined;
    let first: number | undefined;
    let start: Beginning | undefined;
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
    // Read twice, so that no more than a page is kept, however many are asked for.
    first ??= await this.#firstShown(count, start, read());
    enterTurn(this.#transcript, start);
    this.#isOpen = start !== undefined;
    for await (const page of read()) {
      const items = page.flatMap((decoded) => this.#take(decoded));
      const isBefore = ({ event }: TailItem) => event.seq < first;
      yield this.#form === "transcript"
        ? items.map((item) => (isBefore(item) ? { ...item, isBefore: true } : item))
        : items.filter((item) => !isBefore(item));
    }
    if (damage !== undefined) throw damage;
  }

  /** What was committed since and is given out, page by page. */
  async *added(): AsyncGenerator<readonly TailItem[]> {
    // With the last one that is known: it shows that this is still the same log.
    const from = Math.max(0, this.#next - 1);
    let isKnown = this.#next === 0;
    for await (const page of this.#pages(from)) {
      let items = page;
      if (!isKnown) {
        this.#assertSame(page[0]?.record);
        isKnown = true;
        items = page.flatMap((decoded) => partIn(decoded, this.#next, Number.MAX_SAFE_INTEGER));
      }
      if (items.length > 0) yield items.flatMap((decoded) => this.#take(decoded));
    }
    if (!isKnown) this.#assertSame(undefined);
  }

  /** @throws LogCutError unless the event before the next one is what it was; `found` is the record that begins with it */
  #assertSame(found: SessionRecord | undefined): void {
    const event = found && recordEvents(found)[0];
    if (event !== undefined && (this.#last === undefined || Bun.deepEquals(event, lastEvent(this.#last))))
      return;
    const what =
      found === undefined ? "is shorter than what was shown of it" : "is another one than was shown";
    throw new LogCutError(`The log ${what}`, {
      place: { sessionId: this.#id, seq: this.#next - 1 },
      hint: "It was repaired, deleted or replaced. Start anew to follow what is there now.",
    });
  }

  async *#pages(from: number, to?: number): AsyncGenerator<readonly DecodedRecord[]> {
    const stream = await this.#source.store.stream(this.#id, { fromSeq: from });
    yield* pagesIn(stream, { from, ...(to === undefined ? {} : { to }) });
  }

  /** The events from seq `from` up to seq `end`, page by page. */
  async *#between(from: number, end: number): AsyncGenerator<readonly DecodedRecord[]> {
    if (from >= end) return;
    let next = from;
    for await (const page of this.#pages(from, end - 1)) {
      yield page;
      next += page.reduce((sum, { record }) => sum + record.count, 0);
    }
    if (next < end) this.#assertSame(undefined);
  }

  /** The events before the damage. */
  async *#sound(): AsyncGenerator<readonly DecodedRecord[]> {
    try {
      yield* this.#pages(0);
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
    }
  }

  /**
   * Where to begin so that at least `count` entries follow; nothing where there are too few. A transcript begins with its
   * Turn, unless that is far away.
   */
  async #startOf(count: number, end: number): Promise<Beginning | undefined> {
    let wanted = count;
    let within: Beginning | undefined;
    for (let to = end, size = FIRST_STRETCH; to > 0; size *= 2) {
      const from = Math.max(0, within === undefined ? to - size : within.seq - FAR);
      const finder = new BeginningFinder(wanted);
      for await (const page of this.#between(from, to)) {
        for (const decoded of page) if (!isPiece(decoded.record) && decoded.event) finder.take(decoded.event);
      }
      wanted -= Math.min(wanted, finder.entries);
      const { found } = finder;
      to = from;
      if (found === undefined) continue;
      within ??= found.within;
      if (within === undefined ? found.turn !== undefined : this.#form === "entries")
        return within ?? found.turn;
      if (within === undefined) continue;
      if (found.turn !== undefined) return within.seq - found.turn.seq > FAR ? within : found.turn;
      if (within.seq - to >= FAR) return within;
    }
    return within;
  }

  /** Seq of the first of the last `count` items that are shown of these records. */
  async #firstShown(
    count: number,
    start: Beginning | undefined,
    read: AsyncIterable<readonly DecodedRecord[]>,
  ): Promise<number> {
    const transcript = new LiveTranscript();
    enterTurn(transcript, start);
    let seqs: number[] = [];
    for await (const page of read) {
      for (const decoded of page) {
        const { seq, count: length } = decoded.record;
        if (this.#form === "events") for (let k = 0; k < length; k += 1) seqs.push(seq + k);
        else if (foldInto(transcript, decoded)?.entry !== undefined) seqs.push(seq);
      }
      if (seqs.length > 2 * count) seqs = lastOf(seqs, count);
    }
    return lastOf(seqs, count)[0] ?? Number.POSITIVE_INFINITY;
  }

  /** What is given out of the record that comes next. */
  #take(decoded: DecodedRecord): readonly TailItem[] {
    const { record } = decoded;
    this.#next = record.seq + record.count;
    this.#last = record;
    if (record.type === "turn/start" || record.type === "turn/end")
      this.#isOpen = record.type === "turn/start";
    if (this.#form === "events") return recordEvents(record).map((event) => ({ event }));
    const item = foldInto(this.#transcript, decoded);
    return item === undefined || (this.#form === "entries" && item.entry === undefined) ? [] : [item];
  }
}

/** Tells a transcript the record that comes next. Nothing of one that only holds deltas. */
function foldInto(transcript: LiveTranscript, decoded: DecodedRecord): TailItem | undefined {
  const event = shownEvent(decoded);
  if (event === undefined) {
    transcript.pass(decoded.record);
    return decoded.event && { event: decoded.event };
  }
  const entry = transcript.fold(event);
  return entry === undefined ? { event } : { event, entry };
}

function lastEvent(record: SessionRecord): SessionEvent | undefined {
  return recordEvents(record).at(-1);
}

/** Tells a transcript that does not begin with a Turn which one it is of. */
function enterTurn(transcript: LiveTranscript, start: Beginning | undefined): void {
  if (start === undefined) return;
  const { seq, time, turn } = start;
  transcript.fold({ type: "turn/start", seq, time, data: { turn } });
}
