import type { Finding } from "../finding.ts";
import { cellsOf, childrenOf, pageKind, TABLE_INTERIOR, TABLE_LEAF, valuesOf } from "./cells.ts";
import { pageSizeOf } from "./database-check.ts";
import { beginsAsDatabase } from "./header-fields.ts";
import { readHeader, sizeOf } from "./identity.ts";
import { PageFile } from "./page-file.ts";
import { recordIn, textAt } from "./proven-rows.ts";

/*
 * What a damaged database says itself of the rows that are gone: how many pages it had, and which rows lay in pages that
 * are not there.
 */

const HEADER = 100;
const CHANGES_OFFSET = 24;
const COUNT_OFFSET = 28;
const CHANGES_AT_COUNT_OFFSET = 92;
const SCHEMA_COLUMNS = 5;
/** Where a store has the first page of its tables: they are made in this order. */
const USUAL_ROOTS = { sessions: 2, records: 5 } as const;
const USUAL_NUMBERS_ROOT = 4;
const NUMBERS_TABLE = "sqlite_sequence";
const NUMBERS_COLUMNS = 2;

/** How many pages a database had when it was last written, and how many of them are there. */
export interface CutOff {
  readonly expected: number;
  readonly found: number;
}

/** The id of a row: number of its session, and seq. In the table of the sessions the former is 0, the latter the number. */
export interface RowId {
  readonly high: number;
  readonly low: number;
}

/** Rows that cannot be reached: those behind `after`, or from the first on, to `to` with it, or to the last. */
export interface LostRows {
  readonly after?: RowId;
  readonly to?: RowId;
}

/** What is not there; of a table nothing where its pages do not tell. */
export interface LostPages {
  readonly cutOff?: CutOff;
  readonly records?: readonly LostRows[];
  readonly sessions?: readonly LostRows[];
  /** The highest number that a session ever had. */
  readonly lastNumber?: number;
}

/** Whether a database is shorter than its header says. Opens its files and closes them. @throws a system error */
export function findCutOff(path: string): CutOff | undefined {
  const header = readHeader(path);
  if (header === undefined || header.length < HEADER) return undefined;
  // Nearly always it is not; then no log is read for it.
  if ((countIn(header) ?? 0) * pageSizeOf(header) <= sizeOf(path)) return undefined;
  using pages = new PageFile(path);
  return cutOffOf(pages);
}

/** The same for those who check a store. */
export function cutOffFinding({ expected, found }: CutOff, path: string): Finding {
  return {
    code: "store-damaged",
    message: "The file is shorter than the database",
    place: { path },
    expected: `${expected} pages`,
    found: `${found} whole`,
  };
}

/** Reads all pages of both tables. */
export function findLostPages(pages: PageFile): LostPages {
  const cutOff = cutOffOf(pages);
  const roots = rootsIn(pages);
  // Elsewhere SQLite tells which rows are damaged.
  const buffer = pages.buffer();
  const rowsLostIn = (page: Uint8Array, number: number) =>
    cutOff === undefined ? [] : unreadableIn(pages, page, number, buffer);
  const records = treeFrom(pages, roots.get("records") ?? usualRoot(pages, "records"), rowsLostIn);
  const sessions = treeFrom(pages, roots.get("sessions") ?? usualRoot(pages, "sessions"));
  const lastNumber = lastNumberIn(pages, roots.get(NUMBERS_TABLE) ?? USUAL_NUMBERS_ROOT);
  return {
    ...(lastNumber === undefined ? {} : { lastNumber }),
    ...(cutOff === undefined ? {} : { cutOff }),
    ...(records === undefined ? {} : { records }),
    ...(sessions === undefined ? {} : { sessions }),
  };
}

function cutOffOf(pages: PageFile): CutOff | undefined {
  const expected = countIn(pages.read({ page: 1, isLost: false }, pages.buffer()));
  const missing = expected === undefined ? 0 : pages.missingOf(expected);
  return expected === undefined || missing === 0 ? undefined : { expected, found: expected - missing };
}

/** The number of pages that a header names, where SQLite counts on it. */
function countIn(header: Uint8Array): number | undefined {
  if (header.length < HEADER || !beginsAsDatabase(Buffer.from(header.subarray(0, HEADER)))) return undefined;
  const view = new DataView(header.buffer, header.byteOffset, header.byteLength);
  // An old program that changes the database leaves the number as it was.
  const isOfNow = view.getUint32(CHANGES_OFFSET) === view.getUint32(CHANGES_AT_COUNT_OFFSET);
  const count = view.getUint32(COUNT_OFFSET);
  return isOfNow && count > 0 ? count : undefined;
}

