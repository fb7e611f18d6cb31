import type { Database } from "bun:sqlite";
import type { DecodedRecord } from "../../session/records.ts";
import type {
  Page,
  PageRequest,
  Revision,
  SnapshotSummary,
  StoredSession,
  StoredSummary,
} from "../backend.ts";
import { ClosedError, CorruptError, toStorageError } from "../errors.ts";
import { PlainAccess, type ReadAccess } from "./access.ts";
import { formatRevision, headerChecksum, MAX_EVENTS, sessionKey } from "./keys.ts";
import { QuotedRows } from "./quoted-rows.ts";
import {
  decodeRow,
  describeSession,
  isRecordRow,
  isSessionRow,
  isTailRow,
  type RecordRow,
  type SessionRow,
} from "./rows.ts";
import listSessions from "./sql/list-sessions.sql" with { type: "text" };
import selectPage from "./sql/select-page.sql" with { type: "text" };
import selectRange from "./sql/select-range.sql" with { type: "text" };
import selectRecordStart from "./sql/select-record-start.sql" with { type: "text" };
import selectSession from "./sql/select-session.sql" with { type: "text" };
import selectStraySession from "./sql/select-stray-session.sql" with { type: "text" };
import selectTail from "./sql/select-tail.sql" with { type: "text" };

/** Rows read at once; a page is decoded before the next is read. */
const PAGE_ROWS = 256;
/** Text of the rows read at once, in UTF-16 units; a single row may have more. */
const PAGE_LENGTH = 1024 * 1024;

const DEFAULT_LIMIT = 100;

interface RowPage {
  readonly rows: readonly RecordRow[];
  readonly isEnd: boolean;
  readonly fault?: { readonly error: unknown };
}

/** The reading side of a SQLite store: its own read-only connection, which a commit under way never blocks. */
export class SqliteReader implements Disposable {
  readonly #path: string;
  readonly #access: ReadAccess;
  #closed = false;

  /** `open` makes the connection; an ordinary one when absent. */
  constructor(path: string, open: (path: string) => ReadAccess = (file) => new PlainAccess(file)) {
    this.#path = path;
    this.#access = this.#typed(() => open(path));
  }

  readStored(id: string): StoredSession | undefined {
    const session = this.#session(id);
    if (session === undefined) return undefined;
    return {
      headerText: session.header,
      revision: this.#revision(session),
      pages: this.#pages(id, session.number),
      torn: () => undefined,
    };
  }

  readRevision(id: string): Revision | undefined {
    const session = this.#session(id);
    return session === undefined ? undefined : this.#revision(session);
  }

