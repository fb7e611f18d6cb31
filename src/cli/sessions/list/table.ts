import type { SessionHeader } from "../../../session/header.ts";
import { grouped } from "../../counted.ts";
import { formatBytes } from "../../doctor/units.ts";
import { isolated } from "../../isolated.ts";
import { printableLine } from "../../printable.ts";
import { borderAfter } from "../shorten.ts";
import type { SessionEntry } from "./list-entry.ts";

const GAP = 2;
/** Columns of a title where nobody says how wide the table may be. */
const TITLE_WIDTH = 60;
/** Other columns go before a title has less than this, but the time of the last activity stays longer. */
const GOOD_TITLE = 24;
/** With less a title is of no use. */
const LEAST_TITLE = 8;
/** Characters of an id that is cut: it can still be typed, where it is the only one that begins so. */
const LEAST_ID = 8;
/** With less a state is of no use. */
const LEAST_STATE = 5;
/** A reason that is cut off shorter says nothing. */
const LEAST_REASON = 12;

/** Stands before the title of a session that has a parent. */
const FORK = "↳ ";

/** What a table shows of a session. Times are epoch milliseconds. */
export type Row = Omit<SessionEntry, "state" | "header"> & {
  readonly state?: SessionEntry["state"];
  readonly header?: Pick<SessionHeader, "parentSession">;
  readonly folder?: string;
};

interface Column {
  readonly heading: string;
  readonly cell: (row: Row) => string;
  readonly isNumber?: boolean;
}

const ID: Column = { heading: "ID", cell: ({ id }) => id };
const TITLE: Column = { heading: "TITLE", cell: (row) => markOf(row) + (row.title ?? "-") };
const STARTED: Column = { heading: "STARTED", cell: ({ started }) => localTime(started) };
const ACTIVE: Column = { heading: "LAST ACTIVE", cell: ({ lastActive }) => localTime(lastActive) };
const TURNS: Column = { heading: "TURNS", cell: ({ turns }) => counted(turns), isNumber: true };
const EVENTS: Column = { heading: "EVENTS", cell: ({ events }) => counted(events), isNumber: true };
const SIZE: Column = {
  heading: "SIZE",
  cell: ({ bytes }) => (bytes === undefined ? "-" : formatBytes(bytes)),
  isNumber: true,
};
const STATE: Column = { heading: "STATE", cell: ({ state }) => state ?? "" };
const FOLDER: Column = { heading: "FOLDER", cell: ({ folder }) => folder ?? "-" };

interface Layout {
  readonly columns: readonly Column[];
  /** What makes room, in this order: columns that go, and ids that are cut to what tells them apart. */
  readonly measures: ReadonlyArray<Column | "cut ids" | "cut titles">;
}

const LIST: Layout = {
  columns: [ID, TITLE, STARTED, ACTIVE, TURNS, EVENTS, SIZE, STATE],
  measures: [SIZE, STARTED, "cut ids", EVENTS, TURNS, "cut titles", ACTIVE],
};
/** Who is asked whether these may go has to know which ones they are: no id is cut. */
const REMOVAL: Layout = {
  columns: [ID, TITLE, STARTED, ACTIVE, TURNS, FOLDER],
  measures: [STARTED, FOLDER, TURNS, "cut titles"],
};

/**
 * Sessions as a table for people, line by line, each with its end.
 * @param width columns of the terminal; where there is none, nothing is left out but the rest of long titles
 */
export function sessionTable(entries: readonly SessionEntry[], width?: number): Generator<string> {
  return table(fitted(LIST, entries, width), entries, width);
}

/** A table of sessions that are to be deleted. */
export interface RemovalTable {
  /** The heading, and then one for each session, each with its end. */
  readonly lines: Generator<string>;
  readonly hasFolders: boolean;
}

/** The same of sessions that are to be deleted, by their whole ids. Nothing where there is no room for such a table. */
export function removalTable(rows: readonly Row[], width?: number): RemovalTable | undefined {
  const fit = fitted(REMOVAL, rows, width);
  if (!fit.columns.includes(TITLE)) return undefined;
  return { lines: table(fit, rows, width), hasFolders: fit.columns.includes(FOLDER) };
}

interface Fitted {
  readonly columns: readonly Column[];
  readonly widths: ReadonlyMap<Column, number>;
}

function fitted(layout: Layout, rows: readonly Row[], width: number | undefined): Fitted {
  const widths = new Map(layout.columns.map((column) => [column, widest(column, rows)]));
  return { columns: fit(layout, widths, width, () => leastIdWidth(rows)), widths };
}

function* table(
  { columns, widths }: Fitted,
  rows: readonly Row[],
  width: number | undefined,
): Generator<string> {
  const heading = (column: Column, own: number) => pad(elided(column.heading, own), own, column.isNumber);
  yield line(columns.map((column) => heading(column, widths.get(column) ?? 0)));
  const left = width === undefined ? Number.POSITIVE_INFINITY : width - needed(columns, widths);
  for (const row of rows) {
    const cells = columns.map((column) => {
      const own = widths.get(column) ?? 0;
      const text = shown(column, row, own);
      const cell = column === STATE ? text + reasonOf(row, own - Bun.stringWidth(text) + left) : text;
      const whole =
        column === TITLE ? isolatedTitle(cell, width !== undefined) : isolated(cell, width !== undefined);
      return pad(whole, own, column.isNumber, Bun.stringWidth(cell));
    });
    yield line(cells);
  }
}

/** A title as it stands in a table, alone. @param width columns that there are for it, on a terminal */
export function titleCell(row: Row, width: number): string {
  return isolatedTitle(shown(TITLE, row, width), true);
}

