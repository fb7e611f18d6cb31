import type { Database } from "bun:sqlite";
import createSearchRanges from "./sql/create-search-ranges.sql" with { type: "text" };
import createSearchText from "./sql/create-search-text.sql" with { type: "text" };
import deleteSearchRanges from "./sql/delete-search-ranges.sql" with { type: "text" };
import deleteSearchText from "./sql/delete-search-text.sql" with { type: "text" };
import dropSearchRanges from "./sql/drop-search-ranges.sql" with { type: "text" };
import dropSearchText from "./sql/drop-search-text.sql" with { type: "text" };
import selectLastSearchRange from "./sql/select-last-search-range.sql" with { type: "text" };
import selectSearchSchema from "./sql/select-search-schema.sql" with { type: "text" };
import setSearchHashSize from "./sql/set-search-hash-size.sql" with { type: "text" };

/*
 * The index that searching makes in a store when it is first worth it. It says where a text cannot be, and nothing else:
 * without it, or behind its end, all is read. Source: docs/format.md, "The index of texts".
 */

const TABLES: ReadonlyMap<string, string> = new Map([
  ["search_ranges", createSearchRanges.trim()],
  ["search_text", createSearchText.trim()],
]);

/** Whether a store has the tables. `foreign` are those of somebody else, with one of their names: they are left alone. */
export function searchTables(database: Database): "none" | "ours" | "foreign" {
  using statement = database.prepare<{ readonly name: string; readonly sql: string | null }, []>(
    selectSearchSchema,
  );
  const found = statement.all();
  if (found.length === 0) return "none";
  const areOurs = found.every(({ name, sql }) => sql?.trim() === TABLES.get(name));
  return areOurs && found.length === TABLES.size ? "ours" : "foreign";
}

/** Within a transaction. @throws SQLiteError where this SQLite cannot make them */
export function createSearchTables(database: Database): void {
  database.run(createSearchRanges);
  database.run(createSearchText);
  // Ranges that are written together are then sorted together, which is three times as quick and half as large.
  database.run(setSearchHashSize);
}

/**
 * Takes a session out of the index that is indexed anew at once, within a transaction. Its terms stay in the file:
 * FTS5 only notes that they do not count, and rewrites them when it sees fit.
 */
export function forgetSession(database: Database, session: number): void {
  for (const sql of [deleteSearchText, deleteSearchRanges]) run(database, sql, { session });
}

/** Drops the index, within a transaction of a connection that overwrites what it deletes (`secure_delete`). */
export function dropSearchTables(database: Database): void {
  for (const sql of [dropSearchText, dropSearchRanges]) run(database, sql, {});
}

/** Leaves no term of a session that is deleted: where it is indexed, the index goes. Within a transaction, as above. */
export function dropIfIndexed(database: Database, session: number): void {
  if (searchTables(database) !== "ours") return;
  using statement = database.prepare<unknown, [{ session: number }]>(selectLastSearchRange);
  if (statement.all({ session }).length > 0) dropSearchTables(database);
}

function run(database: Database, sql: string, parameters: Record<string, number>): void {
  // One that is not finalised would keep the connection open.
  using statement = database.prepare<unknown, [Record<string, number>]>(sql);
  statement.run(parameters);
}
