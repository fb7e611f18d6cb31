import type { Database } from "bun:sqlite";
import type { DecodedRecord, decodeRecord } from "../../session/records.ts";
import type {
  ListRequest,
  MarkRequest,
  Page,
  PageRequest,
  Revision,
  SnapshotSummary,
  StoredSession,
  StoredSummary,
} from "../backend.ts";
import { ClosedError, CorruptError, SessionGoneError, toStorageError } from "../errors.ts";
import { PlainAccess, type ReadAccess } from "./access.ts";
import { formatRevision, headerChecksum, MAX_EVENTS, sessionKey } from "./keys.ts";
import { endOf, leadsOn } from "./mark.ts";
import { QuotedRows } from "./quoted-rows.ts";
import { otherShape, RowPages } from "./row-pages.ts";
import {
  type DecodedRow,
  decodeRow,
  describeSession,
  isRecordRow,
  isSessionRow,
  isTailRow,
  type RecordRow,
  type SessionRow,
} from "./rows.ts";
import { isSegment, PackedRow, SegmentReader } from "./segment.ts";
import listSessions from "./sql/list-sessions.sql" with { type: "text" };
import selectPageAt from "./sql/select-page-at.sql" with { type: "text" };
import selectRange from "./sql/select-range.sql" with { type: "text" };
import selectRecordStart from "./sql/select-record-start.sql" with { type: "text" };
import selectSession from "./sql/select-session.sql" with { type: "text" };
import selectStraySession from "./sql/select-stray-session.sql" with { type: "text" };
import selectTail from "./sql/select-tail.sql" with { type: "text" };

const DEFAULT_LIMIT = 100;

/** The reading side of a SQLite store: its own read-only connection, which a commit under way never blocks. */
export class SqliteReader implements Disposable {
  readonly #path: string;
  readonly #access: ReadAccess;
  readonly #segments = new SegmentReader();
  #closed = false;

  /** `open` makes the connection; an ordinary one when absent. */
  constructor(path: string, open: (path: string) => ReadAccess = (file) => new PlainAccess(file)) {
    this.#path = path;
    this.#access = this.#typed(() => open(path));
  }

  /** @param decode how a record is read; as {@link decodeRecord} does when absent */
  readStored(id: string, fromSeq = 0, decode?: typeof decodeRecord): StoredSession | undefined {
    const session = this.#session(id);
    if (session === undefined) return undefined;
    return {
      headerText: session.header,
      revision: this.#revision(session),
      pages: this.#pages(id, session.number, { fromSeq, decode }),
      torn: () => undefined,
    };
  }

