import type { EncodedEvent } from "../session/encoding.ts";
import type { SessionEvent } from "../session/events.ts";
import type { SessionHeader } from "../session/header.ts";
import { serialiseHeader } from "../session/header.ts";
import type { EventSink, SessionLog } from "../session/log.ts";
import { Surface } from "../session/projections/surface.ts";
import type { SessionRecord } from "../session/records.ts";
import type { Revision } from "./backend.ts";
import type { CommitQueue, CommitTarget } from "./commit-queue.ts";
import { ClosedError, type HoldfastError, InvalidEventError, SequenceConflictError } from "./errors.ts";

/**
 * The writing state of one session: how far the store is, how far what is on its way will bring it, and the surface at
 * both points. Everything that appends to a session, through its log or by id, goes through its one entry.
 */
export class SessionEntry implements EventSink, CommitTarget {
  readonly id: string;
  readonly #queue: CommitQueue;
  #pendingHeader: string | undefined;
  #durableSeq: number;
  #nextSeq: number;
  #generation = 0;
  #durableSurface: Surface;
  #surface: Surface;
  #revision: Revision | undefined;
  #inFlight = 0;
  #closed = false;
  #log: SessionLog | undefined;

  private constructor(
    id: string,
    queue: CommitQueue,
    header: string | undefined,
    nextSeq: number,
    surface: Surface,
  ) {
    this.id = id;
    this.#queue = queue;
    this.#pendingHeader = header;
    this.#durableSeq = nextSeq;
    this.#nextSeq = nextSeq;
    this.#durableSurface = surface;
    this.#surface = surface.clone();
  }

  /** A session that is registered, and stored with its first append. */
  static registered(header: SessionHeader, queue: CommitQueue): SessionEntry {
    return new SessionEntry(header.id, queue, serialiseHeader(header), 0, new Surface());
  }

  /** A stored session with `nextSeq` events and this surface. */
  static stored(
    id: string,
    queue: CommitQueue,
    nextSeq: number,
    surface: Surface,
    revision: Revision,
  ): SessionEntry {
    const entry = new SessionEntry(id, queue, undefined, nextSeq, surface.clone());
    entry.#revision = revision;
    return entry;
  }

  get nextSeq(): number {
    return this.#nextSeq;
  }

  get durableSeq(): number {
    return this.#durableSeq;
  }

  get generation(): number {
    return this.#generation;
  }

  get pendingHeader(): string | undefined {
    return this.#pendingHeader;
  }

  /** Revision after the newest commit; absent before the first. */
  get revision(): Revision | undefined {
    return this.#revision;
  }

  /** Whether appends are on their way. */
  get busy(): boolean {
    return this.#inFlight > 0;
  }

  /** Whether this entry takes no more events; what is on its way still gets its answer. */
  get closed(): boolean {
    return this.#closed;
  }

  /** The open log of this session, which gets what is committed. */
  get log(): SessionLog | undefined {
    return this.#log;
  }

  attach(log: SessionLog): void {
    this.#log = log;
  }

  close(): void {
    this.#closed = true;
  }

  writable(): Promise<void> {
    return this.#queue.writable();
  }

  /** Checks the events against the log's end and its surface, then queues them. Nothing changes when a check fails. */
  async submit(events: readonly EncodedEvent[]): Promise<void> {
    if (this.#closed) throw new ClosedError("session");
    this.#stage(events);
    this.#inFlight += 1;
    try {
      await this.#queue.submit(this, events);
    } finally {
      this.#inFlight -= 1;
    }
  }

  committed(events: readonly EncodedEvent[], records: readonly SessionRecord[], revision: Revision): void {
    this.#pendingHeader = undefined;
    this.#durableSeq += events.length;
    this.#revision = revision;
    for (const { event } of withoutDeltas(events)) this.#durableSurface.fold(event);
    this.#log?.publish(records);
  }

  rejected(error: HoldfastError): void {
    // The store has gone on without this entry. Without an open log nothing hangs on it: the next append by id reads anew.
    if (this.#log === undefined && error instanceof SequenceConflictError) this.#closed = true;
    this.#generation += 1;
    this.#nextSeq = this.#durableSeq;
    this.#surface = this.#durableSurface.clone();
  }

  #stage(events: readonly EncodedEvent[]): void {
    let seq = this.#nextSeq;
    for (const event of events) {
      if (event.seq !== seq) throw new SequenceConflictError(this.id, event.seq, seq);
      seq += 1;
    }
    const others = withoutDeltas(events);
    const replaces = others.some(
      ({ event: { surfaceOp } }) => surfaceOp !== undefined && surfaceOp !== "append",
    );
    const surface = replaces ? this.#surface.clone() : this.#surface;
    for (const { event } of others) {
      if (replaces) this.#check(surface, event);
      surface.fold(event);
    }
    this.#surface = surface;
    this.#nextSeq = seq;
  }

  #check(surface: Surface, event: SessionEvent): void {
    const place = { sessionId: this.id, seq: event.seq, eventType: event.type, field: "surfaceOp" };
    const fault = surface.findFault(event);
    if (fault !== undefined)
      throw new InvalidEventError(`The message does not fit the surface: ${fault}`, place);
    const split = surface.findSplitPair(event);
    if (split !== undefined) throw new InvalidEventError(`The replacement would leave ${split}`, place);
  }
}

/** What may have a place on the surface. */
function withoutDeltas(events: readonly EncodedEvent[]): readonly EncodedEvent[] {
  return events.filter(({ delta }) => delta === undefined);
}
