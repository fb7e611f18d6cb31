import { closeSync, openSync, readSync } from "node:fs";
import { basename } from "node:path";
import { StoreNotFoundError, toStorageError, UnsupportedFormatError } from "./errors.ts";
import type { ExaminedSession } from "./examiner.ts";
import { lookAt } from "./look-at.ts";
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
/** A write-ahead log begins with one of two numbers, for the order of bytes in its checksums. */
const LOG_MAGICS = [Buffer.from("377f0682", "hex"), Buffer.from("377f0683", "hex")];
const LOG_NAME = /-wal$/;
/** What files begin with that hold something else in packed form. */
const PACKED = [
  ["gzip", Buffer.from("1f8b08", "hex")],
  ["xz", Buffer.from("fd377a585a00", "hex")],
  ["zip", Buffer.from("504b0304", "hex")],
] as const;
const KIND = /^(sqlite|jsonl):/;

/**
 * Opens whatever may hold events: a store of either kind, or a single file: a log of either encoding, a piece of one, a
 * backup or a quarantine file. What it is, is told by what is in it, unless the name says `sqlite:` or `jsonl:`. The
 * write-ahead log of a database stands for that database, which may be gone.
 * @throws StoreNotFoundError, StoreNameError, StorageFailedError, UnsupportedFormatError, CorruptError
 */
export async function openSalvageSource(name: string): Promise<SalvageSource> {
  const { kind, path } = parseStoreName(name);
  const file = basename(path);
  const store = await storeAt(path, KIND.test(name) ? kind : undefined);
  if (store !== undefined) {
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

/** The store that a path means; nothing where it is a single file. `kind` is what the name says, where it says one. */
async function storeAt(path: string, kind: StoreName["kind"] | undefined): Promise<StoreName | undefined> {
  const found = lookAt(path);
  const isLogLeft = found === undefined && kind !== "jsonl" && lookAt(`${path}-wal`) === "file";
  if (found === undefined && !isLogLeft) throw new StoreNotFoundError(path);
  if (kind === "jsonl" || (kind === undefined && found === "folder"))
    return found === "folder" ? { kind: "jsonl", path } : undefined;
  const isLog =
    found === "file" && LOG_NAME.test(path) && LOG_MAGICS.some((magic) => beginsLike(path, magic));
  if (isLog) return { kind: "sqlite", path: path.replace(LOG_NAME, "") };
  const isDatabase = kind === "sqlite" || isLogLeft || (found === "file" && (await isLikeDatabase(path)));
  return isDatabase ? { kind: "sqlite", path } : undefined;
}

/** Whether a file is a database, or one of ours of which the beginning is gone. */
async function isLikeDatabase(path: string): Promise<boolean> {
  if (beginsLike(path, SQLITE_MAGIC)) return true;
  const { provenShape } = await import("./sqlite/page-shape.ts");
  return provenShape(path) !== undefined;
}

async function examineFile(path: string): Promise<readonly ExaminedSession[]> {
  const { isQuarantine } = await import("./quarantine-reader.ts");
  if (isQuarantine(path)) {
    const { examineQuarantine } = await import("./examine-quarantine.ts");
    return examineQuarantine(path);
  }
  assertUnpacked(path);
  const { examineLogFile } = await import("./jsonl/examine-file.ts");
  return [examineLogFile(path)];
}

/** @throws UnsupportedFormatError */
function assertUnpacked(path: string): void {
  const packed = PACKED.find(([, magic]) => beginsLike(path, magic));
  if (packed === undefined) return;
  throw new UnsupportedFormatError(`The file is ${packed[0]} data`, {
    place: { path },
    hint: "Unpack it, and name what was in it.",
  });
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
