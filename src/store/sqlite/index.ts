import { dirname } from "node:path";
import { prepareChecks } from "../../session/events.ts";
import { type CoordinatorOptions, PersistenceCoordinator } from "../coordinator.ts";
import type { LockHolder } from "../errors.ts";
import { makeDirectory, resolveStorePath } from "../paths.ts";
import type { SessionPersistence } from "../persistence.ts";
import { NEW_WORKERS, runInProcess, StorageThread, type StorageWorkers } from "../storage-thread.ts";
import { acquireWriterLock, isHeldHere } from "../writer-lock.ts";
import { SqliteBackend } from "./backend.ts";
import { createStore, settleStore, sweepDraft } from "./create.ts";
import { assertLocalFileSystem, assertMayWrite, assertOneName, identify, refuseForeign } from "./identity.ts";
import { SqliteReader } from "./reader.ts";
import { LEAST_QUOTED } from "./streamed-blocks.ts";
import { assertWholeLog } from "./wal-frames.ts";
import { SqliteWriter } from "./writer.ts";

export interface SqliteOptions {
  /** Database file; made with its folders when it does not exist. */
  readonly path: string;
  /** How this process shows itself to others while it holds the store. */
  readonly holder?: LockHolder;
  /** `process` runs writes on the calling thread. Default `worker`. */
  readonly thread?: "worker" | "process";
  /** Gives the storage thread its worker. Default: a new one, which ends with the store. */
  readonly workers?: StorageWorkers;
  /**
   * UTF-16 units, as they stand in JSON, of the shortest string that a row quotes from the deltas before it instead of
   * storing it again; 1 or more, else RangeError. Default {@link LEAST_QUOTED}.
   */
  readonly leastQuoted?: number;
}

/** The hooks for one database file, opened for writing: lock, identity, storage thread, reader. */
export async function openSqliteBackend(options: SqliteOptions): Promise<SqliteBackend> {
  const { leastQuoted = LEAST_QUOTED, workers = NEW_WORKERS } = options;
  const path = resolveStorePath(options.path);
  // Before the lock, so that a foreign file gets no lock file beside it. Reading a file that this very process has
  // locked would free the lock: POSIX drops it when any descriptor of the file is closed.
  if (!isHeldHere(path)) refuseForeign(path);
  makeDirectory(dirname(path));
  assertLocalFileSystem(path);
  await using resources = new AsyncDisposableStack();
  resources.use(acquireWriterLock(path, options.holder));
  // The thread comes up while this one looks at the file.
  const thread =
    options.thread === "process" ? undefined : resources.use(new StorageThread("sqlite", workers));
  sweepDraft(path);
  assertOneName(path);
  assertMayWrite(path);
  const kind = identify(path);
  if (kind === "store") {
    assertWholeLog(path);
    settleStore(path);
  } else createStore(path, { replace: kind === "empty" });
  const opened = thread?.open({ kind: "sqlite", path, leastQuoted });
  // The sessions that lie here will be checked against them; making them takes about as long as the thread takes now.
  if (kind === "store") prepareChecks();
  await opened;
  const writer =
    thread ?? resources.adopt(runInProcess(new SqliteWriter(path, leastQuoted)), (client) => client.close());
  const reader = resources.use(new SqliteReader(path));
  return new SqliteBackend(path, reader, writer, resources.move());
}

/**
 * A durable store in one SQLite file.
 * @throws LockedError, UnsupportedFormatError, CorruptError, StorageFailedError; then nothing was changed
 */
export async function openSqlite(options: SqliteOptions & CoordinatorOptions): Promise<SessionPersistence> {
  return new PersistenceCoordinator(await openSqliteBackend(options), options);
}