/** The first page of each table, by its name; of those that the schema still tells. */
function rootsIn(pages: PageFile): ReadonlyMap<string, number> {
  const roots = new Map<string, number>();
  const buffer = pages.buffer();
  const take = (page: Uint8Array, number: number) => {
    for (const cell of cellsOf(page, number, pages.shape)) {
      const payload = pages.payload(cell, { page: number, isLost: false }, buffer);
      const [type, name, , root] = payload === undefined ? [] : (valuesOf(payload, SCHEMA_COLUMNS) ?? []);
      if (payload === undefined || typeof root !== "number" || textAt(payload, type) !== "table") continue;
      roots.set(textAt(payload, name) ?? "", root);
    }
    return [];
  };
  treeFrom(pages, 1, take);
  return roots;
}

function lastNumberIn(pages: PageFile, root: number): number | undefined {
  const page = tablePage(pages, root);
  if (page === undefined || pageKind(page, root) !== TABLE_LEAF) return undefined;
  for (const { local } of cellsOf(page, root, pages.shape)) {
    const [name, number] = valuesOf(local, NUMBERS_COLUMNS) ?? [];
    if (textAt(local, name) === "sessions" && typeof number === "number") return number;
  }
  return undefined;
}

/** The usual first page of a table, if what lies there is one of it; for a schema that is gone. */
function usualRoot(pages: PageFile, table: keyof typeof USUAL_ROOTS): number | undefined {
  const number = USUAL_ROOTS[table];
  const page = tablePage(pages, number);
  if (page === undefined) return undefined;
  const ids: readonly RowId[] =
    pageKind(page, number) === TABLE_LEAF
      ? [...cellsOf(page, number, pages.shape)]
      : [...childrenOf(page, number, pages.shape)].flatMap(({ to }) => to ?? []);
  // Rows of other tables have low numbers, as those of the sessions have.
  const isOfTable = ({ high }: RowId) => (table === "records" ? high > 0 : high === 0);
  return ids.length > 0 && ids.every(isOfTable) ? number : undefined;
}

/** Rows of a leaf that are gone. */
type RowsLostIn = (page: Uint8Array, number: number) => Iterable<RowId>;

/** What is gone of a table; nothing where its first page is. */
function treeFrom(pages: PageFile, root = 0, rowsLostIn?: RowsLostIn): LostRows[] | undefined {
  if (tablePage(pages, root) === undefined) return undefined;
  const seen = new Set<number>();
  const walk = function* (number: number, after?: RowId, to?: RowId): Generator<LostRows> {
    const page = seen.has(number) ? undefined : tablePage(pages, number);
    seen.add(number);
    if (page === undefined) {
      yield { ...(after === undefined ? {} : { after }), ...(to === undefined ? {} : { to }) };
      return;
    }
    if (pageKind(page, number) === TABLE_LEAF) {
      for (const { high, low } of rowsLostIn?.(page, number) ?? [])
        yield { after: { high, low: low - 1 }, to: { high, low } };
      return;
    }
    let from = after;
    for (const child of childrenOf(page, number, pages.shape)) {
      yield* walk(child.page, from, child.to ?? to);
      from = child.to;
    }
  };
  return [...walk(root)];
}

function tablePage(pages: PageFile, number: number): Uint8Array | undefined {
  if (!pages.has(number)) return undefined;
  const page = pages.read({ page: number, isLost: false }, pages.buffer());
  const kind = pageKind(page, number);
  return kind === TABLE_LEAF || kind === TABLE_INTERIOR ? page : undefined;
}

/** Rows of a page that are not what was written, or go on in pages that are not there. */
function* unreadableIn(
  pages: PageFile,
  page: Uint8Array,
  number: number,
  buffer: Uint8Array<ArrayBuffer>,
): Generator<RowId> {
  for (const cell of cellsOf(page, number, pages.shape)) {
    const payload = pages.payload(cell, { page: number, isLost: false }, buffer);
    if (payload === undefined || recordIn(payload, cell) === undefined) yield cell;
  }
}
