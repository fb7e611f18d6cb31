import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { PageShape } from "./cells.ts";
import { type LostFrames, readWal, type WalContents } from "./wal-frames.ts";

const HEADER = 100;
const PAGE_SIZE_OFFSET = 16;
const RESERVED_OFFSET = 20;
const FREELIST_OFFSET = 32;
const DEFAULT_PAGE_SIZE = 4096;
/** Bytes of a page that must be left. */
const LEAST_USABLE = 480;

/** A version of a page: the one that SQLite reads, or one in the lost part of the log. */
export interface PageAddress {
  readonly page: number;
  readonly isLost: boolean;
}

/**
 * The pages of a database as they lie in its file and its log, read without SQLite. Its files must not be locked by this
 * process: closing them would free the locks.
 */
export class PageFile implements Disposable {
  readonly shape: PageShape;
  /** Number of the last page. */
  readonly count: number;
  readonly lost: LostFrames | undefined;
  readonly #file: number;
  readonly #log: number | undefined;
  readonly #pages: WalContents["pages"];

  /** @throws a system error */
  constructor(path: string) {
    this.#file = openSync(path, "r");
    try {
      const { size } = fstatSync(this.#file);
      this.shape = shapeOf(this.#file);
      const { pages, lost } = readWal(path, this.shape.pageSize);
      this.#pages = pages;
      this.lost = lost;
      this.#log = pages.size > 0 || lost !== undefined ? openSync(`${path}-wal`, "r") : undefined;
      const inFile = Math.ceil(size / this.shape.pageSize);
      this.count = [...pages.keys()].reduce((most, page) => Math.max(most, page), inFile);
    } catch (error) {
      closeSync(this.#file);
      throw error;
    }
  }

  /** Every version of every page. */
  *addresses(): Generator<PageAddress> {
    for (let page = 1; page <= this.count; page += 1) yield { page, isLost: false };
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
        : readSync(this.#file, bytes, 0, pageSize, (page - 1) * pageSize);
      bytes.fill(0, count);
    } catch {
      // What the disk does not give back is gone like any other damage.
      bytes.fill(0);
    }
    return bytes;
  }

  /** Byte offset of a page in the database file; nothing where it lies in the log. */
  offsetOf({ page, isLost }: PageAddress): number | undefined {
    return isLost || this.#pages.has(page) ? undefined : (page - 1) * this.shape.pageSize;
  }

  /**
   * Pages that belong to no table, in which deleted rows may still stand. Nothing where the list of them is damaged: then
   * which pages are free is not known.
   */
  freePages(): ReadonlySet<number> | undefined {
    const bytes = this.buffer();
    const first = view(this.read({ page: 1, isLost: false }, this.buffer()));
    const total = first.getUint32(FREELIST_OFFSET + 4);
    const free = new Set<number>();
    for (let trunk = first.getUint32(FREELIST_OFFSET); trunk !== 0; ) {
      if (!this.#addFree(free, trunk)) return undefined;
      const page = view(this.read({ page: trunk, isLost: false }, bytes));
      const leaves = page.getUint32(4);
      if (leaves > this.shape.usable / 4 - 2) return undefined;
      for (let k = 0; k < leaves; k += 1) {
        if (!this.#addFree(free, page.getUint32(8 + 4 * k))) return undefined;
      }
      trunk = page.getUint32(0);
    }
    return free.size === total ? free : undefined;
  }

  #addFree(free: Set<number>, page: number): boolean {
    if (page < 2 || page > this.count || free.has(page)) return false;
    free.add(page);
    return true;
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
    if (this.#log !== undefined) closeSync(this.#log);
  }
}

/** As the header of the file has it; the common shape where that cannot be. */
function shapeOf(file: number): PageShape {
  const header = new Uint8Array(HEADER);
  readSync(file, header, 0, HEADER, 0);
  const stored = view(header).getUint16(PAGE_SIZE_OFFSET);
  const size = stored === 1 ? 65536 : stored;
  const isPossible = size >= 512 && (size & (size - 1)) === 0;
  const pageSize = isPossible ? size : DEFAULT_PAGE_SIZE;
  const usable = pageSize - (header[RESERVED_OFFSET] ?? 0);
  return { pageSize, usable: usable >= LEAST_USABLE ? usable : pageSize };
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
