import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { CorruptError, errorCode } from "../errors.ts";
import type { Finding } from "../finding.ts";
import { readHeader, WAL_HEADER } from "./identity.ts";
import { EMPTY_LOG, FrameReader, type LostFrames, type WalContents } from "./wal-reader.ts";

/*
 * Reads a write-ahead log as SQLite does, and beyond: SQLite takes no frame behind the first one that is damaged, without
 * a word, though commits that were acknowledged may lie there. Source: https://sqlite.org/fileformat2.html#walformat
 */

/** What SQLite makes databases with. */
const DEFAULT_PAGE_SIZE = 4_096;

/** The frames of the log of a database; none where there is no log, or one for pages of another size than `pageSize`. */
export function readWal(database: string, pageSize?: number): WalContents {
  let file: number;
  try {
    file = openSync(`${database}-wal`, "r");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return EMPTY_LOG;
    throw error;
  }
  try {
    const own = pageSizeOf(file, database, pageSize);
    if (own === undefined) return EMPTY_LOG;
    const { lost, ...contents } = new FrameReader(file, own).read();
    if (lost === undefined || !isNews(database, file, contents, lost)) return contents;
    return { ...contents, lost };
  } finally {
    closeSync(file);
  }
}

/**
 * What the log's header says, if that is sound, or else what the database's says, or the size that stores are made with. Nothing
 * where SQLite takes nothing of the log for it is one of another database.
 */
function pageSizeOf(log: number, database: string, expected: number | undefined): number | undefined {
  const header = Buffer.alloc(WAL_HEADER);
  if (readSync(log, header, 0, WAL_HEADER, 0) < WAL_HEADER) return undefined;
  const own = header.readUInt32BE(8);
  if (new FrameReader(log, WAL_HEADER).start() !== undefined) {
    return isPageSize(own) && own === (expected ?? own) ? own : undefined;
  }
  const start = readHeader(database);
  const stated = start === undefined || start.length < 18 ? 0 : start.readUInt16BE(16);
  const size = expected ?? (stated === 1 ? 65_536 : stated);
  return isPageSize(size) ? size : DEFAULT_PAGE_SIZE;
}

function isPageSize(size: number): boolean {
  return size >= 512 && size <= 65_536 && Number.isInteger(Math.log2(size));
}

/** Whether the log of a database has a header that SQLite takes. */
export function hasSoundHeader(database: string): boolean {
  const file = openSync(`${database}-wal`, "r");
  try {
    return new FrameReader(file, WAL_HEADER).start() !== undefined;
  } finally {
    closeSync(file);
  }
}

/**
 * Whether something of the lost frames is not in the database already. They are what is left of an older log where the
 * power was cut just when a new one was begun over it.
 */
function isNews(database: string, log: number, { pages, pageSize }: WalContents, lost: LostFrames): boolean {
  // Nothing is, where the database itself is gone.
  if (!existsSync(database)) return true;
  const [own, other] = [Buffer.alloc(pageSize), Buffer.alloc(pageSize)];
  const file = openSync(database, "r");
  try {
    for (const [page, offset] of lost.pages) {
      const logged = pages.get(page);
      own.fill(0);
      if (logged === undefined) readSync(file, own, 0, pageSize, (page - 1) * pageSize);
      else readSync(log, own, 0, pageSize, logged);
      readSync(log, other, 0, pageSize, offset);
      if (!own.equals(other)) return true;
    }
    return false;
  } finally {
    closeSync(file);
  }
}

/**
 * What is wrong with the log of a store, where something is. A log that is being written may look so for a moment, so
 * that one that does is looked at again.
 */
export function findLostFrames(path: string): Finding | undefined {
  const log = `${path}-wal`;
  const { lost: first, isAlien } = readWal(path);
  if (isAlien === true && readWal(path).isAlien === true) {
    return {
      code: "store-damaged",
      message: "The write-ahead log is none, and SQLite ignores all of it",
      place: { path: log, offset: 0 },
      expected: "the header and the frames of a log",
      found: "other bytes",
    };
  }
  const second = first === undefined ? undefined : readWal(path).lost;
  if (second === undefined || second.offset !== first?.offset) return undefined;
  const { frame, offset, commits } = second;
  const what = frame === 0 ? "The header of the write-ahead log" : "A frame of the write-ahead log";
  return {
    code: "store-damaged",
    message: `${what} is damaged, and SQLite ignores all that follows it`,
    place: { path: log, offset, ...(frame === 0 ? {} : { row: frame }) },
    expected: "nothing behind it",
    found: `${commits} ${commits === 1 ? "commit" : "commits"} or more`,
  };
}

/**
 * Refuses a database of which the log is damaged and goes on behind the damage: with the next commit SQLite would write over
 * what was acknowledged, without a word. @throws CorruptError
 */
export function assertWholeLog(path: string): void {
  const error = lostFramesError(path);
  if (error !== undefined) throw error;
}

/** What {@link findLostFrames} finds, as an error. */
export function lostFramesError(path: string): CorruptError | undefined {
  const finding = findLostFrames(path);
  if (finding === undefined) return undefined;
  const { message, place, expected = "", found = "" } = finding;
  return new CorruptError(message, {
    place,
    expected,
    found,
    hint: "`holdfast sessions repair` keeps a backup and brings back what is whole. The store was left as it is.",
  });
}
