import { CorruptError } from "../errors.ts";
import { type Cell, cellsOf, INDEX_INTERIOR, INDEX_LEAF, pageKind, TABLE_LEAF, valuesOf } from "./cells.ts";
import { idOf } from "./examined-header.ts";
import { findLostPages, type LostPages } from "./lost-pages.ts";
import { type PageAddress, PageFile } from "./page-file.ts";
import { provenShape } from "./page-shape.ts";
import { recordIn, sessionIn, textAt } from "./proven-rows.ts";
import { type SoundRow, soundRows } from "./row-walk.ts";
import type { Owner, RecordRow, SessionRow } from "./rows.ts";
import { theWhole } from "./same-events.ts";

const KEY_COLUMNS = 2;
/** The index of texts keeps these, each with a number, in rows that look like the keys of sessions. */
const INDEX_SETTINGS: ReadonlySet<string | undefined> = new Set(["hashsize", "version"]);

/** Rows of one session in one page. */
interface Holding {
  readonly address: PageAddress;
  /** The first and the last seq in them. */
  readonly first: number;
  readonly last: number;
}

/** A row that was found in a page. */
export interface ScannedRow extends SoundRow {
  /** Byte offset of its page in the database file, where it lies there. */
  readonly offset?: number;
}

/**
 * The rows in the pages of a database, whether a tree leads to them or not. A row counts only if its checksum fits, which
 * shows that it is one of ours, wherever it lies. Pages on the list of free pages are left out: what was deleted stays
 * deleted. Where that list itself is damaged, they cannot be told apart.
 */
export class PageScan implements Disposable {
  /** Whole rows of `sessions`, by number. */
  readonly headers = new Map<number, SessionRow>();
  /** Keys of sessions by number, from the index of the keys; they have no checksum. */
  readonly keys = new Map<number, string>();
  /** Whether the pages that may hold deleted rows could be left out. */
  readonly isFreeKnown: boolean;
  readonly #pages: PageFile;
  /** The page that is looked at, and one that its cells go on in. */
  readonly #page: Uint8Array<ArrayBuffer>;
  readonly #overflow: Uint8Array<ArrayBuffer>;
  readonly #holdings = new Map<number, Holding[]>();

