import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { breathe } from "../breathe.ts";
import { errorCode, HoldfastError, StorageFailedError, toStorageError } from "../errors.ts";
import { closeFile, type FileSystem, writeAll } from "../file-system.ts";
import type { Cancellable } from "../persistence.ts";
import { type LogEntry, logsOf, projectsOf } from "./directory.ts";
import { readHead } from "./head.ts";
import { decodeId, lockFiles } from "./layout.ts";
import { LogFile } from "./log-file.ts";
import { usedRoot } from "./root.ts";
import { scanLog } from "./scan.ts";

const PIECE = 1024 * 1024;

/** A log that could not be copied. */
export interface LeftOutLog {
  readonly id: string;
  readonly error: HoldfastError;
}

export interface WriteCopyOptions extends Cancellable {
  readonly system: FileSystem;
  /** Told after each log. */
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * Writes the logs of a root into a new folder, durable and for its user alone: each as far as it is whole, so that a
 * batch which is being written, or was never fully written, stays out. A damaged log is copied as it is. Takes no lock
 * and keeps no writer waiting. Returns what could not be copied.
 * @throws StoreNotFoundError, StorageFailedError, the reason of `signal`
 */
export async function writeCopy(
  path: string,
  copy: string,
  { system, signal, onProgress }: WriteCopyOptions,
): Promise<LeftOutLog[]> {
  const root = usedRoot(path);
  const entries = projectsOf(root).flatMap((project) => [...logsOf(root, project)]);
  const folders = new Folders(copy, system);
  const failed: LeftOutLog[] = [];
  for (const [done, entry] of entries.entries()) {
    signal?.throwIfAborted();
    try {
      await copyLog(entry, folders.logPath(entry), system);
    } catch (error) {
      // A log that was deleted meanwhile is none any more.
      if (errorCode(error) === "ENOENT" && !existsSync(entry.path)) continue;
      failed.push({ id: idOf(entry), error: asLogError(error, entry) });
    }
    onProgress?.(done + 1, entries.length);
  }
  // Else nothing would show that the folder of an empty store is a root.
  if (entries.length === 0) system.close(system.create(`${lockFiles(copy)}.lock`));
  folders.sync();
  return failed;
}

function asLogError(error: unknown, { path }: LogEntry): HoldfastError {
  const typed = toStorageError(error, "The log could not be copied", { path });
  if (typed instanceof HoldfastError && typed.code !== "storage-full") return typed;
  // It is the backup that has no room.
  throw error;
}

function idOf({ encodedId }: LogEntry): string {
  return decodeId(encodedId) ?? encodedId;
}

async function copyLog(entry: LogEntry, target: string, system: FileSystem): Promise<void> {
  if (entry.isClosed === true) {
    throw new StorageFailedError("This user may not look into the folder", { place: { path: entry.path } });
  }
  using file = new LogFile(entry);
  const size = await wholeSize(file, entry);
  const written = writePieces(file, size, target, system);
  using copied = new LogFile({ path: target, encoding: entry.encoding });
  if (copied.size === size && digestOf(copied, size) === written) return;
  throw new StorageFailedError("The copy of the log reads back as something else", {
    place: { path: target },
  });
}

/** Bytes up to the end of the last unit that is whole; all of them where the log is damaged, or of another format. */
async function wholeSize(file: LogFile, entry: LogEntry): Promise<number> {
  if (entry.version !== undefined) return file.size;
  try {
    const { bodyOffset } = readHead(file);
    for (const step of scanLog(file, idOf(entry), { offset: bodyOffset, next: 0, frame: 2 })) {
      if (step.kind === "torn") return step.tail.offset;
      await breathe();
    }
    return file.size;
  } catch (error) {
    // What is wrong with it is said when the copy is checked.
    if (error instanceof HoldfastError && error.code !== "storage-failed") return file.size;
    throw error;
  }
}

/** Returns the digest of the bytes. */
function writePieces(file: LogFile, size: number, target: string, system: FileSystem): string {
  const hash = new Bun.CryptoHasher("sha256");
  const out = system.create(target);
  try {
    for (let at = 0; at < size; at += PIECE) {
      const piece = file.read(at, Math.min(PIECE, size - at));
      hash.update(piece);
      writeAll(system, out, piece, target);
    }
    system.fsync(out);
  } finally {
    closeFile(system, out);
  }
  return hash.digest("hex");
}

function digestOf(file: LogFile, size: number): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (let at = 0; at < size; at += PIECE) hash.update(file.read(at, Math.min(PIECE, size - at)));
  return hash.digest("hex");
}

/** The folders of a copy, made as they are needed. */
class Folders {
  readonly #root: string;
  readonly #system: FileSystem;
  readonly #made = new Set<string>();

  constructor(root: string, system: FileSystem) {
    this.#root = root;
    this.#system = system;
    this.#make(root);
  }

  /** Where the copy of a log lies: as the log in its root. */
  logPath({ key }: LogEntry): string {
    const path = join(this.#root, ...key.filter((part) => part !== ""));
    const folder = dirname(path);
    this.#make(dirname(folder));
    this.#make(folder);
    return path;
  }

  /** Makes all names durable, the innermost first. */
  sync(): void {
    for (const folder of [...this.#made].toReversed()) this.#system.syncFolder(folder);
  }

  #make(folder: string): void {
    if (this.#made.has(folder) || folder === dirname(this.#root)) return;
    this.#system.makeFolder(folder);
    this.#made.add(folder);
  }
}
