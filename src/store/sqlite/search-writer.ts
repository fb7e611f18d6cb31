import { Database } from "bun:sqlite";
import { StorageFailedError, toStorageError } from "../errors.ts";
import type { IndexedRange } from "../search/range-builder.ts";
import { acquireWriterLock, passingHolder } from "../writer-lock.ts";
import { configure } from "./durable-connection.ts";
import { assertLocalFileSystem, assertMayWrite, assertOneName, identify } from "./identity.ts";
import { checksumAt, indexEnd } from "./search-ranges.ts";
import { createSearchTables, dropSearchTables, forgetSession, searchTables } from "./search-tables.ts";
import checkpoint from "./sql/checkpoint.sql" with { type: "text" };
import insertSearchRange from "./sql/insert-search-range.sql" with { type: "text" };
import insertSearchText from "./sql/insert-search-text.sql" with { type: "text" };
import selectVanishedSession from "./sql/select-vanished-session.sql" with { type: "text" };
import setBusyTimeoutNone from "./sql/set-busy-timeout-none.sql" with { type: "text" };
import setSecureDelete from "./sql/set-secure-delete.sql" with { type: "text" };
import { assertWholeLog } from "./wal-frames.ts";

/** A range of a session, and the checksum of the row that held its last event when it was read. */
export interface PendingRange extends IndexedRange {
  readonly session: number;
  readonly checksum: number;
}

/** How long one slice may go on taking ranges, in milliseconds, and the length of their terms: the commit sorts them. */
const SLICE_MS = 60;
const SLICE_LENGTH = 1_500_000;

/**
 * Writes ranges into the index of a store, some of them, and makes the index where there is none. Holds the store for a
 * moment: whoever opens it meanwhile waits. No connection of this process may be open.
 * @returns how many were dealt with, at least one
 * @throws LockedError where another process holds the store, StorageFailedError, …; then nothing was changed
 */
export function writeRanges(path: string, pending: readonly PendingRange[]): number {
  using _lock = acquireWriterLock(path, passingHolder());
  assertLocalFileSystem(path);
  assertOneName(path);
  assertMayWrite(path);
  if (identify(path) !== "store") throw new StorageFailedError("The store is gone", { place: { path } });
  // With the next commit SQLite would write over what a damaged log hides.
  assertWholeLog(path);
  try {
    using database = new Database(path, { readwrite: true, create: false, strict: true });
    configure(database);
    // FTS5 rewrites its terms as they grow: those of a session that is deleted later must not stay in a free page.
    database.run(setSecureDelete);
    // Somebody may write here with a shell; then the index waits for the next search.
    database.run(setBusyTimeoutNone);
    const until = performance.now() + SLICE_MS;
    const write = database.transaction(() => writeSlice(database, pending, until));
    const count = write.immediate();
    database.run(checkpoint);
    return count;
  } catch (error) {
    throw toStorageError(error, "The index could not be saved", { path });
  }
}

function writeSlice(database: Database, pending: readonly PendingRange[], until: number): number {
  const tables = searchTables(database);
  if (tables === "foreign") throw new StorageFailedError("Other tables have the names of the index");
  // What is left of sessions that were deleted without their ranges goes as it does with others.
  const isOver = tables === "ours" && hasVanished(database);
  if (isOver) dropSearchTables(database);
  if (tables === "none" || isOver) createSearchTables(database);
  const ends = new Map<number, number>();
  let count = 0;
  let length = 0;
  for (const range of pending) {
    const { session, first, next, checksum } = range;
    const end = ends.get(session) ?? endFor(database, range);
    // What does not fit what lies in the store now is left out: it may have been changed since it was read.
    const fits = end === first && checksumAt(database, session, next - 1) === checksum;
    // Only so: a session without ranges has no terms in the index either.
    if (fits && first === 0) forgetSession(database, session);
    if (fits) writeRange(database, range);
    ends.set(session, fits ? next : end);
    count += 1;
    length += range.terms.length;
    if (length > SLICE_LENGTH || performance.now() > until) return count;
  }
  return count;
}

/** Where the ranges of a session end. They do not count where they are of other rows than there are now, or made anew. */
function endFor(database: Database, { session, first }: PendingRange): number {
  const end = indexEnd(database, session);
  return first === 0 || end === undefined ? 0 : end;
}

function writeRange(database: Database, { session, first, next, checksum, terms }: PendingRange): void {
  using range = database.prepare(insertSearchRange);
  const { lastInsertRowid: id } = range.run({ session, first, next, checksum });
  using text = database.prepare(insertSearchText);
  text.run({ id, terms });
}

/** Whether a session was deleted by one who left its ranges. */
function hasVanished(database: Database): boolean {
  using statement = database.prepare<{ readonly session: number }, []>(selectVanishedSession);
  return statement.all().length > 0;
}
