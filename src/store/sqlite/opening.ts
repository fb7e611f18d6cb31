import { constants, Database } from "bun:sqlite";
import { pathToFileURL } from "node:url";
import setLockingModeExclusive from "./sql/set-locking-mode-exclusive.sql" with { type: "text" };

/* The ways to open a database for reading. They differ in what SQLite makes beside the file. */

/** As SQLite does by itself. On a database in WAL mode it makes `-wal` and `-shm` where they are not, and leaves them. */
export function openPlainly(path: string): Database {
  return new Database(path, { readonly: true, strict: true });
}

/**
 * As SQLite does by itself, but for the index of the log, `-shm`: it is read and never written. Needs one; for a log that
 * nobody has open SQLite makes another one in memory. Where there are no such files, on Windows, as {@link openPlainly}.
 */
export function openAlong(path: string): Database {
  return process.platform === "win32" ? openPlainly(path) : openUri(path, "readonly_shm=1");
}

/** The file alone, as if nothing could change it: no lock is taken and no file made. Its log is not looked at. */
export function openImmutable(path: string): Database {
  return openUri(path, "immutable=1");
}

/**
 * The file and a log that nobody writes, such as a killed process left: no lock is taken, and the index of the log is
 * made in memory instead of in `-shm`. Not on Windows, where SQLite has no such files.
 */
export function openAbandoned(path: string): Database {
  const database = openUri(path, "vfs=unix-none");
  // SQLite would remove a log of which it takes nothing, because it is damaged.
  database.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1);
  database.run(setLockingModeExclusive);
  return database;
}

function openUri(path: string, query: string): Database {
  // The constructor takes flags or options, not both; `strict` only concerns how parameters are named.
  const flags = constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI;
  return new Database(`${pathToFileURL(path).href}?${query}`, flags);
}
