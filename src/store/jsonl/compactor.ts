import { statSync } from "node:fs";
import type {
  CompactionResult,
  CompactOptions,
  OpenCompactorOptions,
  StoreCompactor,
  StoreSizes,
} from "../compactor.ts";
import { HoldfastError, NotFoundError } from "../errors.ts";
import { type FileSystem, SYSTEM } from "../file-system.ts";
import { acquireWriterLock, type WriterLock } from "../writer-lock.ts";
import { type ReencodeOptions, reencodeLog } from "./compact-log.ts";
import { draftsIn, findLog, type LogEntry, logsOf, projectsOf } from "./directory.ts";
import { lockFiles } from "./layout.ts";
import { usedRoot } from "./root.ts";
import { sweep } from "./sweep.ts";

/** A root opened for making its logs small. @throws StoreNotFoundError, LockedError, StorageFailedError */
export async function compactJsonl(
  path: string,
  { dryRun }: OpenCompactorOptions,
  system: FileSystem = SYSTEM,
): Promise<StoreCompactor> {
  const root = usedRoot(path);
  if (dryRun) return new JsonlCompactor(root, undefined, undefined);
  const lock = acquireWriterLock(root, undefined, lockFiles(root));
  // What a compaction left that was killed, too.
  for (const draft of draftsIn(root)) sweep(draft);
  return new JsonlCompactor(root, lock, system);
}

class JsonlCompactor implements StoreCompactor {
  readonly #root: string;
  readonly #lock: WriterLock | undefined;
  readonly #system: FileSystem | undefined;
  #saved = 0;

  /** Without a `system` nothing is written. */
  constructor(root: string, lock: WriterLock | undefined, system: FileSystem | undefined) {
    this.#root = root;
    this.#lock = lock;
    this.#system = system;
  }

  compact(id: string, options: CompactOptions = {}): Promise<CompactionResult> {
    return this.#reencode(id, { ...options, want: "compacted", system: this.#system });
  }

  /** Into the frames that a copy writes. Runs that were merged stay merged: every reader takes them. */
  expand(id: string, options: CompactOptions = {}): Promise<CompactionResult> {
    return this.#reencode(id, { ...options, want: "expanded", system: this.#system });
  }

  /** A log that was written anew has given its space back already. */
  async finish(): Promise<StoreSizes> {
    let size = 0;
    for (const project of projectsOf(this.#root)) {
      for (const entry of logsOf(this.#root, project)) size += sizeOf(entry);
    }
    const isDry = this.#system === undefined;
    return isDry ? { before: size, after: size - this.#saved } : { before: size + this.#saved, after: size };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#lock?.[Symbol.dispose]();
  }

  async #reencode(id: string, options: ReencodeOptions): Promise<CompactionResult> {
    const entry = this.#find(id);
    if (entry instanceof HoldfastError) return { id, state: "refused", error: entry };
    const result = await reencodeLog(entry, id, options);
    if (result.state !== "refused") this.#saved += result.before - result.after;
    return result;
  }

  /** The one log of the session, or why it is left alone. @throws NotFoundError */
  #find(id: string): LogEntry | HoldfastError {
    try {
      return findLog(this.#root, id) ?? missing(id, this.#root);
    } catch (error) {
      if (!(error instanceof HoldfastError) || error instanceof NotFoundError) throw error;
      return error;
    }
  }
}

function missing(id: string, root: string): never {
  throw new NotFoundError(id, root);
}

function sizeOf({ path, isClosed }: LogEntry): number {
  if (isClosed === true) return 0;
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    return 0; // a link to itself, say
  }
}
