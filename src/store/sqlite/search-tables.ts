import type { Database } from "bun:sqlite";
import createSearchRanges from "./sql/create-search-ranges.sql" with { type: "text" };
import createSearchText from "./sql/create-search-text.sql" with { type: "text" };
import deleteSearchRanges from "./sql/delete-search-ranges.sql" with { type: "text" };
import deleteSearchText from "./sql/delete-search-text.sql" with { type: "text" };
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

/** Takes a session out of the index, within a transaction. */
export function forgetSession(database: Database, session: number): void {
  for (const sql of [deleteSearchText, deleteSearchRanges]) {
    // One that is not finalised would keep the connection open.
    using statement = database.prepare(sql);
    statement.run({ session });
  }
}

/** The same where there may be no index. */
export function forgetIfIndexed(database: Database, session: number): void {
  if (searchTables(database) === "ours") forgetSession(database, session);
}
