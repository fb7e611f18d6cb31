import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import checkpoint from "./sql/checkpoint.sql" with { type: "text" };
import setBusyTimeout from "./sql/set-busy-timeout.sql" with { type: "text" };
import setBusyTimeoutNone from "./sql/set-busy-timeout-none.sql" with { type: "text" };

/**
 * Bytes that the write-ahead log may keep. What is promised is 64 MiB; set-journal-size-limit.sql says the same as this
 * for what SQLite does by itself. One commit has 16 MiB of events at most, so that ordinary work stays below.
 */
export const WAL_LIMIT = 32 * 1024 * 1024;
/** How soon a log that could not be made small is tried again, in milliseconds. A try that cannot work costs below one. */
const AGAIN_MS = 2_000;

/**
 * Makes a write-ahead log small again that grew while somebody read for long. SQLite writes it back with the next
 * commit after the reader left, and cuts it with the one after that; where no commit comes it would stay as it is.
 *
 * Nothing here waits for a reader, and a small log costs one look at its size. Writing a large one back takes two
 * seconds per GiB, and an append that comes meanwhile waits as long: SQLite cannot do it in parts, and a thread of its
 * own would only share the same disk. It happens once after each such reader, and the next commit would have done it.
 *
 * @param path of the log
 * @returns in how many milliseconds to try again; nothing when the log is small
 */
export function tidyWal(database: Database, path: string): number | undefined {
  if (sizeOf(path) <= WAL_LIMIT) return undefined;
  try {
    database.run(setBusyTimeoutNone);
    database.run(checkpoint);
  } catch {
    // On a full disk, say, or because the last transaction was not ended: the next append tells.
  } finally {
    database.run(setBusyTimeout);
  }
  return sizeOf(path) <= WAL_LIMIT ? undefined : AGAIN_MS;
}

function sizeOf(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    return 0; // The next append says what is wrong with it.
  }
}