  /** As {@link readStored}, up to where the session ends now, of which it makes a mark. */
  readMarked(id: string, { since }: MarkRequest): StoredSession | undefined {
    const session = this.#session(id);
    if (session === undefined) return undefined;
    const { end, fromSeq } = this.read((database) => {
      const end = endOf(database, this.#path, session);
      const isProven = since !== undefined && leadsOn(database, this.#path, session, since, end);
      return { end, fromSeq: isProven ? since.seq : 0 };
    });
    const { mark, revision } = end;
    return {
      headerText: session.header,
      revision,
      pages: this.#pages(id, session.number, { fromSeq, until: mark.seq }),
      torn: () => undefined,
      isContinued: fromSeq > 0,
      mark: (seq) => (seq === mark.seq ? mark : undefined),
    };
  }

  readRevision(id: string): Revision | undefined {
    const session = this.#session(id);
    return session === undefined ? undefined : this.#revision(session);
  }

  readSuffix(id: string, fromSeq: number, limit: number): readonly DecodedRecord[] | undefined {
    const session = this.#session(id);
    if (session === undefined) return undefined;
    const seq = boundedSeq(fromSeq);
    const rows = this.read((database) => this.#suffix(database, id, session.number, seq, limit));
    this.#assertFollows(id, session.number, rows[0], seq);
    const last = rows.at(-1)?.decoded.record;
    // What is asked for goes beyond what can be read.
    if (last === undefined || last.seq + last.count - seq < limit) this.#assertWhole(id);
    const quoted = this.#quoted(id, session.number);
    return rows.map((row) => quoted.take(row));
  }

  list(request: ListRequest): Page<StoredSummary> {
    // Where the end of the log is hidden, no revision tells that a session is whole.
    const isKnown = request.revisions === true && this.#hiddenEnd() === undefined;
    if (!isKnown) return this.#list(request, describeSession);
    return this.#list(request, (row, revision) => ({ ...describeSession(row), revision: revision() }));
  }

  listSnapshots(request: PageRequest): Page<SnapshotSummary> {
    return this.#list(request, (row, revision) => ({ id: describeSession(row).id, revision: revision() }));
  }

  /** Whether rows lie here that belong to no session. */
  hasStrays(): boolean {
    return this.#get(selectStraySession, {}) !== undefined;
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    this.#access[Symbol.dispose]();
  }

  /**
   * Whoever reads all stops at a row that says again what the one before it says; whoever begins there must as well.
   * @param row the first of those that were read from `fromSeq` on
   */
  #assertFollows(id: string, session: number, row: DecodedRow | undefined, fromSeq: number): void {
    const from = row?.decoded.record.seq ?? 0;
    if (from === 0 || from > fromSeq) return;
    const before = this.#get(selectRecordStart, { session, seq: from - 1 });
    const end = isTailRow(before) ? before.seq + before.count : 0;
    // The one before it is the segment that it lies in.
    if (row instanceof PackedRow && row.segment === Object(before).seq) return;
    if (end <= from) return;
    throw new CorruptError("An event stands twice in the log", {
      expected: `seq ${end}`,
      found: `seq ${from}`,
      place: { path: this.#path, sessionId: id, seq: from },
    });
  }

  #session(id: string): SessionRow | undefined {
    const key = sessionKey(id);
    const session = this.#get(selectSession, { key });
    if (session === undefined) {
      this.#assertWhole(id);
      return undefined;
    }
    if (!isSessionRow(session)) throw otherShape(this.#path);
    const actual = headerChecksum(key, session.header);
    if (actual === session.checksum) return session;
    throw new CorruptError("The checksum of the session header does not match", {
      expected: `checksum ${session.checksum}`,
      found: `checksum ${actual}`,
      place: { path: this.#path, sessionId: id },
    });
  }

  #revision(session: SessionRow): Revision {
    return this.read((database) => this.#revisionIn(database, session));
  }

  #revisionIn(database: Database, session: SessionRow): Revision {
    const tail = database.query(selectTail).get({ session: session.number }) ?? undefined;
    if (tail === undefined) return formatRevision(session, 0, 0);
    if (!isTailRow(tail)) throw otherShape(this.#path);
    return formatRevision(session, tail.seq + tail.count, tail.checksum);
  }

  /** Rows from the one on that holds the event `seq`, or stands last before it. */
  #suffix(database: Database, id: string, session: number, seq: number, limit: number): DecodedRow[] {
    const place = { path: this.#path, sessionId: id };
    const found: DecodedRow[] = [];
    for (const row of database.query(selectPageAt).iterate({ session, from: seq, limit })) {
      if (!isRecordRow(row)) throw otherShape(this.#path);
      if (!isSegment(row)) found.push(decodeRow(row, id, this.#path));
      else {
        const segment = this.#segments.open(row, session, { ...place, seq: row.seq });
        found.push(...segment.rows(seq));
      }
      // One of them may be many. Leaving the loop early ends the statement.
      if (found.length >= limit) break;
    }
    return found.slice(0, limit);
  }

  async *#pages(
    id: string,
    session: number,
    { fromSeq, until = MAX_EVENTS, decode }: PagesOptions,
  ): AsyncGenerator<readonly DecodedRecord[]> {
    const quoted = this.#quoted(id, session);
    const owner = { path: this.#path, id, number: session };
    const from = boundedSeq(fromSeq);
    const pages = new RowPages(owner, this.#segments, from, decode);
    for (let isFirst = true; ; isFirst = false) {
      const { rows, isEnd, fault } = this.read((database) => pages.read(database));
      const page: DecodedRecord[] = [];
      let isBeyond = false;
      try {
        const unpacked = rows.values().flatMap((row) => pages.unpack(row));
        for (const row of unpacked) {
          if (isFirst && page.length === 0) this.#assertFollows(id, session, row, from);
          isBeyond = row.decoded.record.seq >= until;
          if (isBeyond) break;
          page.push(quoted.take(row));
        }
        if (fault !== undefined && !isBeyond) throw fault.error;
      } catch (error) {
        // What precedes the damage is good.
        if (page.length > 0) yield page;
        throw toStorageError(error, "The store could not be read", { path: this.#path, sessionId: id });
      }
      if (page.length > 0) yield page;
      if (isEnd || isBeyond) {
        this.#assertWhole(id);
        // A session that is deleted meanwhile ends early, and looks whole.
        if (this.#session(id)?.number !== session) throw new SessionGoneError(id, this.#path);
        return;
      }
    }
  }

  /** What rows quote is read by itself where it lies before those that are read, or far back. */
  #quoted(id: string, session: number): QuotedRows {
    const place = { path: this.#path, sessionId: id };
    return new QuotedRows(place, (first, last) => {
      const rows = this.#rows(selectRange, { session, first, last });
      const unpacked = this.#segments.unpack(rows, session, first, place);
      return unpacked.filter(({ seq }) => seq >= first && seq <= last);
    });
  }

  #rows(sql: string, parameters: Record<string, number>): RecordRow[] {
    const rows = this.read((database) => database.query(sql).all(parameters));
    if (rows.every(isRecordRow)) return rows;
    throw otherShape(this.#path);
  }

  /** @param map gets a row, and a way to its revision */
  #list<T>(
    { limit = DEFAULT_LIMIT, cursor }: PageRequest,
    map: (row: SessionRow, revision: () => Revision) => T,
  ): Page<T> {
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor);
    const rows = this.read((database) => database.query(listSessions).all({ before, limit: limit + 1 }));
    if (!rows.every(isSessionRow)) throw otherShape(this.#path);
    // Sessions may be missing in any listing, but one without any would say that there are none.
    if (rows.length === 0) this.#assertWhole();
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      // In one read, which costs a look at the files.
      items: this.read((database) => page.map((row) => map(row, () => this.#revisionIn(database, row)))),
      ...(rows.length > limit && last !== undefined ? { nextCursor: String(last.number) } : {}),
    };
  }

  /** @throws CorruptError where the end of the log, and with it that of any session, cannot be read */
  #assertWhole(sessionId?: string): void {
    const error = this.#hiddenEnd();
    if (error !== undefined) throw sessionId === undefined ? error : error.at({ sessionId });
  }

  #hiddenEnd(): CorruptError | undefined {
    if (this.#closed) throw new ClosedError();
    return this.#typed(() => this.#access.hiddenEnd());
  }

  #get(sql: string, parameters: Record<string, string | number>): unknown {
    return this.read((database) => database.query(sql).get(parameters)) ?? undefined;
  }

  /** Runs a task that only reads. @throws as all reading does */
  read<T>(task: (database: Database) => T): T {
    if (this.#closed) throw new ClosedError();
    return this.#typed(() => this.#access.read(task));
  }

  #typed<T>(task: () => T): T {
    try {
      return task();
    } catch (error) {
      throw toStorageError(error, "The store could not be read", { path: this.#path });
    }
  }
}

interface PagesOptions {
  readonly fromSeq: number;
  /** Seq of the event before which to stop. */
  readonly until?: number;
  /** How a record is read; as {@link decodeRecord} does when absent. */
  readonly decode?: typeof decodeRecord | undefined;
}

/** Row ids hold session and seq, so that a seq out of bounds would lead into another session. */
function boundedSeq(seq: number): number {
  return Math.min(Math.max(seq, 0), MAX_EVENTS - 1);
}
