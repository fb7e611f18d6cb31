import { prepareChecks } from "../../session/events.ts";
import { type CoordinatorOptions, PersistenceCoordinator } from "../coordinator.ts";
import type { LockHolder } from "../errors.ts";
import { makeDirectory, resolveStorePath } from "../paths.ts";
import type { SessionPersistence } from "../persistence.ts";
import { readOnlyClient } from "../read-only-client.ts";
import { runInProcess, StorageThread } from "../storage-thread.ts";
import { acquireWriterLock } from "../writer-lock.ts";
import { JsonlBackend } from "./backend.ts";
import { draftsIn, encodingOf } from "./directory.ts";
import { type Encoding, lockFiles } from "./layout.ts";
import { JsonlReader } from "./reader.ts";
import { isFolder, usedRoot } from "./root.ts";
import { sweep } from "./sweep.ts";
import { JsonlWriter } from "./writer.ts";

export type { Encoding } from "./layout.ts";

export interface JsonlOptions {
  /** Folder that holds the logs; made with its parents when it does not exist. */
  readonly root: string;
  /** Of new logs. Default: that of the logs which are there, else `zstd`. */
  readonly encoding?: Encoding;
  /** How this process shows itself to others while it holds the store. */
  readonly holder?: LockHolder;
  /** `process` runs writes on the calling thread. Default `worker`. */
  readonly thread?: "worker" | "process";
}

/** The hooks for one session root, opened for writing: lock, storage thread, reader. */
export async function openJsonlBackend(options: JsonlOptions): Promise<JsonlBackend> {
  const root = resolveStorePath(options.root);
  // Refuses a file with a message of its own.
  isFolder(root);
  makeDirectory(root);
  await using resources = new AsyncDisposableStack();
  resources.use(acquireWriterLock(root, options.holder, lockFiles(root)));
  const thread = options.thread === "process" ? undefined : resources.use(new StorageThread("jsonl"));
  // What a crash left of logs that were never published.
  for (const draft of draftsIn(root)) sweep(draft);
  const found = encodingOf(root);
  const encoding = options.encoding ?? found ?? "zstd";
  const opened = thread?.open({ kind: "jsonl", root, encoding });
  // Making the schemas takes about as long as the thread takes now.
  if (found !== undefined) prepareChecks();
  await opened;
  const writer =
    thread ?? resources.adopt(runInProcess(new JsonlWriter(root, encoding)), (client) => client.close());
  const reader = resources.use(new JsonlReader(root, true));
  return new JsonlBackend(root, encoding, reader, writer, resources.move());
}

/**
 * A durable store of one log file a session.
 * @throws LockedError, StorageFailedError; then nothing was changed
 */
export async function openJsonl(options: JsonlOptions & CoordinatorOptions): Promise<SessionPersistence> {
  return new PersistenceCoordinator(await openJsonlBackend(options), options);
}

/** The same store for reading: takes no lock, writes nothing, and may be read while another process writes. */
export async function openJsonlReadOnly(options: {
  readonly root: string;
  readonly clock: () => number;
}): Promise<SessionPersistence> {
  const root = usedRoot(options.root);
  await using resources = new AsyncDisposableStack();
  const reader = resources.use(new JsonlReader(root, false));
  const backend = new JsonlBackend(root, "zstd", reader, readOnlyClient(root), resources.move());
  return new PersistenceCoordinator(backend, { clock: options.clock, chunkWindowMs: 0 });
}
