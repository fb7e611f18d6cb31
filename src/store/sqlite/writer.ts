import { Database, type Statement } from "bun:sqlite";
import { statSync } from "node:fs";
import type { AppendBatch, AppendOutcome, Repair, Revision } from "../backend.ts";
import {
  AlreadyExistsError,
  HoldfastError,
  NotFoundError,
  SequenceConflictError,
  StorageFailedError,
  toStorageError,
} from "../errors.ts";
import type { BackendWriter } from "../writer.ts";
import { assertWritable, configure } from "./durable-connection.ts";
import { formatRevision, headerChecksum, MAX_EVENTS, sessionKey } from "./keys.ts";
import { migrate } from "./migrate.ts";
import { dropIfIndexed } from "./search-tables.ts";
import checkpoint from "./sql/checkpoint.sql" with { type: "text" };
import deleteRecords from "./sql/delete-records.sql" with { type: "text" };
import deleteSession from "./sql/delete-session.sql" with { type: "text" };
import getDataVersion from "./sql/get-data-version.sql" with { type: "text" };
import insertRecord from "./sql/insert-record.sql" with { type: "text" };
import insertSession from "./sql/insert-session.sql" with { type: "text" };
import selectSession from "./sql/select-session.sql" with { type: "text" };
import selectTail from "./sql/select-tail.sql" with { type: "text" };
import setSecureDelete from "./sql/set-secure-delete.sql" with { type: "text" };
import { StreamedBlocks } from "./streamed-blocks.ts";
import { tidyWal } from "./wal.ts";

/** Sessions whose end is remembered between commits. */
const MAX_TAILS = 4_096;

interface OpenFile {
  readonly path: string;
  readonly dev: number;
  readonly ino: number;
}

/** Where a session ends. `checksum` is the header's. */
interface Tail {
  readonly number: number;
  readonly checksum: number;
  readonly nextSeq: number;
}

type SessionColumns = Pick<Tail, "number" | "checksum">;
type TailColumns = { readonly seq: number; readonly count: number };

/** The one writing connection of a SQLite store: WAL, and a sync to the disk with every commit. */
export class SqliteWriter implements BackendWriter {
  readonly #path: string;
  readonly #database: Database;
  /** The database, its write-ahead log and the index of that, as they were when they were opened. */
  readonly #files: readonly OpenFile[];
  readonly #transaction: (task: () => unknown) => unknown;
  readonly #dataVersion: Statement<{ readonly data_version: number }, []>;
  readonly #selectSession: Statement<SessionColumns>;
  readonly #selectTail: Statement<TailColumns>;
  readonly #insertSession: Statement;
  readonly #insertRecord: Statement;
  readonly #deleteRecords: Statement;
  readonly #deleteSession: Statement;
  readonly #statements: readonly Statement[];
  /** Ends of sessions, by id; good as long as no other connection has written (`PRAGMA data_version`). */
  readonly #tails = new Map<string, Tail>();
  /** What rows may quote; good as long as the same. */
  readonly #streamed: StreamedBlocks;
  #seenVersion = -1;

