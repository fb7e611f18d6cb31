import type { SessionHeader } from "../session/header.ts";
import type { DecodedRecord, SessionRecord } from "../session/records.ts";
import type { HoldfastError } from "./errors.ts";

/*
 * The small set of hooks that a storage backend implements. All that backends share (lazy creation, validation,
 * recovery, per-session order, group commit) is written once, in coordinator.ts, against these hooks.
 */

/** Equal while nothing in the session changed; otherwise opaque. */
export type Revision = string;

/** The end of a log that is damaged or was never fully written. Opaque to all but the backend that made it. */
export type TornMarker = unknown;

/** Where a reading of a session ended, and what shows later that all before it is still the same. */
export interface Mark {
  /** Seq that comes next. */
  readonly seq: number;
  /** Opaque to all but the backend that made it. */
  readonly proof: string;
}

/** That a reading is to come with a mark. */
export interface MarkRequest {
  /** Behind which mark it may begin, where the backend finds that the session has grown there, and was not changed before. */
  readonly since?: Mark;
}

/** A session as it lies in storage. */
export interface StoredSession {
  readonly headerText: string;
  readonly revision: Revision;
  /** Records in stored order, a bounded page at a time, each checked by itself. @throws CorruptError with its place. */
  readonly pages: AsyncIterable<readonly DecodedRecord[]>;
  /** Known once `pages` is exhausted. */
  torn(): TornMarker | undefined;
  /** A record of `pages` as it may be kept for long: where a log is large, without its text, which is read again. */
  keep?(record: SessionRecord): SessionRecord;
  /** Whether `pages` begins behind the mark that it may begin behind. */
  readonly isContinued?: boolean;
  /**
   * The end of `pages`, which ended before `seq`: as it was when the session was opened, so that the mark of one that was
   * changed while it was read leads nowhere. Only where marks were asked for, and nothing is torn off.
   */
  mark?(seq: number): Mark | undefined;
}

/** One durable append to one session. The records are contiguous and start at `expectedSeq`. */
export interface AppendBatch {
  readonly id: string;
  /** Stored header text; set on the first append, which creates the session. */
  readonly header?: string;
  /** Seq that must come next in the store. */
  readonly expectedSeq: number;
  readonly records: readonly SessionRecord[];
}

/** What became of one batch. A batch that failed left no trace. */
export type AppendOutcome =
  | { readonly ok: true; readonly revision: Revision }
  | { readonly ok: false; readonly error: HoldfastError };

/** What a repair writes: the torn tail goes into quarantine, then the records follow the last good one. */
export interface Repair {
  readonly torn?: TornMarker;
  readonly expectedSeq: number;
  readonly records: readonly SessionRecord[];
}

export interface PageRequest {
  /** Most items of the page; 100 when absent. */
  readonly limit?: number;
  /** `nextCursor` of the page before. */
  readonly cursor?: string;
}

export interface ListRequest extends PageRequest {
  /** Whether each session comes with its revision, where the backend knows it. */
  readonly revisions?: boolean;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Absent on the last page. */
  readonly nextCursor?: string;
}

/** What keeps a session in a listing from being used. */
export interface SessionProblem {
  readonly state: "corrupt" | "unsupported" | "duplicate" | "unreadable";
  /** What happened and where, as a person should read it. */
  readonly reason: string;
}

/** A session in a listing; its body was not read for it. */
export interface StoredSummary {
  readonly id: string;
  /** Empty where it cannot be trusted. */
  readonly headerText: string;
  /** File of the session, where each session has one. */
  readonly location?: string;
  /** Why the session cannot be trusted, if so; its header may still be read. */
  readonly problem?: SessionProblem;
  /** Only where it was asked for. */
  readonly revision?: Revision;
}

/** A session and its revision, for callers that keep something derived and want to know whether it still holds. */
export interface SnapshotSummary {
  readonly id: string;
  readonly revision: Revision;
}

export interface StorageBackend {
  /** Kind of backend, for messages and health. */
  readonly name: string;
  /** Where a session with this header lies, for people. Pure. */
  locate(header: SessionHeader): string;
  /**
   * The session, or nothing when there is none. Writes nothing.
   * @param fromSeq records before the one that holds this seq are not needed. A backend that finds its way gives out none
   * of them; one that does not may give out all.
   * @param marks asks for a mark, which a backend need not make. It goes before `fromSeq`
   */
  readStored(id: string, fromSeq?: number, marks?: MarkRequest): Promise<StoredSession | undefined>;
  readRevision(id: string): Promise<Revision | undefined>;
  /**
   * Records from the one that holds `fromSeq`, at most `limit` records. Cost follows what is returned, not the log.
   * Nothing when there is no session.
   */
  readSuffix(id: string, fromSeq: number, limit: number): Promise<readonly DecodedRecord[] | undefined>;
  /**
   * Makes the batches durable with as few syncs as the backend can, one outcome each. At most one batch a session.
   * @throws when the whole commit failed; then no batch left a trace.
   */
  appendBatch(batches: readonly AppendBatch[]): Promise<readonly AppendOutcome[]>;
  /** Sets a torn tail aside and appends; durable when it resolves. */
  commitRepair(id: string, repair: Repair): Promise<Revision>;
  list(request: ListRequest): Promise<Page<StoredSummary>>;
  listSnapshots(request: PageRequest): Promise<Page<SnapshotSummary>>;
  /** Whether there was such a session. */
  delete(id: string): Promise<boolean>;
  /** Throws a typed error when the store cannot take a commit now (file gone, thread dead). */
  checkWritable(): Promise<void>;
  /**
   * Whether records lie in the store that belong to no session, such as one that lost its header. A bounded look, which
   * may miss some. Not for stores in which that cannot be.
   */
  hasStrays?(): Promise<boolean>;
  /** Whether a disk that was full has room again. Without this hook the next commit must show it. */
  hasRoom?(): Promise<boolean>;
  /** Frees everything, the writer lock last. Safe to call twice. */
  close(): Promise<void>;
}
