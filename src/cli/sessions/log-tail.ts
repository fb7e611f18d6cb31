import { isEvent, type SessionEvent } from "../../session/events.ts";
import { LiveTranscript, type TranscriptEntry } from "../../session/projections/index.ts";
import { recordEvents } from "../../session/records.ts";
import { CorruptError, StorageFailedError } from "../../store/errors.ts";
import type { SessionPersistence } from "../../store/persistence.ts";
import type { StoreName } from "../../store/store-name.ts";

/** Events read at once; more than a packed run has, so that each read gets on. */
const BLOCK = 2_048;
/** Going back, at most so many. */
const LARGEST_BLOCK = 16_384;

/** What was shown is no longer there. */
export class LogCutError extends StorageFailedError {}

/** Something to be shown: an event, and the entry that it makes, if it makes one. */
export interface TailItem {
  readonly event: SessionEvent;
  readonly entry?: TranscriptEntry;
}

/**
 * The end of a session's log, and what is added to it. Each event comes once, in order. Reads by seq: what it costs follows
 * what is asked for, and what is new.
 */
export class LogTail {
  readonly #source: { readonly store: SessionPersistence };
  readonly #id: string;
  readonly #isShown: (item: TailItem) => boolean;
  readonly #form: "entries" | "events";
  readonly #transcript = new LiveTranscript();
  /** Seq of the first event that was not given out. */
  #next = 0;

  /**
   * @param source says before each read which store that is
   * @param form what is given out: events that make an entry, or all
   */
  constructor(source: { readonly store: SessionPersistence }, id: string, form: "entries" | "events") {
    this.#source = source;
    this.#id = id;
    this.#form = form;
    this.#isShown = ({ entry }) => form === "events" || entry !== undefined;
  }

  /** The last `count` items that are shown; of a damaged log those before the damage, which is told beside them. */
  async last(
    count: number,
    kind: StoreName["kind"],
  ): Promise<{ readonly items: readonly TailItem[]; readonly damage?: CorruptError }> {
    try {
      const end = await (kind === "sqlite" ? this.#searchEnd() : this.#readToEnd());
      return { items: await this.#lastBefore(end, count) };
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
      return { items: await this.#lastBeforeDamage(count), damage: error };
    }
  }

  async #lastBefore(end: number, count: number): Promise<readonly TailItem[]> {
    let events: readonly SessionEvent[] = [];
    // More each time, so that going back far takes few reads.
    for (let from = end, size = BLOCK; from > 0 && !this.#isEnough(events, count); size *= 2) {
      const first = Math.max(0, from - Math.min(size, LARGEST_BLOCK));
      const block = await this.#source.store.readFrom(this.#id, first, { limit: from - first });
      // Deltas are most of a log, and make no entry.
      const kept = this.#form === "events" ? block : block.filter(({ type }) => type !== "assistant/chunk");
      events = [...kept, ...events];
      from = first;
    }
    const items = events.map((event) => this.#take(event)).filter(this.#isShown);
    this.#next = end;
    return count === 0 ? [] : items.slice(-count);
  }

  async #lastBeforeDamage(count: number): Promise<readonly TailItem[]> {
    let items: TailItem[] = [];
    try {
      const { pages } = await this.#source.store.stream(this.#id);
      for await (const page of pages) {
        for (const { record } of page) {
          for (const event of recordEvents(record)) {
            const item = this.#take(event);
            if (this.#isShown(item)) items.push(item);
          }
        }
        items = count === 0 ? [] : items.slice(-count);
      }
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
    }
    return items;
  }

  /** What was committed since and is shown, block by block, as long as there is more. */
  async *added(): AsyncGenerator<readonly TailItem[]> {
    for (;;) {
      // With the last one that is known: it shows that this is still the same log.
      const from = Math.max(0, this.#next - 1);
      const events = await this.#source.store.readFrom(this.#id, from, { limit: BLOCK });
      if (events.length === 0 && this.#next > 0) {
        throw new LogCutError("The log is shorter than what was shown of it", {
          place: { sessionId: this.#id, seq: from },
          hint: "It was repaired, deleted or replaced. Start anew to follow what is there now.",
        });
      }
      const items = events.filter(({ seq }) => seq >= this.#next).map((event) => this.#take(event));
      if (items.length === 0) return;
      this.#next = (items.at(-1)?.event.seq ?? 0) + 1;
      yield items.filter(this.#isShown);
    }
  }

  #take(event: SessionEvent): TailItem {
    const entry = this.#transcript.fold(event);
    return entry === undefined ? { event } : { event, entry };
  }

  /** Whether the last `count` items are among these events, and what they need to be told: the Turn that they are of. */
  #isEnough(events: readonly SessionEvent[], count: number): boolean {
    if (this.#form === "events") return events.length >= count;
    const transcript = new LiveTranscript();
    let shown = 0;
    let isInTurn = false;
    for (const event of events) {
      const entry = transcript.fold(event);
      isInTurn ||= isEvent(event, "turn/start");
      if (isInTurn && entry !== undefined) shown += 1;
    }
    return isInTurn && shown >= count;
  }

  /** The number of events, found by asking whether there is one of a seq: a few dozen small reads, however long the log. */
  async #searchEnd(): Promise<number> {
    const has = async (seq: number) =>
      (await this.#source.store.readFrom(this.#id, seq, { limit: 1 })).length > 0;
    let low = 0;
    let high = 1;
    if (!(await has(0))) return 0;
    while (await has(high)) {
      low = high;
      high *= 2;
    }
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (await has(middle)) low = middle;
      else high = middle;
    }
    return high;
  }

  /** The number of events, counted; the store knows its way in the log from then on. */
  async #readToEnd(): Promise<number> {
    let end = 0;
    const { pages } = await this.#source.store.stream(this.#id);
    for await (const page of pages) {
      const last = page.at(-1)?.record;
      if (last !== undefined) end = last.seq + last.count;
    }
    return end;
  }
}
