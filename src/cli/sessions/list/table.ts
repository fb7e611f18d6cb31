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

interface Column {
  readonly heading: string;
  readonly cell: (entry: SessionEntry) => string;
  readonly isNumber?: boolean;
}

const ID: Column = { heading: "ID", cell: ({ id }) => id };
const TITLE: Column = { heading: "TITLE", cell: ({ title }) => title ?? "-" };
const STARTED: Column = { heading: "STARTED", cell: ({ started }) => localTime(started) };
const ACTIVE: Column = { heading: "LAST ACTIVE", cell: ({ lastActive }) => localTime(lastActive) };
const TURNS: Column = { heading: "TURNS", cell: ({ turns }) => counted(turns), isNumber: true };
const EVENTS: Column = { heading: "EVENTS", cell: ({ events }) => counted(events), isNumber: true };
const SIZE: Column = {
  heading: "SIZE",
  cell: ({ bytes }) => (bytes === undefined ? "-" : formatBytes(bytes)),
  isNumber: true,
};
const STATE: Column = { heading: "STATE", cell: ({ state }) => state };

const COLUMNS = [ID, TITLE, STARTED, ACTIVE, TURNS, EVENTS, SIZE, STATE] as const;
/** What makes room, in this order: columns that go, and ids that are cut to what tells them apart. */
const MEASURES = [SIZE, STARTED, "cut ids", EVENTS, TURNS, "cut titles", ACTIVE] as const;

/**
 * Sessions as a table for people, line by line, each with its end.
 * @param width columns of the terminal; where there is none, nothing is left out but the rest of long titles
 */
export function* sessionTable(entries: readonly SessionEntry[], width?: number): Generator<string> {
  const widths = new Map(COLUMNS.map((column) => [column, widest(column, entries)]));
  const columns = fit(widths, width, () => leastIdWidth(entries));
  const heading = (column: Column, own: number) => pad(elided(column.heading, own), own, column.isNumber);
  yield line(columns.map((column) => heading(column, widths.get(column) ?? 0)));
  const left = width === undefined ? Number.POSITIVE_INFINITY : width - needed(columns, widths);
  for (const entry of entries) {
    const cells = columns.map((column) => {
      const own = widths.get(column) ?? 0;
      const text = shown(column, entry, own);
      const cell = column === STATE ? text + reasonOf(entry, own - Bun.stringWidth(text) + left) : text;
      return pad(isolated(cell, width !== undefined), own, column.isNumber, Bun.stringWidth(cell));
    });
    yield line(cells);
  }
}

/** The columns that there is room for. The widths of ids and titles are set to what is left for them. */
function fit(
  widths: Map<Column, number>,
  width: number | undefined,
  leastId: () => number,
): readonly Column[] {
  const limit = width === undefined ? TITLE_WIDTH : Number.POSITIVE_INFINITY;
  const title = Math.min(widths.get(TITLE) ?? 0, limit);
  const id = widths.get(ID) ?? 0;
  widths.set(TITLE, title);
  if (width === undefined) return COLUMNS;
  let columns: readonly Column[] = COLUMNS;
  let least = Math.min(title, GOOD_TITLE);
  const rest = () => width - needed(columns, widths) + title;
  for (const measure of MEASURES) {
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
  const state = width - (widths.get(ID) ?? 0) - GAP;
  widths.set(STATE, state);
  if (state >= LEAST_STATE) return columns;
  widths.set(ID, Math.min(id, width));
  return [ID];
}

/** The least columns in which each id is whole, or has a beginning that no other one of the table has. */
function leastIdWidth(entries: readonly SessionEntry[]): number {
  const ids = [...new Set(entries.map((entry) => printableLine(entry.id)))].sort();
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

function widest(column: Column, entries: readonly SessionEntry[]): number {
  let most = column.heading.length;
  for (const entry of entries) most = Math.max(most, Bun.stringWidth(printableLine(column.cell(entry))));
  return most;
}

/** Ids, titles and states are cut; the others go instead. */
function shown(column: Column, entry: SessionEntry, width: number): string {
  const text = printableLine(column.cell(entry));
  return column === TITLE || column === ID || column === STATE ? elided(text, width) : text;
}

/** Why a session is not sound, behind its state, as far as there is room. */
function reasonOf({ reason }: SessionEntry, room: number): string {
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
