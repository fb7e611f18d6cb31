import { closeSync, openSync, readSync, type Stats, statSync } from "node:fs";
import { basename } from "node:path";
import { StoreNotFoundError, toStorageError } from "./errors.ts";
import type { ExaminedSession } from "./examiner.ts";
import { openExaminer } from "./open-examiner.ts";
import { parseStoreName, type StoreName } from "./store-name.ts";

/** What is left of sessions, opened for reading. No byte and no timestamp of it changes. */
export interface SalvageSource extends AsyncDisposable {
  /** Name of the file or folder, without its path. */
  readonly file: string;
  /** The store, where it is one; else it is a single file. */
  readonly store?: StoreName;
  /**
   * The sessions that something is left of; two of one id where two files claim it.
   * @param ids only these; one that is not there is left out
   */
  sessions(ids?: readonly string[]): AsyncIterable<ExaminedSession>;
}

const SQLITE_MAGIC = Buffer.from("SQLite format 3\0");
const KIND = /^(sqlite|jsonl):/;

/**
 * Opens whatever may hold events: a store of either kind, or a single file: a log of either encoding, a piece of one, a
 * backup or a quarantine file. What it is, is told by what is in it, unless the name says `sqlite:` or `jsonl:`.
 * @throws StoreNotFoundError, StoreNameError, StorageFailedError, UnsupportedFormatError
 */
export async function openSalvageSource(name: string): Promise<SalvageSource> {
  const { kind, path } = parseStoreName(name);
  const file = basename(path);
  const found = look(path);
  const isDatabase = KIND.test(name) ? kind === "sqlite" : found.isFile() && beginsLike(path, SQLITE_MAGIC);
  if (isDatabase || found.isDirectory()) {
    const store: StoreName = { kind: isDatabase ? "sqlite" : "jsonl", path };
    const examiner = await openExaminer(store, { deep: true });
    return {
      file,
      store,
      sessions: (ids) => examiner.sessions(ids),
      [Symbol.asyncDispose]: () => examiner[Symbol.asyncDispose](),
    };
  }
  const sessions = await examineFile(path);
  return {
    file,
    async *sessions(ids) {
      for (const session of sessions) if (ids === undefined || ids.includes(session.id)) yield session;
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function examineFile(path: string): Promise<readonly ExaminedSession[]> {
  const { isQuarantine } = await import("./quarantine-reader.ts");
  if (isQuarantine(path)) {
    const { examineQuarantine } = await import("./examine-quarantine.ts");
    return examineQuarantine(path);
  }
  const { examineLogFile } = await import("./jsonl/examine-file.ts");
  return [examineLogFile(path)];
}

function look(path: string): Stats {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found !== undefined) return found;
  } catch (error) {
    throw toStorageError(error, "The path cannot be used", { path });
  }
  throw new StoreNotFoundError(path);
}

function beginsLike(path: string, beginning: Buffer): boolean {
  try {
    const file = openSync(path, "r");
    try {
      const bytes = Buffer.alloc(beginning.length);
      readSync(file, bytes, 0, bytes.length, 0);
      return bytes.equals(beginning);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw toStorageError(error, "The file could not be read", { path });
  }
}
