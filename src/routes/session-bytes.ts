import { EventBytes } from "../session/event-bytes.ts";
import { serialiseHeader } from "../session/header.ts";
import type { TranscriptEntry } from "../session/projections/index.ts";
import type { SessionRecord } from "../session/records.ts";
import type { Session } from "../session/session.ts";
import { type ByteSource, TextBytes } from "../session/text-bytes.ts";

/** Room for a character of any length; a buffer with less is full. */
const CHARACTER = 4;

/**
 * A session as of now, as JSON: what `GET /sessions/{session_id}` answers. It is made piece by piece: the stored texts go
 * out as they are, and never as one string.
 */
export class SessionBytes implements ByteSource {
  readonly #records: Iterator<SessionRecord, undefined>;
  readonly #transcript: Iterator<TranscriptEntry, unknown>;
  readonly #events = new EventBytes(",");
  readonly #text = new TextBytes();
  /** What comes once the text and the events that were begun are written. */
  #next: "events" | "transcript" | "nothing" = "events";
  #separator = "";

  constructor({ id, header, log, projections }: Session) {
    const snapshot = log.snapshot();
    this.#records = snapshot.records();
    this.#transcript = projections.transcript(snapshot);
    const usage = JSON.stringify(projections.usage.total);
    this.#text.start(
      `{"sessionId":${JSON.stringify(id)},"header":${serialiseHeader(header)},"nextSeq":${snapshot.length},"usage":${usage},"events":[`,
    );
  }

  get isDone(): boolean {
    return this.#next === "nothing" && this.#text.isDone;
  }

  fill(bytes: Uint8Array, at: number): number {
    let next = at;
    for (;;) {
      if (!this.#text.isDone) next = this.#text.fill(bytes, next);
      if (!this.#events.isDone) next = this.#events.fill(bytes, next);
      if (bytes.length - next < CHARACTER || this.isDone) return next;
      this.#begin();
    }
  }

  #begin(): void {
    if (this.#next === "events") {
      const { value: record } = this.#records.next();
      if (record !== undefined) return this.#events.start(record);
      this.#next = "transcript";
      return this.#text.start('],"transcript":[');
    }
    const { value: entry, done } = this.#transcript.next();
    if (done !== true) {
      this.#text.start(this.#separator + JSON.stringify(entry));
      this.#separator = ",";
      return;
    }
    this.#next = "nothing";
    this.#text.start("]}");
  }
}
