import type { Database } from "bun:sqlite";
import { fold } from "../../session/search/fold.ts";
import { termsOf } from "../search/terms.ts";
import selectLastSearchRange from "./sql/select-last-search-range.sql" with { type: "text" };
import selectSearchRanges from "./sql/select-search-ranges.sql" with { type: "text" };
import selectSearchRow from "./sql/select-search-row.sql" with { type: "text" };
import selectSearchWithout from "./sql/select-search-without.sql" with { type: "text" };

/* What the index of a store says of its sessions. The tables must be there. */

/** Events of a session that are indexed together. */
export interface StoredRange {
  /** Seq of its first event, and of the one after its last. */
  readonly first: number;
  readonly next: number;
  /** Of the row that held its last event when it was indexed. */
  readonly checksum: number;
}

interface Sums {
  readonly checksum: number;
  /** Of the row that holds the last event now. */
  readonly actual: number | null;
}

/**
 * The ranges of a session, which follow each other from its first event on. Where one is of other rows than those that lie
 * there now, after a repair say, none counts.
 */
export function rangesOf(database: Database, session: number): readonly StoredRange[] {
  using statement = database.prepare<StoredRange & Sums, [{ session: number }]>(selectSearchRanges);
  let next = 0;
  const ranges: StoredRange[] = [];
  for (const { first, next: end, checksum, actual } of statement.all({ session })) {
    if (first !== next || end <= first || checksum !== actual) return [];
    ranges.push({ first, next: end, checksum });
    next = end;
  }
  return ranges;
}

/** Where the ranges of a session end, by a look at the last one; nothing where that is of other rows than lie there now. */
export function indexEnd(database: Database, session: number): number | undefined {
  using statement = database.prepare<Sums & { readonly next: number }, [{ session: number }]>(
    selectLastSearchRange,
  );
  const row = statement.get({ session });
  if (row === null) return 0;
  return row.checksum === row.actual ? row.next : undefined;
}

/**
 * Keys of all ranges in which a text cannot stand, as of one moment; nothing where the index cannot tell, as of a short one.
 * Not ids: those of ranges that were dropped are given to others.
 */
export function rangesWithout(database: Database, text: string): ReadonlySet<string> | undefined {
  const terms = termsOf(fold(text));
  if (terms.length === 0) return undefined;
  using statement = database.prepare<StoredRange & { readonly session: number }, [{ terms: string }]>(
    selectSearchWithout,
  );
  const rows = statement.all({ terms: terms.join(" ") });
  return new Set(rows.map((row) => rangeKey(row.session, row)));
}

/** Two ranges with one key are of the same events. */
export function rangeKey(session: number, { first, next, checksum }: StoredRange): string {
  return `${session} ${first} ${next} ${checksum}`;
}

/** Checksum of the row that holds an event; nothing where there is no row. */
export function checksumAt(database: Database, session: number, seq: number): number | undefined {
  using statement = database.prepare<{ readonly checksum: number }, [{ session: number; seq: number }]>(
    selectSearchRow,
  );
  return statement.get({ session, seq })?.checksum;
}
