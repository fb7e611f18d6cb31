/*
 * The part of SQLite's file format that is needed to find rows in pages which no tree leads to any more. Nothing that is
 * read here is trusted: whatever does not fit yields nothing. Source: https://sqlite.org/fileformat2.html
 */

/** Kinds of b-tree pages that hold rows or keys. */
export const TABLE_LEAF = 0x0d;
export const TABLE_INTERIOR = 0x05;
export const INDEX_LEAF = 0x0a;
export const INDEX_INTERIOR = 0x02;

/** The header of the database lies before the header of its first page. */
const FILE_HEADER = 100;
const PAGE_HEADER = 8;
/** A page of the interior of a tree has the number of its last child at the end of its header. */
const INTERIOR_HEADER = 12;
const CHILD = 4;
const OVERFLOW_NUMBER = 4;

/** How many bytes of a page count, at its end some may be reserved. */
export interface PageShape {
  readonly pageSize: number;
  readonly usable: number;
}

/** One cell of a page: a row of a table, or a key of an index, which has no row id. */
export interface Cell {
  /** The upper and the lower half of the row id: number of the session, and seq. */
  readonly high: number;
  readonly low: number;
  readonly size: number;
  /** What of it lies in the page itself. */
  readonly local: Uint8Array;
  /** Page in which it goes on; 0 where all of it is here. */
  readonly overflow: number;
}

/** Kind of a page, whatever number stands there. */
export function pageKind(page: Uint8Array, number: number): number {
  return page[number === 1 ? FILE_HEADER : 0] ?? 0;
}

/** The cells of a page that holds rows or keys. */
export function* cellsOf(page: Uint8Array, number: number, { usable }: PageShape): Generator<Cell> {
  const start = number === 1 ? FILE_HEADER : 0;
  const kind = page[start];
  const isTable = kind === TABLE_LEAF;
  const isInterior = kind === INDEX_INTERIOR;
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
  const count = view.getUint16(start + 3);
  const pointers = start + (isInterior ? INTERIOR_HEADER : PAGE_HEADER);
  const cells = pointers + 2 * count;
  if (cells > usable) return;
  const most = isTable ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23;
  for (let k = 0; k < count; k += 1) {
    const at = view.getUint16(pointers + 2 * k) + (isInterior ? CHILD : 0);
    if (at < cells || at >= usable) continue;
    const cursor = new Cursor(page, at);
    const size = cursor.number();
    const id = isTable ? cursor.halves() : { high: 0, low: 0 };
    const local = localSize(size, most, usable);
    const end = cursor.at + local;
    const isSplit = local < size;
    if (size < 0) continue;
    if (end + (isSplit ? OVERFLOW_NUMBER : 0) > usable) continue;
    const overflow = isSplit ? view.getUint32(end) : 0;
    yield { ...id, size, local: page.subarray(cursor.at, end), overflow };
  }
}

/** A child of a page in the interior of a table, with the highest row id in it; of the last one that is not known. */
export interface Child {
  readonly page: number;
  readonly to?: { readonly high: number; readonly low: number };
}

/** The children of a page in the interior of a table, in order. */
export function* childrenOf(page: Uint8Array, number: number, { usable }: PageShape): Generator<Child> {
  const start = number === 1 ? FILE_HEADER : 0;
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
  const count = view.getUint16(start + 3);
  const pointers = start + INTERIOR_HEADER;
  if (pointers + 2 * count > usable) return;
  for (let k = 0; k < count; k += 1) {
    const at = view.getUint16(pointers + 2 * k);
    if (at < pointers + 2 * count || at + CHILD >= usable) continue;
    yield { page: view.getUint32(at), to: new Cursor(page, at + CHILD).halves() };
  }
  yield { page: view.getUint32(start + PAGE_HEADER) };
}

function localSize(size: number, most: number, usable: number): number {
  if (size <= most) return size;
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  const kept = least + ((size - least) % (usable - OVERFLOW_NUMBER));
  return kept <= most ? kept : least;
}

/** Reads the variable-length integers of a record or a cell. */
class Cursor {
  at: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  /** The 64 bits as a signed upper and an unsigned lower half. */
  halves(): { readonly high: number; readonly low: number } {
    let [high, low] = [0, 0];
    for (let k = 0; k < 9; k += 1) {
      const byte = this.#bytes[this.at] ?? 0;
      this.at += 1;
      const bits = k === 8 ? 8 : 7;
      high = (high << bits) | (low >>> (32 - bits));
      low = ((low << bits) | (k === 8 ? byte : byte & 0x7f)) >>> 0;
      if (byte < 0x80) break;
    }
    return { high, low };
  }

  number(): number {
    const { high, low } = this.halves();
    return high * 2 ** 32 + low;
  }
}

/** Where a text or a blob lies. */
export interface CellSpan {
  readonly from: number;
  readonly to: number;
  readonly isBlob: boolean;
}

/** A value of a record: a number, or where it lies; nothing where it is of another type. */
export type CellValue = number | CellSpan | null | undefined;

/**
 * The values of a whole record; nothing where it does not have so many, or they do not fill it.
 * @param most values that it may have; as many as `columns` when absent
 */
export function valuesOf(record: Uint8Array, columns: number, most = columns): CellValue[] | undefined {
  const cursor = new Cursor(record, 0);
  const header = cursor.number();
  if (header > record.length || header < columns + 1) return undefined;
  const view = new DataView(record.buffer, record.byteOffset, record.byteLength);
  const values: CellValue[] = [];
  let at = header;
  while (cursor.at < header && values.length < most) {
    const type = cursor.number();
    const size = sizeOf(type);
    if (at + size > record.length) return undefined;
    values.push(valueAt(view, at, type, size));
    at += size;
  }
  return cursor.at === header && values.length >= columns && at === record.length ? values : undefined;
}

/** Sizes of the numbers of the types 1 to 6, and of the others below 12. */
const SIZES = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0];
const FIRST_BLOB = 12;

function sizeOf(type: number): number {
  return SIZES[type] ?? Math.floor((type - FIRST_BLOB) / 2);
}

function valueAt(view: DataView, at: number, type: number, size: number): CellValue {
  if (type >= FIRST_BLOB) return { from: at, to: at + size, isBlob: type % 2 === 0 };
  if (type === 0) return null;
  if (type === 8 || type === 9) return type - 8;
  if (type > 6) return undefined;
  let value = view.getInt8(at);
  for (let k = 1; k < size; k += 1) value = value * 256 + view.getUint8(at + k);
  return value;
}
