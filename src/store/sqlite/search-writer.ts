import { Database } from "bun:sqlite";
import { StorageFailedError, toStorageError } from "../errors.ts";
import type { IndexedRange } from "../search/range-builder.ts";
import { acquireWriterLock, passingHolder } from "../writer-lock.ts";
import { assertLocalFileSystem, assertMayWrite, assertOneName, identify } from "./identity.ts";
import { checksumAt, indexEnd } from "./search-ranges.ts";
import { createSearchTables, forgetSession, searchTables } from "./search-tables.ts";
import checkpoint from "./sql/checkpoint.sql" with { type: "text" };
import insertSearchRange from "./sql/insert-search-range.sql" with { type: "text" };
import insertSearchText from "./sql/insert-search-text.sql" with { type: "text" };
import selectVanishedSession from "./sql/select-vanished-session.sql" with { type: "text" };
import setBusyTimeoutNone from "./sql/set-busy-timeout-none.sql" with { type: "text" };
import { assertWholeLog } from "./wal-frames.ts";
import { configure } from "./writer.ts";

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
  if (tables === "none") createSearchTables(database);
  const ends = new Map<number, number>();
  let count = 0;
  let length = 0;
  for (const range of pending) {
    const { session, next, checksum } = range;
    const end = ends.get(session) ?? endFor(database, range);
    // What does not fit what lies in the store now is left out: it may have been changed since it was read.
    const fits = end === range.first && checksumAt(database, session, next - 1) === checksum;
    if (fits) writeRange(database, range);
    ends.set(session, fits ? next : end);
    count += 1;
    length += range.terms.length;
    if (length > SLICE_LENGTH || performance.now() > until) return count;
  }
  sweep(database, until);
  return count;
}

/** Where the ranges of a session end. They are dropped where they are of other rows than there are now, or made anew. */
function endFor(database: Database, { session, first }: PendingRange): number {
  const end = indexEnd(database, session);
  if (end !== undefined && (first > 0 || end === 0)) return end;
  forgetSession(database, session);
  return 0;
}

function writeRange(database: Database, { session, first, next, checksum, terms }: PendingRange): void {
  using range = database.prepare(insertSearchRange);
  const { lastInsertRowid: id } = range.run({ session, first, next, checksum });
  using text = database.prepare(insertSearchText);
  text.run({ id, terms });
}

/** Removes what is left of sessions that were deleted without it. */
function sweep(database: Database, until: number): void {
  using statement = database.prepare<{ readonly session: number }, []>(selectVanishedSession);
  while (performance.now() <= until) {
    const found = statement.get();
    if (found === null) return;
    forgetSession(database, found.session);
  }
}