/** The mark of a fork stays in front of a title that runs from right to left. */
function isolatedTitle(cell: string, isTerminal: boolean): string {
  const mark = cell.startsWith(FORK) ? FORK : "";
  return mark + isolated(cell.slice(mark.length), isTerminal);
}

/** The columns that there is room for. The widths of ids and titles are set to what is left for them. */
function fit(
  layout: Layout,
  widths: Map<Column, number>,
  width: number | undefined,
  leastId: () => number,
): readonly Column[] {
  const limit = width === undefined ? TITLE_WIDTH : Number.POSITIVE_INFINITY;
  const title = Math.min(widths.get(TITLE) ?? 0, limit);
  const id = widths.get(ID) ?? 0;
  widths.set(TITLE, title);
  let { columns } = layout;
  if (width === undefined) return columns;
  // One session with a long state costs titles some room, and no column.
  const state = Math.max(0, (widths.get(STATE) ?? 0) - STATE.heading.length);
  let least = Math.min(title, Math.max(GOOD_TITLE - state, LEAST_TITLE));
  const rest = () => width - needed(columns, widths) + title;
  for (const measure of layout.measures) {
    if (rest() >= least) break;
    if (measure === "cut ids") widths.set(ID, leastId());
    else if (measure === "cut titles") least = Math.min(title, LEAST_TITLE);
    else columns = columns.filter((column) => column !== measure);
  }
  if (rest() < Math.min(title, LEAST_TITLE)) columns = columns.filter((column) => column !== TITLE);
  else widths.set(TITLE, Math.min(title, rest()));
  // What nobody needs is given back.
  const spare = width - needed(columns, widths);
  widths.set(ID, Math.min(id, (widths.get(ID) ?? 0) + Math.max(0, spare)));
  if (spare >= 0) return columns;
  // Only ids and states are left: states are cut, then go, and only then are ids cut to less than tells them apart.
  const left = width - (widths.get(ID) ?? 0) - GAP;
  widths.set(STATE, left);
  if (left >= LEAST_STATE && columns.includes(STATE)) return columns;
  widths.set(ID, Math.min(id, width));
  return [ID];
}

function markOf({ header }: Row): string {
  return header?.parentSession === undefined ? "" : FORK;
}

/** The least columns in which each id is whole, or has a beginning that no other one of the table has. */
function leastIdWidth(rows: readonly Row[]): number {
  const ids = [...new Set(rows.map((row) => printableLine(row.id)))].sort();
  const widths = ids.map((id, k) => {
    const shared = Math.max(alike(id, ids[k - 1]), alike(id, ids[k + 1]));
    const beginning = borderAfter(id, Math.min(id.length, Math.max(shared + 1, LEAST_ID)));
    return Math.min(Bun.stringWidth(id), Bun.stringWidth(id.slice(0, beginning)) + 1);
  });
  return Math.max(ID.heading.length, ...widths);
}

/** How many UTF-16 units two texts begin with alike. */
function alike(text: string, other = ""): number {
  let length = 0;
  while (length < text.length && text[length] === other[length]) length += 1;
  return length;
}

function needed(columns: readonly Column[], widths: ReadonlyMap<Column, number>): number {
  return columns.reduce((sum, column) => sum + (widths.get(column) ?? 0) + GAP, -GAP);
}

function widest(column: Column, rows: readonly Row[]): number {
  let most = column.heading.length;
  for (const row of rows) most = Math.max(most, Bun.stringWidth(printableLine(column.cell(row))));
  return most;
}

/** Ids, titles and states are cut; the others go instead. */
function shown(column: Column, row: Row, width: number): string {
  const text = printableLine(column.cell(row));
  return column === TITLE || column === ID || column === STATE ? elided(text, width) : text;
}

/** Why a session is not sound, behind its state, as far as there is room. */
function reasonOf({ reason }: Row, room: number): string {
  if (reason === undefined || room < LEAST_REASON) return "";
  return elided(`: ${printableLine(reason)}`, room);
}

/** A text of at most so many columns, cut between characters. */
export function elided(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text;
  // What ends with a wide character may be one column wider than was asked for.
  for (let end = width - 1; end > 0; end -= 1) {
    const head = Bun.sliceAnsi(text, 0, end);
    if (Bun.stringWidth(head) < width) return `${head}…`;
  }
  return "…";
}

function pad(text: string, width: number, isNumber = false, own = Bun.stringWidth(text)): string {
  const space = " ".repeat(Math.max(0, width - own));
  return isNumber ? space + text : text + space;
}

function line(cells: readonly string[]): string {
  return `${cells.join(" ".repeat(GAP)).trimEnd()}\n`;
}

function counted(count: number | undefined): string {
  return count === undefined ? "-" : grouped(count);
}

const LAST_DATE = 8.64e15;

/** Date and minute where the reader is; the number where no calendar goes that far. `-` stands for none. */
export function localTime(time: number | undefined): string {
  if (time === undefined) return "-";
  if (time > LAST_DATE) return String(time);
  const at = new Date(time);
  const [month, day, hour, minute] = [at.getMonth() + 1, at.getDate(), at.getHours(), at.getMinutes()].map(
    (part) => String(part).padStart(2, "0"),
  );
  return `${at.getFullYear()}-${month}-${day} ${hour}:${minute}`;
}

/** Epoch milliseconds as a person reads them, in UTC; as a number where no calendar goes that far. */
export function formatTime(time: number): string {
  return time > LAST_DATE ? String(time) : new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
}
