import { PersistenceCoordinator } from "../coordinator.ts";
import { StorageFailedError } from "../errors.ts";
import { resolveStorePath } from "../paths.ts";
import type { SessionPersistence } from "../persistence.ts";
import { readOnlyClient } from "../read-only-client.ts";
import { isHeldHere } from "../writer-lock.ts";
import { SqliteBackend } from "./backend.ts";
import { QuietAccess } from "./quiet-access.ts";
import { SqliteReader } from "./reader.ts";

export interface SqliteReadOnlyOptions {
  /** Database file. */
  readonly path: string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

/**
 * A SQLite store for reading alone: takes no lock, writes nothing, leaves nothing behind, and works beside the process
 * that writes the store. What would write is refused.
 * @throws StoreNotFoundError, UnsupportedFormatError, CorruptError, StorageFailedError
 */
export async function openSqliteReadOnly(options: SqliteReadOnlyOptions): Promise<SessionPersistence> {
  const path = resolveStorePath(options.path);
  // POSIX drops a process's locks on a file with the first descriptor of it that the process closes.
  if (isHeldHere(path)) {
    throw new StorageFailedError("This process has the store open for writing", {
      place: { path },
      hint: "Read through the store that is open.",
    });
  }
  await using resources = new AsyncDisposableStack();
  const reader = resources.use(new SqliteReader(path, (file) => new QuietAccess(file)));
  const backend = new SqliteBackend(path, reader, readOnlyClient(path), resources.move());
  return new PersistenceCoordinator(backend, { clock: options.clock, chunkWindowMs: 0 });
}
