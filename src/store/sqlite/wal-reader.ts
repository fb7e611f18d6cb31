import { fstatSync, readSync } from "node:fs";
import { WAL_HEADER as HEADER } from "./identity.ts";

/*
 * The frames of a write-ahead log: what SQLite takes of it, and what lies behind damage.
 * Source: https://sqlite.org/fileformat2.html#walformat
 */

const FRAME_HEADER = 24;
const MAGIC = 0x377f0682;
/** Bytes that are looked through at once. */
const SEARCH = 64 * 1024;

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
  /** Whether it is no log at all, of this one or of an older one: what it held cannot be told. */
  readonly isAlien?: boolean;
}

/** Of a file that holds no frame. */
export const EMPTY_LOG: WalContents = { pageSize: 0, pages: new Map() };

/** Both halves of a checksum. */
interface Sum {
  readonly a: number;
  readonly b: number;
}

interface Frame {
  readonly offset: number;
  readonly page: number;
  readonly isCommit: boolean;
  /** Pages of the database after the commit that it ends. */
  readonly size: number;
  /** Whether it names this log. */
  readonly isOwn: boolean;
  /** As it is stored. */
  readonly sum: Sum;
}

interface SoundPart {
  readonly pages: PageOffsets;
  /** Offset behind it. */
  readonly end: number;
  readonly size: number;
  /** What the next frame's checksum goes on from; nothing where there is no header to begin with. */
  readonly sum: Sum | undefined;
}

/** A write-ahead log that is open for reading. */
export class FrameReader {
  readonly #file: number;
  readonly #size: number;
  readonly #frameSize: number;
  readonly #buffer: Uint8Array;
  readonly #view: DataView;
  #isLittle = true;
  /** What tells the frames of this log from those of an older one in the same file. */
  #salt = 0n;
  /** Whether a frame was seen that follows another one. */
  #hasChain = false;

  constructor(file: number, pageSize: number) {
    this.#file = file;
    this.#size = fstatSync(file).size;
    this.#frameSize = FRAME_HEADER + pageSize;
    this.#buffer = new Uint8Array(this.#frameSize);
    this.#view = new DataView(this.#buffer.buffer);
  }

