import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { errorCode } from "../errors.ts";
import type { Cell, PageShape } from "./cells.ts";
import { readWal } from "./wal-frames.ts";
import type { LostFrames, WalContents } from "./wal-reader.ts";

const HEADER = 100;
const PAGE_SIZE_OFFSET = 16;
const RESERVED_OFFSET = 20;
const SIZE_OFFSET = 28;
const FREELIST_OFFSET = 32;
const DEFAULT_PAGE_SIZE = 4096;
/** Bytes of a page that must be left. */
const LEAST_USABLE = 480;
/** A page that a row goes on in begins with the number of the next one. */
const NEXT_PAGE = 4;
const MAGIC = Buffer.from("SQLite format 3\0");

/** A version of a page: the one that SQLite reads, or one in the lost part of the log. */
export interface PageAddress {
  readonly page: number;
  readonly isLost: boolean;
}

/**
 * The pages of a database as they lie in its file and its log, read without SQLite; of its log alone where the file is
 * gone. Its files must not be locked by this process: closing them would free the locks.
 */
export class PageFile implements Disposable {
  readonly shape: PageShape;
  /** Number of the last page, as far as anything of it is here. */
  readonly count: number;
  /** Pages of the file. */
  readonly inFile: number;
  /** Pages of the file that are there to their end. */
  readonly whole: number;
  readonly lost: LostFrames | undefined;
  readonly #file: number | undefined;
  readonly #log: number | undefined;
  readonly #pages: WalContents["pages"];

