import { closeSync, openSync, readSync, statSync } from "node:fs";

const DATABASE_NAME = /\.(db|sqlite)$/;
const MAGIC = Buffer.from("SQLite format 3\0");

/** Whether a new store of this path would be a database. */
export function looksLikeDatabase(path: string): boolean {
  return DATABASE_NAME.test(path);
}

/**
 * Whether a file begins as a SQLite database does; not where nothing can be read. Not for a store that this process holds:
 * closing any descriptor of its file would free the lock.
 */
export function isDatabaseFile(path: string): boolean {
  try {
    // A pipe would be waited for.
    if (!statSync(path).isFile()) return false;
    const file = openSync(path, "r");
    try {
      const beginning = Buffer.alloc(MAGIC.length);
      return readSync(file, beginning, 0, MAGIC.length, 0) === MAGIC.length && beginning.equals(MAGIC);
    } finally {
      closeSync(file);
    }
  } catch {
    return false;
  }
}
