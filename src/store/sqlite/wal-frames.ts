import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { CorruptError, errorCode } from "../errors.ts";
import type { Finding } from "../finding.ts";

/*
 * Reads a write-ahead log as SQLite does, and beyond: SQLite takes no frame behind the first one that is damaged, without
 * a word, though commits that were acknowledged may lie there. Source: https://sqlite.org/fileformat2.html#walformat
 */

const HEADER = 32;
const FRAME_HEADER = 24;
const MAGIC = 0x377f0682;

/** Page numbers, and where in the log the last frame of each begins its page. */
export type PageOffsets = ReadonlyMap<number, number>;

/** What lies behind a damaged frame of a log. */
export interface LostFrames {
  /** Frame that is damaged, from 1, and its byte offset. 0 is the header of the log. */
  readonly frame: number;
  readonly offset: number;
  /** Commits that are whole behind it. */
  readonly commits: number;
  readonly pages: PageOffsets;
}

export interface WalContents {
  /** In bytes; 0 where there is no log. */
  readonly pageSize: number;
  /** What SQLite takes. */
  readonly pages: PageOffsets;
  /** What it does not take although it was committed, as far as that can be told. */
  readonly lost?: LostFrames;
}

const EMPTY: WalContents = { pageSize: 0, pages: new Map() };

/** The frames of the log of a database; none where there is no log, or one for pages of another size than `pageSize`. */
export function readWal(database: string, pageSize?: number): WalContents {
  let file: number;
  try {
    file = openSync(`${database}-wal`, "r");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return EMPTY;
    throw error;
  }
  try {
    const header = new DataView(new ArrayBuffer(HEADER));
    if (readSync(file, header, 0, HEADER, 0) < HEADER) return EMPTY;
    const own = header.getUint32(8);
    if (own < 512 || own > 65536 || own !== (pageSize ?? own)) return EMPTY;
    const { lost, ...contents } = new FrameReader(file, own).read();
    if (lost === undefined || !isNews(database, file, contents, lost)) return contents;
    return { ...contents, lost };
  } finally {
    closeSync(file);
  }
}

/** Whether the log of a database has a header that SQLite takes. */
export function hasSoundHeader(database: string): boolean {
  const file = openSync(`${database}-wal`, "r");
  try {
    return new FrameReader(file, HEADER).start() !== undefined;
  } finally {
    closeSync(file);
  }
}

/**
 * Whether something of the lost frames is not in the database already. They are what is left of an older log where the
 * power was cut just when a new one was begun over it.
 */
function isNews(database: string, log: number, { pages, pageSize }: WalContents, lost: LostFrames): boolean {
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
  const first = readWal(path).lost;
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
  const finding = findLostFrames(path);
  if (finding === undefined) return;
  const { message, place, expected = "", found = "" } = finding;
  throw new CorruptError(message, {
    place,
    expected,
    found,
    hint: "`holdfast sessions repair` keeps a backup and brings back what is whole. The store was left as it is.",
  });
}

/** Both halves of a checksum. */
interface Sum {
  readonly a: number;
  readonly b: number;
}

interface Frame {
  readonly number: number;
  readonly page: number;
  readonly isCommit: boolean;
  /** Pages of the database after the commit that it ends. */
  readonly size: number;
  /** As it is stored. */
  readonly sum: Sum;
}

interface SoundPart {
  readonly pages: PageOffsets;
  readonly end: number;
  readonly size: number;
  readonly sum: Sum | undefined;
}

class FrameReader {
  readonly #file: number;
  readonly #size: number;
  readonly #frameSize: number;
  readonly #buffer: Uint8Array;
  readonly #view: DataView;
  #isLittle = true;

  constructor(file: number, pageSize: number) {
    this.#file = file;
    this.#size = fstatSync(file).size;
    this.#frameSize = FRAME_HEADER + pageSize;
    this.#buffer = new Uint8Array(this.#frameSize);
    this.#view = new DataView(this.#buffer.buffer);
  }

