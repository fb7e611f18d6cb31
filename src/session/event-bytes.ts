import type { SessionRecord } from "./records.ts";
import { RunBytes } from "./run-bytes.ts";
import { runText } from "./run-text.ts";
import { isRunType } from "./runs.ts";
import { type ByteSource, TextBytes } from "./text-bytes.ts";

/**
 * The JSON texts of events as bytes, record after record, with a separator between two: an event that is stored by itself
 * as it is stored, one of a packed run as it would stand alone. The bytes go to where there is room for them, as many as
 * fit: whoever sends or hashes them decides how many there are at a time.
 */
export class EventBytes implements ByteSource {
  readonly #separator: number;
  readonly #run: RunBytes;
  readonly #text = new TextBytes();
  #isSeparatorDue = false;
  #events: number;

  /** `events` stand before, already written. */
  constructor(separator: "," | "\n", events = 0) {
    this.#events = events;
    this.#separator = separator.charCodeAt(0);
    this.#run = new RunBytes(separator);
  }

  /** Number of events begun so far, with those before. */
  get events(): number {
    return this.#events;
  }

  /** Whether what was begun is written to its end. */
  get isDone(): boolean {
    return !this.#isSeparatorDue && this.#text.isDone && this.#run.isDone;
  }

  /**
   * Begins with a record that was checked before, or with those of its events that stand from seq `from` to `to`
   * (exclusive). What was begun before must be done.
   */
  start(record: SessionRecord, from = record.seq, to = record.seq + record.count): void {
    const first = Math.max(from, record.seq);
    const end = Math.min(to, record.seq + record.count);
    if (first >= end) return;
    this.#isSeparatorDue = this.#events > 0;
    this.#events += end - first;
    if (isRunType(record.type)) this.#run.start(runText(record), first - record.seq, end - record.seq);
    else this.#text.start(record.text);
  }

  fill(bytes: Uint8Array, at: number): number {
    let next = at;
    if (this.#isSeparatorDue) {
      if (next === bytes.length) return next;
      bytes[next] = this.#separator;
      next += 1;
      this.#isSeparatorDue = false;
    }
    if (!this.#text.isDone) return this.#text.fill(bytes, next);
    return this.#run.isDone ? next : this.#run.fill(bytes, next);
  }
}
