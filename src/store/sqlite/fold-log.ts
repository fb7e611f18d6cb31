import { Database } from "bun:sqlite";
import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { errorCode, LockedError } from "../errors.ts";
import { type FileSystem, writeAll } from "../file-system.ts";
import setLockTimeout from "../sql/set-lock-timeout.sql" with { type: "text" };
import { sizeOf } from "./identity.ts";
import { foldedName } from "./repair-files.ts";
import checkpoint from "./sql/checkpoint.sql" with { type: "text" };
import setLockingModeExclusive from "./sql/set-locking-mode-exclusive.sql" with { type: "text" };
import { readWal } from "./wal-frames.ts";

/**
 * Writes the log of a database back into it, and removes the log and its index, so that another database can take its
 * place: SQLite would play a log into whatever lies beside it. The database holds the same before and after.
 * @throws LockedError when another program has the database open; StorageFailedError
 */
export function foldLog(path: string, system: FileSystem): void {
  foldBySqlite(path);
  const log = `${path}-wal`;
  if (sizeOf(log) > 0) {
    foldPages(path, log, system);
    const file = system.open(log);
    try {
      system.truncate(file, 0);
      system.fsync(file);
    } finally {
      system.close(file);
    }
  }
  for (const file of [log, `${path}-shm`]) if (existsSync(file)) system.remove(file);
  system.syncFolder(dirname(path));
}

/** The way that SQLite has for it. Nobody else may have the database open: this needs it alone. */
function foldBySqlite(path: string): void {
  let database: Database | undefined;
  try {
    database = new Database(path, { readwrite: true, create: false, strict: true });
    database.run(setLockTimeout);
    database.run(setLockingModeExclusive);
    database.run(checkpoint);
  } catch (error) {
    if (errorCode(error)?.startsWith("SQLITE_BUSY") === true) throw new LockedError(path, undefined);
    // Too damaged for SQLite; what it could not do is done without it.
  } finally {
    database?.close();
  }
}

/**
 * What SQLite does, for a database that it cannot open: every page as it is in the log. The result takes the place of the
 * database in one step, and the log may still be played into it, which changes nothing.
 */
function foldPages(path: string, log: string, system: FileSystem): void {
  const { pages, pageSize } = readWal(path);
  if (pages.size === 0) return;
  const name = foldedName(path);
  const [from, frames] = [openSync(path, "r"), openSync(log, "r")];
  try {
    const target = system.create(name);
    try {
      const inFile = Math.ceil(statSync(path).size / pageSize);
      // A page of the log follows those of the file; one that is far beyond them only a damaged log names.
      const end = inFile + pages.size;
      const last = [...pages.keys()].reduce(
        (most, page) => (page > end ? most : Math.max(most, page)),
        inFile,
      );
      const bytes = Buffer.alloc(pageSize);
      for (let page = 1; page <= last; page += 1) {
        bytes.fill(0);
        const frame = pages.get(page);
        if (frame === undefined) readSync(from, bytes, 0, pageSize, (page - 1) * pageSize);
        else readSync(frames, bytes, 0, pageSize, frame);
        writeAll(system, target, bytes, name);
      }
      system.adopt(name, statSync(path));
      system.fsync(target);
    } finally {
      system.close(target);
    }
  } finally {
    closeSync(from);
    closeSync(frames);
  }
  system.rename(name, path);
  system.syncFolder(dirname(path));
}