  /**
   * Opens an existing Holdfast database. The caller holds the writer lock and has checked the file's identity.
   * @param leastQuoted see {@link StreamedBlocks}
   */
  constructor(path: string, leastQuoted?: number) {
    this.#path = path;
    this.#streamed = new StreamedBlocks(leastQuoted);
    try {
      this.#database = new Database(path, { readwrite: true, create: false, strict: true });
      assertWritable(this.#database);
      configure(this.#database);
      // What is deleted is gone from the file, too.
      this.#database.run(setSecureDelete);
      migrate(this.#database);
      const statements: Statement[] = [];
      const prepare = <Row>(sql: string) => {
        // The tables are STRICT and their definitions were checked, so the columns have the types that they say.
        const statement = this.#database.prepare<Row, [Record<string, string | number | null>]>(sql);
        statements.push(statement);
        return statement;
      };
      const transaction = this.#database.transaction((task: () => unknown) => task());
      this.#transaction = (task) => transaction.immediate(task);
      this.#statements = statements;
      this.#dataVersion = this.#database.prepare(getDataVersion);
      statements.push(this.#dataVersion);
      this.#selectSession = prepare(selectSession);
      this.#selectTail = prepare(selectTail);
      this.#insertSession = prepare(insertSession);
      this.#insertRecord = prepare(insertRecord);
      this.#deleteRecords = prepare(deleteRecords);
      this.#deleteSession = prepare(deleteSession);
      // The first read is what makes the write-ahead log.
      this.#selectSession.get({ key: "" });
      this.#files = [path, `${path}-wal`, `${path}-shm`].map(identifyFile);
    } catch (error) {
      throw toStorageError(error, "The store could not be opened", { path });
    }
  }

  appendBatch(batches: readonly AppendBatch[]): readonly AppendOutcome[] {
    return this.#write("The append could not be saved", () =>
      batches.map((batch) => {
        const tail = this.#locate(batch);
        if (tail instanceof HoldfastError) return { ok: false, error: tail };
        return { ok: true, revision: this.#insert(tail, batch) };
      }),
    );
  }

  commitRepair(id: string, { expectedSeq, records }: Repair): Revision {
    return this.#write("The recovery could not be saved", () => {
      const batch = { id, expectedSeq, records };
      const tail = this.#locate(batch);
      if (tail instanceof HoldfastError) throw tail;
      return this.#insert(tail, batch);
    });
  }

  delete(id: string): boolean {
    return this.#write("The session could not be deleted", () => {
      const row = this.#selectSession.get({ key: sessionKey(id) });
      if (row === null) return false;
      this.#tails.delete(id);
      this.#streamed.forget(row.number);
      this.#deleteRecords.run({ session: row.number });
      this.#deleteSession.run({ session: row.number });
      dropIfIndexed(this.#database, row.number);
      return true;
    });
  }

  /** SQLite goes on writing into files that were deleted or replaced; nobody would ever see it again. */
  checkWritable(): void {
    for (const { path, dev, ino } of this.#files) {
      const found = identifyFile(path);
      if (found.dev === dev && found.ino === ino) continue;
      throw new StorageFailedError("A file of the store was replaced by another one", {
        place: { path },
        hint: "Put the original file back, or restart to use the new one.",
      });
    }
  }

  tidy(): number | undefined {
    return tidyWal(this.#database, `${this.#path}-wal`);
  }

  /** Leaves one file: the write-ahead log is written back, as far as readers in other processes allow. */
  close(): void {
    try {
      this.#database.run(checkpoint);
    } catch {
      // On a full disk, say. What is committed stays in the log, and the next one to open the store reads it there.
    } finally {
      // A statement that is not finalised keeps the connection, and with it the write-ahead log, alive.
      for (const statement of this.#statements) statement.finalize();
      this.#database.close();
    }
  }

  #write<T>(what: string, task: () => T): T {
    let result: { readonly value: T } | undefined;
    try {
      this.checkWritable();
      // In a transaction that was never ended, the next one would be part of it, and acknowledged without a commit.
      if (this.#database.inTransaction) throw new StorageFailedError("The last transaction was not ended");
      this.#transaction(() => {
        this.#forgetIfStale();
        result = { value: task() };
      });
    } catch (error) {
      // Rolled back: what was remembered meanwhile did not happen.
      this.#forget();
      throw toStorageError(error, what, { path: this.#path });
    }
    if (result === undefined) throw new StorageFailedError(what, { place: { path: this.#path } });
    return result.value;
  }

  /** Somebody with a shell may write into the database too; then the ends of all sessions are read again. */
  #forgetIfStale(): void {
    const version = this.#dataVersion.get()?.data_version ?? -1;
    if (version !== this.#seenVersion) this.#forget();
    else if (this.#tails.size >= MAX_TAILS) this.#tails.clear();
    this.#seenVersion = version;
  }

  #forget(): void {
    this.#tails.clear();
    this.#streamed.forgetAll();
  }

  /** Where the batch goes, or why it does not fit. A new session gets its row here. */
  #locate({ id, header, expectedSeq }: AppendBatch): Tail | HoldfastError {
    const tail = this.#tails.get(id) ?? this.#readTail(id);
    if (tail === undefined) {
      if (header === undefined) return new NotFoundError(id, this.#path);
      if (expectedSeq !== 0) return new SequenceConflictError(id, expectedSeq, 0);
      return this.#createSession(id, header);
    }
    if (header !== undefined) return new AlreadyExistsError(id);
    if (tail.nextSeq !== expectedSeq) return new SequenceConflictError(id, expectedSeq, tail.nextSeq);
    return tail;
  }

  #readTail(id: string): Tail | undefined {
    const session = this.#selectSession.get({ key: sessionKey(id) });
    if (session === null) return undefined;
    const { number, checksum } = session;
    const last = this.#selectTail.get({ session: number });
    return { number, checksum, nextSeq: last === null ? 0 : last.seq + last.count };
  }

  #createSession(id: string, header: string): Tail {
    const key = sessionKey(id);
    const checksum = headerChecksum(key, header);
    const { lastInsertRowid } = this.#insertSession.run({ key, header, checksum });
    return { number: Number(lastInsertRowid), checksum, nextSeq: 0 };
  }

  #insert({ number, checksum, nextSeq }: Tail, { id, records }: AppendBatch): Revision {
    let next = nextSeq;
    let last = 0;
    for (const record of records) {
      const { seq, count, type, time } = record;
      const split = this.#streamed.split(number, record);
      last = split.checksum;
      const row = { session: number, seq, count, type, time, ...split };
      // A trigger that somebody added can drop a row without an error.
      if (this.#insertRecord.run(row).changes === 0) throw notStored(this.#path, seq);
      next = seq + count;
      if (next > MAX_EVENTS) {
        throw new StorageFailedError(`A session holds at most ${MAX_EVENTS} events`, {
          place: { path: this.#path, seq },
          hint: "Go on in a fork of the session.",
        });
      }
    }
    this.#tails.set(id, { number, checksum, nextSeq: next });
    return formatRevision({ number, checksum }, next, last);
  }
}

function identifyFile(path: string): OpenFile {
  try {
    const { dev, ino } = statSync(path);
    return { path, dev, ino };
  } catch (error) {
    throw toStorageError(error, "A file of the store is gone", { path });
  }
}

function notStored(path: string, seq: number): StorageFailedError {
  return new StorageFailedError("The database did not store a row", {
    place: { path, seq },
    hint: "Look for triggers that were added to its tables, and remove them.",
  });
}
