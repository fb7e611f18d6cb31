import type { Database } from "bun:sqlite";
import { errorCode, StorageFailedError } from "../errors.ts";
import deleteSession from "./sql/delete-session.sql" with { type: "text" };
import getSynchronous from "./sql/get-synchronous.sql" with { type: "text" };
import setBusyTimeout from "./sql/set-busy-timeout.sql" with { type: "text" };
import setCacheSize from "./sql/set-cache-size.sql" with { type: "text" };
import setCheckpointFullfsync from "./sql/set-checkpoint-fullfsync.sql" with { type: "text" };
import setJournalMode from "./sql/set-journal-mode.sql" with { type: "text" };
import setJournalSizeLimit from "./sql/set-journal-size-limit.sql" with { type: "text" };
import setSynchronous from "./sql/set-synchronous.sql" with { type: "text" };

/* What a connection is asked for before anything is written through it. */

const SYNCHRONOUS_FULL = 2;

/** Sets what durability rests on, and reads it back: a pragma that does not take is silent. */
export function configure(database: Database): void {
  database.run(setBusyTimeout);
  const mode = database.query<{ journal_mode: string }, []>(setJournalMode).get()?.journal_mode;
  if (mode !== "wal") throw new StorageFailedError(`SQLite's journal mode is ${mode}, not WAL`);
  database.run(setSynchronous);
  const level = database.query<{ synchronous: number }, []>(getSynchronous).get()?.synchronous;
  if (level !== SYNCHRONOUS_FULL) {
    throw new StorageFailedError(`SQLite's synchronous level is ${level}, not FULL`);
  }
  if (process.platform === "darwin") database.run(setCheckpointFullfsync);
  database.run(setJournalSizeLimit);
  database.run(setCacheSize);
}

/**
 * Where a file cannot be opened for writing SQLite opens it for reading, and says so when it is written. Waits for nobody: a
 * connection that must wait for another writer may write. @throws SQLiteError
 */
export function assertWritable(database: Database): void {
  try {
    // Numbers begin at 1. `BEGIN IMMEDIATE` alone would do nothing where nothing can be written.
    using statement = database.prepare(deleteSession);
    statement.run({ session: 0 });
  } catch (error) {
    if (errorCode(error)?.startsWith("SQLITE_BUSY") !== true) throw error;
  }
}