  /**
   * @param shape of its pages; as the header of the file, or that of the log, has it when absent
   * @throws a system error
   */
  constructor(path: string, shape?: PageShape) {
    this.#file = openIfThere(path);
    try {
      const size = this.#file === undefined ? 0 : fstatSync(this.#file).size;
      const own = shape ?? (this.#file === undefined ? undefined : storedShape(this.#file));
      const { pages, lost, pageSize } = readWal(path, own?.pageSize);
      this.shape = own ?? shapeFrom(pageSize, 0);
      this.#pages = pages;
      this.lost = lost;
      this.#log = pages.size > 0 || lost !== undefined ? openSync(`${path}-wal`, "r") : undefined;
      this.whole = Math.floor(size / this.shape.pageSize);
      this.inFile = Math.ceil(size / this.shape.pageSize);
      this.count = [...pages.keys()].reduce((most, page) => Math.max(most, page), this.inFile);
    } catch (error) {
      if (this.#file !== undefined) closeSync(this.#file);
      throw error;
    }
  }

  /** Whether all of a page is there, in the file or in the log. */
  has(page: number): boolean {
    return page >= 1 && (page <= this.whole || this.#pages.has(page));
  }

  /** How many of the first `count` pages are not there. */
  missingOf(count: number): number {
    const logged = [...this.#pages.keys()].filter((page) => page > this.whole && page <= count).length;
    return Math.max(0, count - this.whole - logged);
  }

  /** Every version of every page. */
  *addresses(): Generator<PageAddress> {
    for (let page = 1; page <= this.inFile; page += 1) yield { page, isLost: false };
    // Not all up to the last: a damaged log may name one that is far beyond what there is.
    for (const page of this.#pages.keys()) if (page > this.inFile) yield { page, isLost: false };
    for (const page of this.lost?.pages.keys() ?? []) yield { page, isLost: true };
  }

  /** Room for one page. */
  buffer(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.shape.pageSize);
  }

  /** Reads a page into `bytes` and returns them; zeros where it cannot be read. */
  read({ page, isLost }: PageAddress, bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const { pageSize } = this.shape;
    const lost = isLost ? this.lost?.pages.get(page) : undefined;
    const logged = lost ?? this.#pages.get(page);
    try {
      const isLogged = logged !== undefined && this.#log !== undefined;
      const count = isLogged
        ? readSync(this.#log, bytes, 0, pageSize, logged)
        : this.#readFile(bytes, (page - 1) * pageSize);
      bytes.fill(0, count);
    } catch {
      // What the disk does not give back is gone like any other damage.
      bytes.fill(0);
    }
    return bytes;
  }

  /** All of a cell, from the pages that it goes on in; nothing where they cannot be. `buffer` is room for one of them. */
  payload(
    { local, size, overflow }: Cell,
    { isLost }: PageAddress,
    buffer: Uint8Array<ArrayBuffer>,
  ): Uint8Array | undefined {
    if (size === local.length) return local;
    const { usable } = this.shape;
    // More than there is, is damage, and would be memory that is not there.
    if (size > (this.inFile + this.#pages.size + (this.lost?.pages.size ?? 0)) * usable) return undefined;
    const payload = new Uint8Array(size);
    payload.set(local);
    let page = overflow;
    for (let at = local.length; at < size; ) {
      if (!this.#isPage(page, isLost)) return undefined;
      const bytes = this.read({ page, isLost }, buffer);
      const taken = Math.min(usable - NEXT_PAGE, size - at);
      payload.set(bytes.subarray(NEXT_PAGE, NEXT_PAGE + taken), at);
      at += taken;
      page = view(bytes).getUint32(0);
    }
    return payload;
  }

  /** Byte offset of a page in the database file; nothing where it lies in the log. */
  offsetOf({ page, isLost }: PageAddress): number | undefined {
    return isLost || this.#pages.has(page) ? undefined : (page - 1) * this.shape.pageSize;
  }

  /**
   * Pages that belong to no table, in which deleted rows may still stand. Nothing where the list of them is damaged: then
   * which pages are free is not known.
   * @param isLost whether as the lost part of the log has it
   */
  freePages(isLost: boolean): ReadonlySet<number> | undefined {
    const bytes = this.buffer();
    const bytesOfFirst = this.read({ page: 1, isLost }, this.buffer());
    const first = view(bytesOfFirst);
    // Where neither is what it was, nothing else of this header can be trusted.
    const isHeader = MAGIC.equals(bytesOfFirst.subarray(0, MAGIC.length));
    if (!isHeader && first.getUint32(SIZE_OFFSET) !== this.count) return undefined;
    const total = first.getUint32(FREELIST_OFFSET + 4);
    const free = new Set<number>();
    for (let trunk = first.getUint32(FREELIST_OFFSET); trunk !== 0; ) {
      if (!this.#addFree(free, trunk, isLost)) return undefined;
      const page = view(this.read({ page: trunk, isLost }, bytes));
      const leaves = page.getUint32(4);
      if (leaves > this.shape.usable / 4 - 2) return undefined;
      for (let k = 0; k < leaves; k += 1) {
        if (!this.#addFree(free, page.getUint32(8 + 4 * k), isLost)) return undefined;
      }
      trunk = page.getUint32(0);
    }
    return free.size === total ? free : undefined;
  }

  #readFile(bytes: Uint8Array<ArrayBuffer>, offset: number): number {
    return this.#file === undefined ? 0 : readSync(this.#file, bytes, 0, bytes.length, offset);
  }

  /** Whether a page other than the first may have this number. */
  #isPage(page: number, isLost: boolean): boolean {
    return page >= 2 && (page <= this.count || (isLost && this.lost?.pages.has(page) === true));
  }

  #addFree(free: Set<number>, page: number, isLost: boolean): boolean {
    // A free page that was never written is in no log, though the file shall have room for it.
    if (!(isLost ? page >= 2 : this.#isPage(page, false)) || free.has(page)) return false;
    free.add(page);
    return true;
  }

  [Symbol.dispose](): void {
    if (this.#file !== undefined) closeSync(this.#file);
    if (this.#log !== undefined) closeSync(this.#log);
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** As the header of a file has it; the common shape where that cannot be. */
function storedShape(file: number): PageShape {
  const header = new Uint8Array(HEADER);
  readSync(file, header, 0, HEADER, 0);
  const stored = view(header).getUint16(PAGE_SIZE_OFFSET);
  return shapeFrom(stored === 1 ? 65536 : stored, header[RESERVED_OFFSET] ?? 0);
}

/** The shape for two numbers of which nothing is known; the common one where they cannot be. */
export function shapeFrom(size: number, reserved: number): PageShape {
  const isPossible = size >= 512 && size <= 65536 && (size & (size - 1)) === 0;
  const pageSize = isPossible ? size : DEFAULT_PAGE_SIZE;
  const usable = pageSize - reserved;
  return { pageSize, usable: usable >= LEAST_USABLE ? usable : pageSize };
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