  readSuffix(id: string, fromSeq: number, limit: number): readonly DecodedRecord[] | undefined {
    const session = this.#session(id);
    if (session === undefined) return undefined;
    // Row ids hold session and seq, so that a seq out of bounds would lead into another session.
    const seq = Math.min(Math.max(fromSeq, 0), MAX_EVENTS - 1);
    const start = this.#get(selectRecordStart, { session: session.number, seq });
    const from = isTailRow(start) ? start.seq : seq;
    if (isTailRow(start)) this.#assertFollows(id, session.number, from);
    const rows = this.#rows(selectPage, { session: session.number, from, limit });
    const last = rows.at(-1);
    // What is asked for goes beyond what can be read.
    if (last === undefined || last.seq + last.count - seq < limit) this.#assertWhole(id);
    const quoted = this.#quoted(id, session.number);
    return rows.map((row) => quoted.take(decodeRow(row, id, this.#path)));
  }

  list(request: PageRequest): Page<StoredSummary> {
    return this.#list(request, describeSession);
  }

  listSnapshots(request: PageRequest): Page<SnapshotSummary> {
    return this.#list(request, (row) => ({ id: describeSession(row).id, revision: this.#revision(row) }));
  }

  /** Whether rows lie here that belong to no session. */
  hasStrays(): boolean {
    return this.#get(selectStraySession, {}) !== undefined;
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    this.#access[Symbol.dispose]();
  }

  /** Whoever reads all stops at a row that says again what the one before it says; whoever begins there must as well. */
  #assertFollows(id: string, session: number, from: number): void {
    if (from === 0) return;
    const before = this.#get(selectRecordStart, { session, seq: from - 1 });
    const end = isTailRow(before) ? before.seq + before.count : 0;
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
    if (!isSessionRow(session)) throw this.#otherShape();
    const actual = headerChecksum(key, session.header);
    if (actual === session.checksum) return session;
    throw new CorruptError("The checksum of the session header does not match", {
      expected: `checksum ${session.checksum}`,
      found: `checksum ${actual}`,
      place: { path: this.#path, sessionId: id },
    });
  }

  #revision(session: SessionRow): Revision {
    const tail = this.#get(selectTail, { session: session.number });
    if (tail === undefined) return formatRevision(session, 0, 0);
    if (!isTailRow(tail)) throw this.#otherShape();
    return formatRevision(session, tail.seq + tail.count, tail.checksum);
  }

  async *#pages(id: string, session: number): AsyncGenerator<readonly DecodedRecord[]> {
    const quoted = this.#quoted(id, session);
    let from = 0;
    for (;;) {
      const { rows, isEnd, fault } = this.#page(session, from);
      const page: DecodedRecord[] = [];
      try {
        for (const row of rows) page.push(quoted.take(decodeRow(row, id, this.#path)));
        if (fault !== undefined) throw fault.error;
      } catch (error) {
        // What precedes the damage is good.
        if (page.length > 0) yield page;
        throw toStorageError(error, "The store could not be read", { path: this.#path, sessionId: id });
      }
      if (page.length > 0) yield page;
      if (isEnd) {
        this.#assertWhole(id);
        return;
      }
      from = (rows.at(-1)?.seq ?? from) + 1;
    }
  }

  /** Rows from a seq on, as many as make a page, whether they are the last ones, and why no more could be read. */
  #page(session: number, from: number): RowPage {
    return this.#read((database) => {
      const rows: RecordRow[] = [];
      let length = 0;
      try {
        // Leaving the loop early ends the statement.
        for (const row of database.query(selectPage).iterate({ session, from, limit: PAGE_ROWS })) {
          if (!isRecordRow(row)) throw this.#otherShape();
          rows.push(row);
          length += row.body.length;
          if (length >= PAGE_LENGTH) return { rows, isEnd: false };
        }
      } catch (error) {
        return { rows, isEnd: true, fault: { error } };
      }
      return { rows, isEnd: rows.length < PAGE_ROWS };
    });
  }

  /** What rows quote is read by itself where it lies before those that are read, or far back. */
  #quoted(id: string, session: number): QuotedRows {
    const place = { path: this.#path, sessionId: id };
    return new QuotedRows(place, (first, last) => this.#rows(selectRange, { session, first, last }));
  }

  #rows(sql: string, parameters: Record<string, number>): RecordRow[] {
    const rows = this.#read((database) => database.query(sql).all(parameters));
    if (rows.every(isRecordRow)) return rows;
    throw this.#otherShape();
  }

  #list<T>({ limit = DEFAULT_LIMIT, cursor }: PageRequest, map: (row: SessionRow) => T): Page<T> {
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor);
    const rows = this.#read((database) => database.query(listSessions).all({ before, limit: limit + 1 }));
    if (!rows.every(isSessionRow)) throw this.#otherShape();
    // Sessions may be missing in any listing, but one without any would say that there are none.
    if (rows.length === 0) this.#assertWhole();
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      items: page.map(map),
      ...(rows.length > limit && last !== undefined ? { nextCursor: String(last.number) } : {}),
    };
  }

  /** @throws CorruptError where the end of the log, and with it that of any session, cannot be read */
  #assertWhole(sessionId?: string): void {
    if (this.#closed) throw new ClosedError();
    const error = this.#typed(() => this.#access.hiddenEnd());
    if (error !== undefined) throw sessionId === undefined ? error : error.at({ sessionId });
  }

  #get(sql: string, parameters: Record<string, string | number>): unknown {
    return this.#read((database) => database.query(sql).get(parameters)) ?? undefined;
  }

  #otherShape(): CorruptError {
    return new CorruptError("A row has another shape", {
      expected: "the columns of the table",
      found: "other types",
      place: { path: this.#path },
    });
  }

  #read<T>(task: (database: Database) => T): T {
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