  read(): WalContents {
    if (this.#size < HEADER + this.#frameSize || !this.#fill(0, HEADER)) return EMPTY;
    if (this.#view.getUint32(0) >>> 1 !== MAGIC >>> 1) return EMPTY;
    const start = this.start();
    const salt = this.#view.getBigUint64(16);
    const sound = this.#readSound(salt, start);
    const lost = this.#readLost(salt, sound);
    const pageSize = this.#frameSize - FRAME_HEADER;
    return { pageSize, pages: sound.pages, ...(lost === undefined ? {} : { lost }) };
  }

  /** The checksum of the log's header, if it is one; its bytes are in the buffer. */
  start(): Sum | undefined {
    if (!this.#fill(0, HEADER)) return undefined;
    const magic = this.#view.getUint32(0);
    this.#isLittle = magic === MAGIC;
    const stored = this.#storedSum(24);
    const isSound = magic >>> 1 === MAGIC >>> 1 && isSame(this.#sum({ a: 0, b: 0 }, 0, 24), stored);
    return isSound ? stored : undefined;
  }

  /** The commits that SQLite takes, and of their last frame the number, the size of the database, and the checksum. */
  #readSound(salt: bigint, start: Sum | undefined): SoundPart {
    const pages = new Map<number, number>();
    let pending: Frame[] = [];
    let [end, size, sum, before] = [0, 0, start, start];
    for (let number = 1; before !== undefined; number += 1) {
      const frame = this.#frame(number, salt);
      if (frame === undefined || !this.#isWhole(before)) break;
      before = frame.sum;
      pending.push(frame);
      if (!frame.isCommit) continue;
      this.#put(pages, pending);
      pending = [];
      [end, size, sum] = [number, frame.size, frame.sum];
    }
    return { pages, end, size, sum };
  }

  /**
   * Frames of this log behind its sound part, of which each follows the one before it. A commit of them counts if another
   * frame follows it: SQLite begins a commit only when the one before is synced. The last one of a log may have been
   * cut off by a crash.
   */
  #readLost(salt: bigint, { end, size, sum }: SoundPart): LostFrames | undefined {
    const pages = new Map<number, number>();
    let damaged = sum === undefined ? 0 : undefined;
    let commits = 0;
    let before = sum;
    let isSettling = false;
    let last: Frame[] = [];
    for (let number = end + 1; this.#offset(number) + this.#frameSize <= this.#size; number += 1) {
      const frame = this.#frame(number, salt);
      const isWhole = frame !== undefined && before !== undefined && this.#isWhole(before);
      before = frame?.sum;
      if (frame === undefined || !isWhole) {
        damaged ??= number;
        // What its header says may be the damage itself; that it says the size of the database would be chance.
        isSettling = frame?.isCommit === true && frame.size === size;
        continue;
      }
      if (isSettling) {
        commits += 1;
        this.#put(pages, last);
        last = [];
      }
      last.push(frame);
      isSettling = frame.isCommit;
    }
    if (commits === 0 || damaged === undefined) return undefined;
    this.#put(pages, last);
    return { frame: damaged, offset: damaged === 0 ? 0 : this.#offset(damaged), commits, pages };
  }

  #put(pages: Map<number, number>, frames: readonly Frame[]): void {
    for (const { page, number } of frames) pages.set(page, this.#offset(number) + FRAME_HEADER);
  }

  #offset(number: number): number {
    return HEADER + (number - 1) * this.#frameSize;
  }

  /** A frame that belongs to this log; its bytes are in the buffer. */
  #frame(number: number, salt: bigint): Frame | undefined {
    if (!this.#fill(this.#offset(number), this.#frameSize)) return undefined;
    if (this.#view.getBigUint64(8) !== salt) return undefined;
    const [page, size] = [this.#view.getUint32(0), this.#view.getUint32(4)];
    return { number, page, isCommit: size !== 0, size, sum: this.#storedSum(16) };
  }

  /** Whether the frame in the buffer is what was written behind the one with this checksum. */
  #isWhole(before: Sum): boolean {
    const sum = this.#sum(this.#sum(before, 0, 8), FRAME_HEADER, this.#frameSize);
    return isSame(sum, this.#storedSum(16));
  }

  #sum({ a, b }: Sum, from: number, to: number): Sum {
    const [view, isLittle] = [this.#view, this.#isLittle];
    let [x, y] = [a, b];
    for (let at = from; at < to; at += 8) {
      x = (x + view.getUint32(at, isLittle) + y) >>> 0;
      y = (y + view.getUint32(at + 4, isLittle) + x) >>> 0;
    }
    return { a: x, b: y };
  }

  #storedSum(at: number): Sum {
    return { a: this.#view.getUint32(at), b: this.#view.getUint32(at + 4) };
  }

  #fill(offset: number, length: number): boolean {
    return readSync(this.#file, this.#buffer, 0, length, offset) === length;
  }
}

function isSame(left: Sum, right: Sum): boolean {
  return left.a === right.a && left.b === right.b;
}