  read(): WalContents {
    if (this.#size < HEADER + this.#frameSize) return EMPTY_LOG;
    const pageSize = this.#frameSize - FRAME_HEADER;
    const start = this.start();
    if (start !== undefined) this.#salt = this.#view.getBigUint64(16);
    const sound = this.#readSound(start);
    const lost = this.#readLost(sound, start === undefined ? this.#guessStart() : sound.sum);
    const isAlien = start === undefined && !this.#hasChain && this.#hasContent();
    return {
      pageSize,
      pages: sound.pages,
      ...(lost === undefined ? {} : { lost }),
      ...(isAlien ? { isAlien } : {}),
    };
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

  /**
   * What the first frame goes on from where the header is damaged: the checksum that is stored there, or the one of what
   * stands there. The salt is the first frame's, which is the first to be written over by a newer log.
   */
  #guessStart(): Sum | undefined {
    for (const isLittle of [true, false]) {
      this.#isLittle = isLittle;
      if (!this.#fill(0, HEADER)) return undefined;
      for (const sum of [this.#storedSum(24), this.#sum({ a: 0, b: 0 }, 0, 24)]) {
        const first = this.#frame(HEADER);
        if (first === undefined) return undefined;
        this.#salt = this.#view.getBigUint64(8);
        if (this.#isWhole(sum)) return sum;
        // The second frame shows the order of the bytes.
        const second = this.#frame(HEADER + this.#frameSize);
        if (second !== undefined && this.#isWhole(first.sum)) return undefined;
        this.#fill(0, HEADER);
      }
    }
    return undefined;
  }

  /** The commits that SQLite takes, and what follows from their last frame. */
  #readSound(start: Sum | undefined): SoundPart {
    const pages = new Map<number, number>();
    let pending: Frame[] = [];
    let part = { end: HEADER, size: 0, sum: start };
    let before = start;
    for (let offset = HEADER; before !== undefined; offset += this.#frameSize) {
      const frame = this.#frame(offset);
      if (frame?.isOwn !== true || !this.#isWhole(before)) break;
      before = frame.sum;
      pending.push(frame);
      if (!frame.isCommit) continue;
      put(pages, pending);
      pending = [];
      part = { end: offset + this.#frameSize, size: frame.size, sum: frame.sum };
    }
    return { pages, ...part };
  }

  /**
   * Frames of this log behind its sound part, of which each follows the one before it. A commit of them counts if another
   * frame follows it: SQLite begins a commit only when the one before is synced. The last one of a log may have been
   * cut off by a crash.
   */
  #readLost({ end, size, sum }: SoundPart, start: Sum | undefined): LostFrames | undefined {
    const pages = new Map<number, number>();
    let damaged = sum === undefined ? 0 : undefined;
    let commits = 0;
    let before = start;
    let isSettling = false;
    let last: Frame[] = [];
    for (let offset = end; ; ) {
      const frame = this.#frame(offset);
      if (frame === undefined) break;
      const follows = before !== undefined && this.#isWhole(before);
      this.#hasChain ||= follows;
      // Nothing can be said of the first frame where the header is lost; its rows have checksums of their own.
      const isWhole = follows || (start === undefined && damaged === 0 && offset === HEADER);
      if (!isWhole && !frame.isOwn) {
        damaged ??= offset;
        isSettling = false;
        // Its checksum may be what the next one goes on from; else bytes were put in or taken out.
        before = frame.sum;
        offset = this.#nextOwn(offset);
        if (offset !== frame.offset + this.#frameSize) before = undefined;
        continue;
      }
      before = frame.sum;
      offset += this.#frameSize;
      if (!isWhole) {
        damaged ??= frame.offset;
        // What its header says may be the damage itself; that it says the size of the database would be chance.
        isSettling = frame.isCommit && frame.size === size;
        continue;
      }
      if (!frame.isOwn) damaged ??= frame.offset;
      if (isSettling) {
        commits += 1;
        put(pages, last);
        last = [];
      }
      last.push(frame);
      isSettling = frame.isCommit;
    }
    if (commits === 0 || damaged === undefined) return undefined;
    put(pages, last);
    const frame = damaged < HEADER ? 0 : Math.floor((damaged - HEADER) / this.#frameSize) + 1;
    return { frame, offset: damaged, commits, pages };
  }

  /** Whether there is more than zeros where two frames would lie. A crash may leave less, and zeros. */
  #hasContent(): boolean {
    const second = HEADER + this.#frameSize;
    return [HEADER, second].every(
      (offset) => this.#fill(offset, this.#frameSize) && this.#buffer.some((byte) => byte !== 0),
    );
  }

  /** Where the next frame behind an offset begins that names this log; the end of the file where there is none. */
  #nextOwn(offset: number): number {
    const wanted = Buffer.alloc(8);
    wanted.writeBigUInt64BE(this.#salt);
    const window = Buffer.allocUnsafe(SEARCH);
    for (let at = offset + 1 + 8; at < this.#size; at += SEARCH - wanted.length + 1) {
      const found = window.subarray(0, readSync(this.#file, window, 0, SEARCH, at)).indexOf(wanted);
      if (found >= 0) return at + found - 8;
    }
    return this.#size;
  }

  /** The frame at an offset; its bytes are in the buffer. Nothing where the file ends before it does. */
  #frame(offset: number): Frame | undefined {
    if (!this.#fill(offset, this.#frameSize)) return undefined;
    const [page, size] = [this.#view.getUint32(0), this.#view.getUint32(4)];
    const isOwn = this.#view.getBigUint64(8) === this.#salt;
    return { offset, page, isCommit: size !== 0, size, isOwn, sum: this.#storedSum(16) };
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

function put(pages: Map<number, number>, frames: readonly Frame[]): void {
  for (const { page, offset } of frames) pages.set(page, offset + FRAME_HEADER);
}

function isSame(left: Sum, right: Sum): boolean {
  return left.a === right.a && left.b === right.b;
}