  /** Reads the whole file. @throws a system error */
  constructor(path: string) {
    this.#pages = new PageFile(path, provenShape(path));
    this.#page = this.#pages.buffer();
    this.#overflow = this.#pages.buffer();
    const free = this.#pages.freePages(false);
    const lostFree = this.#pages.lost === undefined ? free : this.#pages.freePages(true);
    this.isFreeKnown = free !== undefined && lostFree !== undefined;
    for (const address of this.#pages.addresses()) {
      if ((address.isLost ? lostFree : free)?.has(address.page) === true) continue;
      const bytes = this.#pages.read(address, this.#page);
      const kind = pageKind(bytes, address.page);
      if (kind === TABLE_LEAF) this.#takeRows(bytes, address);
      else if (kind === INDEX_LEAF || kind === INDEX_INTERIOR) this.#takeKeys(bytes, address);
    }
    for (const holdings of this.#holdings.values()) holdings.sort((a, b) => a.first - b.first);
  }

  /** Numbers of the sessions that rows were found of. */
  get numbers(): Iterable<number> {
    return this.#holdings.keys();
  }

  /** What SQLite does not take of the log although it was committed. */
  get lost() {
    return this.#pages.lost;
  }

  /** What the pages say of those that are not there. Reads the whole file. */
  lostPages(): LostPages {
    return findLostPages(this.#pages);
  }

  hasRows(number: number): boolean {
    return this.#holdings.has(number);
  }

  /**
   * The rows of a session from seq `from` to seq `to` (exclusive), in order, some at a time. Where rows contradict each
   * other none of them counts; where one holds what others hold, too, it alone does.
   * @param isWanted says of a row of the lost part of the log whether it counts
   */
  *rows(owner: Owner, from: number, to: number, isWanted = (_: ScannedRow) => true): Generator<ScannedRow[]> {
    const holdings =
      this.#holdings.get(owner.number)?.filter(({ first, last }) => last >= from && first < to) ?? [];
    let pending: ScannedRow[] = [];
    for (const [k, { address }] of holdings.entries()) {
      const found = this.#rowsIn(address, owner).filter(({ row }) => row.seq >= from && endOf(row) <= to);
      pending.push(...(address.isLost ? found.filter(isWanted) : found));
      const settled = holdings[k + 1]?.first ?? Number.POSITIVE_INFINITY;
      const groups = overlapping(pending);
      const ready = groups.filter(({ end }) => end <= settled);
      pending = groups.filter(({ end }) => end > settled).flatMap(({ rows }) => rows);
      const sound = ready.flatMap(({ rows }) => theWhole(rows) ?? []);
      if (sound.length > 0) yield sound;
    }
  }

  /** The rows of a session in the lost part of the log, in order. */
  lostRows(owner: Owner): readonly SoundRow[] {
    const holdings = this.#holdings.get(owner.number)?.filter(({ address }) => address.isLost) ?? [];
    const rows = holdings.flatMap(({ address }) => this.#rowsIn(address, owner));
    return rows.sort((a, b) => a.row.seq - b.row.seq);
  }

  [Symbol.dispose](): void {
    this.#pages[Symbol.dispose]();
  }

  #takeRows(page: Uint8Array, address: PageAddress): void {
    const spans = new Map<number, { first: number; last: number }>();
    for (const cell of cellsOf(page, address.page, this.#pages.shape)) {
      const payload = this.#payload(cell, address);
      if (payload === undefined) continue;
      const record = recordIn(payload, cell);
      if (record !== undefined) {
        const { high, low } = cell;
        const end = low + Math.max(0, record.count - 1);
        const span = spans.get(high);
        spans.set(high, { first: Math.min(low, span?.first ?? low), last: Math.max(end, span?.last ?? end) });
        continue;
      }
      const session = sessionIn(payload, cell);
      if (session !== undefined) this.headers.set(session.number, session);
    }
    for (const [number, span] of spans) {
      const holdings = this.#holdings.get(number) ?? [];
      holdings.push({ address, ...span });
      this.#holdings.set(number, holdings);
    }
  }

  #takeKeys(page: Uint8Array, address: PageAddress): void {
    for (const cell of cellsOf(page, address.page, this.#pages.shape)) {
      const payload = this.#payload(cell, address);
      const [key, number] = payload === undefined ? [] : (valuesOf(payload, KEY_COLUMNS) ?? []);
      if (payload === undefined || typeof number !== "number") continue;
      const text = textAt(payload, key);
      if (INDEX_SETTINGS.has(text) || text === undefined || idOf(text) === undefined) continue;
      this.keys.set(number, text);
    }
  }

  #rowsIn(address: PageAddress, owner: Owner): ScannedRow[] {
    const page = this.#pages.read(address, this.#page);
    if (pageKind(page, address.page) !== TABLE_LEAF) return [];
    const offset = this.#pages.offsetOf(address);
    const rows: ScannedRow[] = [];
    for (const cell of cellsOf(page, address.page, this.#pages.shape)) {
      if (cell.high !== owner.number) continue;
      const payload = this.#payload(cell, address);
      const row = payload === undefined ? undefined : recordIn(payload, cell)?.row();
      for (const sound of row === undefined ? [] : trySound(row, owner)) {
        const { decoded, checksum, sources, segment } = sound;
        rows.push({
          row: sound.row,
          decoded,
          checksum,
          ...(sources === undefined ? {} : { sources }),
          ...(segment === undefined ? {} : { segment }),
          ...(offset === undefined ? {} : { offset }),
        });
      }
    }
    return rows;
  }

  #payload(cell: Cell, address: PageAddress): Uint8Array | undefined {
    return this.#pages.payload(cell, address, this.#overflow);
  }
}

function endOf({ seq, count }: RecordRow): number {
  return seq + count;
}

/** Rows in order, those that claim the same seqs together; the same row twice is one. */
function overlapping(rows: readonly ScannedRow[]): { readonly rows: ScannedRow[]; readonly end: number }[] {
  const groups: { rows: ScannedRow[]; end: number }[] = [];
  for (const scanned of rows.toSorted((a, b) => a.row.seq - b.row.seq)) {
    const { row } = scanned;
    const group = groups.at(-1);
    if (group === undefined || row.seq >= group.end) groups.push({ rows: [scanned], end: endOf(row) });
    else if (!group.rows.some((other) => isSame(other.row, row))) {
      group.rows.push(scanned);
      group.end = Math.max(group.end, endOf(row));
    }
  }
  return groups;
}

/** Whether two rows, sound each, hold the same. */
function isSame(left: RecordRow, right: RecordRow): boolean {
  return left.seq === right.seq && left.body === right.body && left.sources === right.sources;
}

function trySound(row: RecordRow, owner: Owner): readonly SoundRow[] {
  try {
    return soundRows(row, owner);
  } catch (error) {
    if (error instanceof CorruptError) return [];
    throw error;
  }
}
