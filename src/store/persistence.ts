import type { SessionEvent } from "../session/events.ts";
import type { SessionHeader } from "../session/header.ts";
import type { LogView } from "../session/log-view.ts";
import type { SessionProjections } from "../session/projections/index.ts";
import type { DecodedRecord, SessionRecord } from "../session/records.ts";
import type { Session } from "../session/session.ts";
import type {
  ListRequest,
  Mark,
  MarkRequest,
  Page,
  PageRequest,
  Revision,
  SessionProblem,
  SnapshotSummary,
} from "./backend.ts";

export type { ListRequest };

export interface Cancellable {
  /** Ends the wait with the signal's reason. A commit that is on its way is not undone. */
  readonly signal?: AbortSignal;
}

export interface StreamOptions extends Cancellable {
  /** The first seq that is wanted; 0 when absent. */
  readonly fromSeq?: number;
  /** Asks for a mark, and may name one to begin behind. Not with `fromSeq`. */
  readonly marks?: MarkRequest;
}

/** A session read from storage, closed in memory where its last Turn was open. Never changes. */
export interface SessionSnapshot {
  readonly header: SessionHeader;
  /** The closed view: what is stored, then the closers. */
  readonly log: LogView;
  readonly projections: SessionProjections;
  /** The synthetic events at the end of `log` that are not stored. Empty for a session that was left in order. */
  readonly closers: readonly SessionEvent[];
  readonly revision: Revision;
  /** Whether the end of the log is damaged or was never fully written; that piece is not part of `log`. */
  readonly torn: boolean;
  /** Event types that this program does not know and that are not ignorable, each with its first seq. */
  readonly unknownTypes: ReadonlyArray<{ readonly type: string; readonly seq: number }>;
}

/** One unpublished Session, reserved for its caller. Disposing gives the reservation back unless it was published. */
export interface Preparation extends AsyncDisposable {
  readonly session: Session;
  /** Events that recovery committed just now. */
  readonly closers: readonly SessionEvent[];
  /** Whether recovery set the end of the log aside, which is damaged or was never fully written. */
  readonly torn: boolean;
  /** Makes the Session the open one of its id; from here on its owner closes it. */
  publish(): Session;
}

/**
 * A session in a listing. `header` is absent when the stored one cannot be read. `problem` is absent when nothing is
 * known that keeps the session from being used; its body was not read for that.
 */
export interface SessionSummary {
  readonly id: string;
  readonly header?: SessionHeader;
  /** File of the session, where each session has one. */
  readonly location?: string;
  readonly problem?: SessionProblem;
  /** Only where it was asked for, and is known without opening the session. */
  readonly revision?: Revision;
}

/** A stored session from its first record to its last, read while it is asked for: memory does not follow the log. */
export interface SessionStream {
  readonly header: SessionHeader;
  /** The header's JSON as it is stored. */
  readonly headerText: string;
  readonly revision: Revision;
  /**
   * Records in order, a bounded page at a time, each checked alone and in its place; no closers.
   * @throws CorruptError after all that precedes the damage was given out
   */
  readonly pages: AsyncIterable<readonly DecodedRecord[]>;
  /** Whether the end of the log is damaged or was never fully written; known once `pages` is exhausted. */
  torn(): boolean;
  /** Whether `pages` begins behind the mark that was named; otherwise it begins at the first record. */
  readonly isContinued?: boolean;
  /**
   * The end of `pages` as a mark; to be asked once it is exhausted, and ended before `seq`. Nothing where none was asked for, or
   * the store makes none. Without a meaning where the end is torn.
   */
  mark?(seq: number): Mark | undefined;
}

export interface StoreHealth {
  readonly backend: string;
  /** The last commit worked, and nothing is known that keeps the next from working. */
  readonly writable: boolean;
  /** Code of the failure that made the store unwritable. */
  readonly problem?: string;
}

/**
 * The storage seam that every backend implements: a durable home for sessions.
 *
 * All errors are typed (errors.ts). Reads never write, except that `prepare` and `load` commit the recovery of an
 * interrupted Turn, once.
 */
export interface SessionPersistence extends AsyncDisposable {
  /** Where a session with this header lies, for people. Pure. */
  locate(header: SessionHeader): string;
  /** Registers a session and opens it. Nothing is written before the first append. @throws AlreadyExistsError */
  create(header: SessionHeader, options?: Cancellable): Promise<Session>;
  /**
   * Appends complete events; durable when it resolves. The first seq must be the stored next seq and the batch
   * contiguous; all of it is checked before one byte is written.
   * @throws NotFoundError, SequenceConflictError, InvalidEventError, NotSerialisableError, StorageFullError, …
   */
  append(id: string, events: readonly SessionEvent[], options?: Cancellable): Promise<void>;
  /** Reserves the session for resuming and commits the closers of an interrupted Turn. @throws SessionOpenError */
  prepare(id: string, options?: Cancellable): Promise<Preparation>;
  /** Reads the session after committing the closers of an interrupted Turn. */
  load(id: string, options?: Cancellable): Promise<SessionSnapshot>;
  /** Reads the session, closed in memory. Writes nothing. */
  inspect(id: string, options?: Cancellable): Promise<SessionSnapshot>;
  /**
   * Reads what is stored, page by page, also of a damaged log as far as it goes. Writes nothing. With `fromSeq` it begins
   * with the record that holds this seq. Where the store finds its way, what is before is not read; then it is not checked
   * either, nor what a message replaces.
   */
  stream(id: string, options?: StreamOptions): Promise<SessionStream>;
  /**
   * Appends records that a {@link SessionStream} gave out, byte for byte, and `headerText` where the session is new.
   * Durable when it resolves. They may hold what is only read: older shapes, and types that this program does not know.
   * With `setTornAside` an end that was never fully written, as an import that was cut off leaves it, is set
   * aside first; without it such a log is refused.
   * @throws SessionOpenError, SequenceConflictError unless they start at the stored next seq
   */
  importRecords(
    headerText: string,
    records: readonly SessionRecord[],
    options?: Cancellable & { readonly setTornAside?: boolean },
  ): Promise<void>;
  /** Stored events from `fromSeq` on, at most `limit`. Cost follows the answer, not the log. */
  readFrom(
    id: string,
    fromSeq: number,
    options?: Cancellable & { readonly limit?: number },
  ): Promise<readonly SessionEvent[]>;
  /** Sessions by header; no log is opened. Each session is on exactly one page. */
  list(request?: ListRequest & Cancellable): Promise<Page<SessionSummary>>;
  /** Sessions with their revisions. */
  listSnapshots(request?: PageRequest & Cancellable): Promise<Page<SnapshotSummary>>;
  /** Deletes a session that is not open. @throws NotFoundError, SessionOpenError */
  delete(id: string, options?: Cancellable): Promise<void>;
  /**
   * Whether the store holds records of no session, such as one that lost its header; for a warning where a new session
   * is made. A bounded look, which may miss some.
   */
  hasStrays(): Promise<boolean>;
  /** Cheap; for readiness probes. */
  health(): Promise<StoreHealth>;
  /** Waits for the commit under way, refuses everything after it, and frees the store. Safe to call twice. */
  close(): Promise<void>;
}
