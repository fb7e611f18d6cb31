import { formatBytes } from "../../doctor/units.ts";
import { printableLine } from "../../printable.ts";
import type { SessionEntry } from "./list-entry.ts";

const GAP = 2;
/** Columns of a title where nobody says how wide the table may be. */
const TITLE_WIDTH = 60;
/** Other columns go before a title has less than this, and then the title itself. */
const GOOD_TITLE = 24;
const LEAST_TITLE = 8;
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
/** In this order they make room. */
const DROPPED = [SIZE, STARTED, EVENTS, TURNS, ACTIVE] as const;

/**
 * Sessions as a table for people, line by line, each with its end.
 * @param width columns of the terminal; where there is none, nothing is left out but the rest of long titles
 */
export function* sessionTable(entries: readonly SessionEntry[], width?: number): Generator<string> {
  const widths = new Map(COLUMNS.map((column) => [column, widest(column, entries)]));
  const columns = fit(widths, width);
  yield line(columns.map((column) => pad(column.heading, widths.get(column) ?? 0, column.isNumber)));
  const left = width === undefined ? Number.POSITIVE_INFINITY : width - needed(columns, widths);
  for (const entry of entries) {
    const cells = columns.map((column) => {
      const own = widths.get(column) ?? 0;
      const text = shown(column, entry, own);
      const cell = column === STATE ? text + reasonOf(entry, own - Bun.stringWidth(text) + left) : text;
      return pad(isolated(cell, width), own, column.isNumber, Bun.stringWidth(cell));
    });
    yield line(cells);
  }
}

/** The columns that there is room for. The width of the title is set to what is left for it. */
function fit(widths: Map<Column, number>, width: number | undefined): readonly Column[] {
  const title = Math.min(
    widths.get(TITLE) ?? 0,
    width === undefined ? TITLE_WIDTH : Number.POSITIVE_INFINITY,
  );
  widths.set(TITLE, title);
  if (width === undefined) return COLUMNS;
  let columns: readonly Column[] = COLUMNS;
  const rest = () => width - needed(columns, widths) + title;
  for (const dropped of DROPPED) {
    if (rest() >= Math.min(title, GOOD_TITLE)) break;
    columns = columns.filter((column) => column !== dropped);
  }
  if (rest() < Math.min(title, LEAST_TITLE)) return columns.filter((column) => column !== TITLE);
  widths.set(TITLE, Math.min(title, rest()));
  return columns;
}

function needed(columns: readonly Column[], widths: ReadonlyMap<Column, number>): number {
  return columns.reduce((sum, column) => sum + (widths.get(column) ?? 0) + GAP, -GAP);
}

function widest(column: Column, entries: readonly SessionEntry[]): number {
  let most = column.heading.length;
  for (const entry of entries) most = Math.max(most, Bun.stringWidth(printableLine(column.cell(entry))));
  return most;
}

/** Only a title is cut: an id is of use whole, and the others are short. */
function shown(column: Column, entry: SessionEntry, width: number): string {
  const text = printableLine(column.cell(entry));
  return column === TITLE ? elided(text, width) : text;
}

/** Why a session is not sound, behind its state, as far as there is room. */
function reasonOf({ reason }: SessionEntry, room: number): string {
  if (reason === undefined || room < LEAST_REASON) return "";
  return elided(`: ${printableLine(reason)}`, room);
}

/** A text of at most so many columns, cut between characters. */
function elided(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text;
  // What ends with a wide character may be one column wider than was asked for.
  for (let end = width - 1; end > 0; end -= 1) {
    const head = Bun.sliceAnsi(text, 0, end);
    if (Bun.stringWidth(head) < width) return `${head}…`;
  }
  return "…";
}

const RIGHT_TO_LEFT = /[\p{sc=Hebrew}\p{sc=Arabic}\p{sc=Syriac}\p{sc=Thaana}\p{sc=Nko}]/u;

/** On a terminal, text that runs the other way is kept from turning the columns beside it around. */
function isolated(text: string, width: number | undefined): string {
  return width !== undefined && RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text;
}

function pad(text: string, width: number, isNumber = false, own = Bun.stringWidth(text)): string {
  const space = " ".repeat(Math.max(0, width - own));
  return isNumber ? space + text : text + space;
}

function line(cells: readonly string[]): string {
  return `${cells.join(" ".repeat(GAP)).trimEnd()}\n`;
}

function counted(count: number | undefined): string {
  return count === undefined ? "-" : count.toLocaleString("en");
}

const LAST_DATE = 8.64e15;

/** Date and minute where the reader is; the number where no calendar goes that far. */
function localTime(time: number | undefined): string {
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
