import { Database } from "bun:sqlite";
import { z } from "zod";
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
import {
  decodeRow,
  describeSession,
  headerChecksum,
  isRecordRow,
  type RecordRow,
  type SessionRow,
  sessionKey,
  sessionRowSchema,
} from "./rows.ts";
import listSessions from "./sql/list-sessions.sql" with { type: "text" };
import selectPage from "./sql/select-page.sql" with { type: "text" };
import selectRecordStart from "./sql/select-record-start.sql" with { type: "text" };
import selectSession from "./sql/select-session.sql" with { type: "text" };
import selectTail from "./sql/select-tail.sql" with { type: "text" };
import setBusyTimeout from "./sql/set-busy-timeout.sql" with { type: "text" };
import setCacheSize from "./sql/set-cache-size.sql" with { type: "text" };

/** Rows read at once; a page is decoded before the next is read. */
const PAGE_ROWS = 256;

const tailSchema = z.object({ seq: z.number(), count: z.number(), checksum: z.number() });
const startSchema = z.object({ seq: z.number() });
const listRowSchema = sessionRowSchema.extend({ key: z.string() });
const DEFAULT_LIMIT = 100;

/** What a revision is made of: changes with every append, and with a session that was deleted and made again. */
export function formatRevision(
  session: { number: number; checksum: number },
  nextSeq: number,
  tail: number,
): Revision {
  return `${session.number}.${session.checksum.toString(16)}.${nextSeq}.${tail.toString(16)}`;
}

/** The reading side of a SQLite store: its own read-only connection, which a commit under way never blocks. */
export class SqliteReader implements Disposable {
  readonly #database: Database;
  readonly #path: string;
  #closed = false;

  constructor(path: string) {
    this.#path = path;
    this.#database = this.#guard(() => new Database(path, { readonly: true, strict: true }));
    this.#database.run(setBusyTimeout);
    this.#database.run(setCacheSize);
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
    const start = this.#get(selectRecordStart, { session: session.number, seq: fromSeq });
    const from = start === undefined ? fromSeq : startSchema.parse(start).seq;
    return this.#rows(session.number, from, limit).map((row) => decodeRow(row, id, this.#path));
  }

  list(request: PageRequest): Page<StoredSummary> {
    return this.#list(request, (row) => ({ ...describeSession(row), headerText: row.header }));
  }

  listSnapshots(request: PageRequest): Page<SnapshotSummary> {
    return this.#list(request, (row) => ({ id: describeSession(row).id, revision: this.#revision(row) }));
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    this.#database.close();
  }

  #session(id: string): SessionRow | undefined {
    const key = sessionKey(id);
    const row = this.#get(selectSession, { key });
    if (row === undefined) return undefined;
    const session = sessionRowSchema.parse(row);
    const actual = headerChecksum(key, session.header);
    if (actual === session.checksum) return session;
    throw new CorruptError("The checksum of the session header does not match", {
      expected: `checksum ${session.checksum}`,
      found: `checksum ${actual}`,
      place: { path: this.#path, sessionId: id },
    });
  }

  #revision(session: { number: number; checksum: number }): Revision {
    const row = this.#get(selectTail, { session: session.number });
    if (row === undefined) return formatRevision(session, 0, 0);
    const { seq, count, checksum } = tailSchema.parse(row);
    return formatRevision(session, seq + count, checksum);
  }

  async *#pages(id: string, session: number): AsyncGenerator<readonly DecodedRecord[]> {
    let from = 0;
    for (;;) {
      const rows = this.#rows(session, from, PAGE_ROWS);
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows.map((row) => decodeRow(row, id, this.#path));
      if (rows.length < PAGE_ROWS) return;
      from = last.seq + 1;
    }
  }

  #rows(session: number, from: number, limit: number): RecordRow[] {
    const rows = this.#guard(() => this.#database.query(selectPage).all({ session, from, limit }));
    return rows.map((row) => {
      if (isRecordRow(row)) return row;
      throw new CorruptError("A row has another shape", {
        expected: "the columns of schema version 1",
        found: "other types",
        place: { path: this.#path },
      });
    });
  }

  #list<T>(
    { limit = DEFAULT_LIMIT, cursor }: PageRequest,
    map: (row: z.infer<typeof listRowSchema>) => T,
  ): Page<T> {
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor);
    const found = this.#guard(() => this.#database.query(listSessions).all({ before, limit: limit + 1 }));
    const rows = z.array(listRowSchema).parse(found);
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      items: page.map(map),
      ...(rows.length > limit && last !== undefined ? { nextCursor: String(last.number) } : {}),
    };
  }

  #get(sql: string, parameters: Record<string, string | number>): unknown {
    return this.#guard(() => this.#database.query(sql).get(parameters)) ?? undefined;
  }

  #guard<T>(task: () => T): T {
    if (this.#closed) throw new ClosedError();
    try {
      return task();
    } catch (error) {
      throw toStorageError(error, "The store could not be read", { path: this.#path });
    }
  }
}
