import { EventBytes } from "../session/event-bytes.ts";
import { serialiseHeader } from "../session/header.ts";
import type { LogView } from "../session/log-view.ts";
import type { SessionProjections, TranscriptEntry } from "../session/projections/index.ts";
import type { SessionRecord } from "../session/records.ts";
import type { Session } from "../session/session.ts";
import { type ByteSource, TextBytes } from "../session/text-bytes.ts";
import { JsonBytes, type LoggedList, WrittenList } from "./listed-bytes.ts";

/** Larger records are written by each reader a piece at a time. */
const LARGEST_TEXT = 1024 * 1024;
const MOST_EVENTS = 4_096;

const EVENTS: LoggedList<SessionRecord> = {
  items: (log, from) => log.records(from),
  endOf: ({ seq, count }) => seq + count,
  bytes: (from) => new EventBytes(",", from),
  isLarge: ({ count, text }) => count > MOST_EVENTS || text.length > LARGEST_TEXT,
};

function entriesOf(projections: SessionProjections): LoggedList<TranscriptEntry> {
  return {
    items: (log, from) => projections.transcript(log, from),
    endOf: ({ seq }) => seq + 1,
    bytes: (from) => new JsonBytes(from === 0),
    isLarge: () => false,
  };
}

/**
 * A session as JSON, as `GET /sessions/{session_id}` answers it: the stored texts go out as they are, and never as one
 * string. Holds what was written of it, for those who read it next.
 */
export class SessionText {
  readonly #session: Session;
  readonly #events = new WrittenList(EVENTS);
  readonly #transcript: WrittenList<TranscriptEntry>;

  constructor(session: Session) {
    this.#session = session;
    this.#transcript = new WrittenList(entriesOf(session.projections));
  }

  /** The session as of now. */
  parts(): Generator<Uint8Array | ByteSource> {
    const { id, header, projections } = this.#session;
    const log = this.#session.log.snapshot();
    const usage = JSON.stringify(projections.usage.total);
    const head = `{"sessionId":${JSON.stringify(id)},"header":${serialiseHeader(header)},"nextSeq":${log.length},"usage":${usage},"events":[`;
    return this.#parts(head, log);
  }

  /** Gives back the memory of what was written. It can be read again. */
  release(): void {
    this.#events.release();
    this.#transcript.release();
  }

  *#parts(head: string, log: LogView): Generator<Uint8Array | ByteSource> {
    yield new TextBytes(head);
    yield* this.#events.parts(log);
    yield new TextBytes('],"transcript":[');
    yield* this.#transcript.parts(log);
    yield new TextBytes("]}");
  }
}
