import type { Database } from "bun:sqlite";
import { CorruptError } from "../errors.ts";
import type { ReadAccess } from "./access.ts";

/*
 * Reads a table in the order of an ascending column past what is damaged. Where a page cannot be read, the next place
 * that can is looked for, with some tens of looks: SQLite finds its way to a sound page past a damaged one.
 */

/** Damaged places of one table or session that are gone past. A database with more of them is read by its pages. */
const MAX_SKIPS = 256;

/** A table, or the part of one that belongs to a session. Positions are the values of the column. */
export interface WalkedTable {
  /** Rows from a position on, some of them. */
  readonly page: (database: Database, from: number) => Iterable<unknown>;
  /** Whether so many rows, with so much text, are enough for a page. */
  readonly isFull: (rows: readonly unknown[]) => boolean;
  /** The first row from a position on, without what may lie elsewhere. */
  readonly look: (database: Database, from: number) => unknown;
  readonly positionOf: (row: unknown) => number | undefined;
  /** Beyond the last position. */
  readonly end: number;
}

/** Rows from a position on, or a stretch that cannot be read. */
export type WalkedStretch =
  | { readonly kind: "rows"; readonly from: number; readonly rows: readonly unknown[] }
  /** `next` is where it can be read again; nowhere if it is not there. */
  | { readonly kind: "error"; readonly from: number; readonly next?: number; readonly error: unknown };

/** Everything from the position `start` on. Throws at no error of the database. */
export function* walkTable(access: ReadAccess, table: WalkedTable, start = 0): Generator<WalkedStretch> {
  let skips = 0;
  for (let from = start; from < table.end && skips < MAX_SKIPS; ) {
    const { rows, isEnd, error } = readPage(access, table, from);
    if (rows.length > 0) yield { kind: "rows", from, rows };
    if (isEnd) return;
    // What this page could not go on with, the next one cannot begin with.
    if (rows.length > 0) {
      const last = rows.reduce<number>((most, row) => Math.max(most, table.positionOf(row) ?? most), -1);
      if (last < from) {
        // Pages that lead back to themselves: SQLite would go round for ever.
        yield { kind: "error", from, error: goesRound(from, last) };
        return;
      }
      from = last + 1;
      continue;
    }
    const next = beyond(access, table, from);
    yield { kind: "error", from, error, ...(next === undefined ? {} : { next }) };
    if (next === undefined) return;
    from = next;
    skips += 1;
  }
}

function goesRound(from: number, last: number): CorruptError {
  return new CorruptError("The pages of a table lead back to themselves", {
    expected: `a row from ${from} on`,
    found: `none behind ${last}`,
  });
}

interface TablePage {
  readonly rows: readonly unknown[];
  readonly isEnd: boolean;
  /** Why the page ends early. */
  readonly error?: unknown;
}

function readPage(access: ReadAccess, table: WalkedTable, from: number): TablePage {
  try {
    return access.read((database) => {
      const rows: unknown[] = [];
      try {
        // Leaving the loop early ends the statement.
        for (const row of table.page(database, from)) {
          rows.push(row);
          if (table.isFull(rows)) return { rows, isEnd: false };
        }
      } catch (error) {
        return { rows, isEnd: false, error };
      }
      return { rows, isEnd: true };
    });
  } catch (error) {
    return { rows: [], isEnd: false, error };
  }
}

type Look = { readonly position: number | undefined } | undefined;

function beyond(access: ReadAccess, table: WalkedTable, from: number): number | undefined {
  const look = (at: number): Look => {
    try {
      return { position: access.read((database) => table.positionOf(table.look(database, at))) };
    } catch {
      return undefined;
    }
  };
  const here = look(from);
  // The row is there; what it holds lies elsewhere, and cannot be read.
  if (here !== undefined) return here.position === undefined ? undefined : here.position + 1;
  return skipDamage(look, from, table.end);
}

/**
 * The first position from which a look works again: how far the damage reaches is doubled until one does, and then
 * halved down. What lies between damaged pages near each other may be passed over.
 */
function skipDamage(look: (at: number) => Look, from: number, end: number): number | undefined {
  let bad = from;
  let good: number | undefined;
  for (let step = 1; good === undefined; step *= 2) {
    const next = bad + step;
    if (next >= end) return undefined;
    if (look(next) === undefined) bad = next;
    else good = next;
  }
  while (good - bad > 1) {
    const middle: number = bad + Math.floor((good - bad) / 2);
    if (look(middle) === undefined) bad = middle;
    else good = middle;
  }
  return good;
}
