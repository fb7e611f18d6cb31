import { isEvent, isMessageType, type SessionEvent } from "../../../session/events.ts";

/** Events before a place to begin at among which the beginning of its Turn is looked for. */
export const FAR = 1_024;

/**
 * An event from which on a log can be read: it tells of which Turn it is, and what follows needs nothing that stands before
 * it. Begins a Turn or a Step, or is the message of a Step.
 */
export interface Beginning {
  readonly seq: number;
  readonly time: number;
  readonly turn: number;
}

/** The last places to begin at that stand at some place of a log or before it. */
export interface Beginnings {
  /** Where a Turn begins. */
  readonly turn?: Beginning;
  /** One in that Turn, or in one that begins elsewhere. */
  readonly within?: Beginning;
}

/**
 * Reads part of a log forwards, and finds where to begin so that so many entries follow. Memory follows how many are
 * wanted, not the log.
 */
export class BeginningFinder {
  readonly #wanted: number;
  #last: Beginnings = {};
  #entries = 0;
  /** For each of the last entries, where to begin for it. */
  #atEntries: Beginnings[] = [];

  constructor(wanted: number) {
    this.#wanted = wanted;
  }

  /** Entries that were found. */
  get entries(): number {
    return this.#entries;
  }

  /** Where to begin; nothing where too few entries were found. */
  get found(): Beginnings | undefined {
    if (this.#wanted === 0) return this.#last;
    return this.#atEntries.at(-this.#wanted);
  }

  take(event: SessionEvent): void {
    const { seq, time } = event;
    if (isEvent(event, "turn/start")) this.#last = { turn: { seq, time, turn: event.data.turn } };
    else if (isEvent(event, "step/start") || (isEvent(event, "assistant/message") && isAppended(event)))
      this.#last = { ...this.#last, within: { seq, time, turn: event.data.turn } };
    if (!isEntry(event)) return;
    this.#entries += 1;
    this.#atEntries.push(this.#last);
    if (this.#atEntries.length > 2 * this.#wanted + 64)
      this.#atEntries = lastOf(this.#atEntries, this.#wanted);
  }
}

export function lastOf<T>(items: T[], count: number): T[] {
  return count === 0 ? [] : items.slice(-count);
}

function isAppended({ surfaceOp }: SessionEvent): boolean {
  return surfaceOp === "append";
}

/** Whether an event surely makes an entry; one that ends an answer which was cut off makes one as well. */
function isEntry(event: SessionEvent): boolean {
  if (isEvent(event, "turn/end")) return event.data.reason.kind !== "completed";
  return isMessageType(event.type) && isAppended(event);
}
