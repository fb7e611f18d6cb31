import { Database } from "bun:sqlite";
import type { StoreCompactor } from "../compactor.ts";
import { StorageFailedError, StoreNotFoundError, toStorageError } from "../errors.ts";
import { resolveStorePath } from "../paths.ts";
import { acquireWriterLock, isHeldHere } from "../writer-lock.ts";
import { settleStore, sweepDraft } from "./create.ts";
import { SqliteCompactor, type SqliteCompactorOptions } from "./database-compactor.ts";
import { configure } from "./durable-connection.ts";
import {
  assertLocalFileSystem,
  assertMayWrite,
  assertOneName,
  identify,
  lookAtHeader,
  refuseForeign,
} from "./identity.ts";
import { admitStore, QuietAccess } from "./quiet-access.ts";
import { SqliteReader } from "./reader.ts";
import checkpoint from "./sql/checkpoint.sql" with { type: "text" };
import setSecureDelete from "./sql/set-secure-delete.sql" with { type: "text" };
import { assertWholeLog } from "./wal-frames.ts";

/**
 * A SQLite store opened for making its sessions small.
 * @throws StoreNotFoundError, LockedError, UnsupportedFormatError, CorruptError, StorageFailedError
 */
export async function compactSqlite(path: string, options: SqliteCompactorOptions): Promise<StoreCompactor> {
  const resolved = resolveStorePath(path);
  // POSIX drops a process's locks on a file with the first descriptor of it that the process closes.
  if (isHeldHere(resolved)) throw heldHere(resolved);
  if (options.dryRun) return planCompaction(resolved, options);
  if (lookAtHeader(resolved) === "absent") throw new StoreNotFoundError(resolved);
  refuseForeign(resolved);
  assertLocalFileSystem(resolved);
  using resources = new DisposableStack();
  resources.use(acquireWriterLock(resolved));
  sweepDraft(resolved);
  assertOneName(resolved);
  assertMayWrite(resolved);
  if (identify(resolved) !== "store")
    throw new StoreNotFoundError(resolved, "The file is empty and no store yet");
  assertWholeLog(resolved);
  settleStore(resolved);
  try {
    const database = resources.adopt(
      new Database(resolved, { readwrite: true, create: false, strict: true }),
      closeWhole,
    );
    configure(database);
    // Rows that were left behind in free pages would outlive the session.
    database.run(setSecureDelete);
    return new SqliteCompactor(resolved, database, new SqliteReader(resolved), resources.move(), options);
  } catch (error) {
    throw toStorageError(error, "The store could not be opened", { path: resolved });
  }
}

function planCompaction(path: string, options: SqliteCompactorOptions): StoreCompactor {
  const resources = new DisposableStack();
  try {
    const access = resources.use(new QuietAccess(path, admitStore));
    const hidden = access.hiddenEnd();
    if (hidden !== undefined) throw hidden;
    return new SqliteCompactor(path, access, new SqliteReader(path, () => access), resources, options);
  } catch (error) {
    resources.dispose();
    throw toStorageError(error, "The store could not be read", { path });
  }
}

/** Leaves one file, as far as readers in other processes allow. */
function closeWhole(database: Database): void {
  try {
    database.run(checkpoint);
  } catch {
    // On a full disk, say. What is committed stays in the log, and the next one to open the store reads it there.
  } finally {
    database.close();
  }
}

function heldHere(path: string): StorageFailedError {
  return new StorageFailedError("This process has the store open for writing", {
    place: { path },
    hint: "Close it first.",
  });
}
