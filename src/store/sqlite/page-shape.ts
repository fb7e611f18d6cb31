import { cellsOf, type PageShape, pageKind, TABLE_LEAF } from "./cells.ts";
import { PageFile, shapeFrom } from "./page-file.ts";
import { recordIn, sessionIn } from "./proven-rows.ts";

/*
 * Finds out how a database is cut into pages without a word of its header: in the right way rows are found in it, and their
 * checksums fit.
 */

/** The common size first: of two that fit as well, the first counts. */
const SIZES = [4096, 512, 1024, 2048, 8192, 16384, 32768, 65536];
/** Of a larger file so many pieces are looked at, evenly spread. A piece is whole pages of any size. */
const PIECES = 64;
const PIECE = 65536;
/** Longer rows are not put together for this. */
const MOST_BYTES = 1024 * 1024;

/**
 * The shape of pages in which most rows are found whose checksums fit; nothing where there are none: then it is no store,
 * or an empty one, or nothing is left of it. Reads a few MiB, whatever the size of the file.
 * @throws a system error
 */
export function provenShape(path: string): PageShape | undefined {
  const stored = storedShape(path);
  const reserved = stored.pageSize - stored.usable;
  const guesses = SIZES.flatMap((size) => [...new Set([0, reserved])].map((bytes) => shapeFrom(size, bytes)));
  let best: PageShape | undefined;
  let most = 0;
  for (const shape of [stored, ...guesses]) {
    const rows = countProven(path, shape);
    if (rows > most) [best, most] = [shape, rows];
  }
  return best;
}

function storedShape(path: string): PageShape {
  using pages = new PageFile(path);
  return pages.shape;
}

function countProven(path: string, shape: PageShape): number {
  using pages = new PageFile(path, shape);
  const aPiece = PIECE / shape.pageSize;
  const stride = Math.ceil(pages.inFile / aPiece / PIECES);
  const [page, overflow] = [pages.buffer(), pages.buffer()];
  let rows = 0;
  for (const address of pages.addresses()) {
    const isInFile = pages.offsetOf(address) !== undefined;
    if (isInFile && Math.floor((address.page - 1) / aPiece) % stride !== 0) continue;
    const bytes = pages.read(address, page);
    if (pageKind(bytes, address.page) !== TABLE_LEAF) continue;
    for (const cell of cellsOf(bytes, address.page, shape)) {
      const payload = cell.size > MOST_BYTES ? undefined : pages.payload(cell, address, overflow);
      if (payload === undefined) continue;
      if (recordIn(payload, cell) !== undefined || sessionIn(payload, cell) !== undefined) rows += 1;
    }
  }
  return rows;
}
