import { Database } from "bun:sqlite";
import { z } from "zod";
import getSqliteVersion from "./sql/get-sqlite-version.sql" with { type: "text" };

/** The version of SQLite that is built in, as in `3.51.0`. */
export function sqliteVersion(): string {
  using database = new Database(":memory:");
  return z.object({ version: z.string() }).parse(database.query(getSqliteVersion).get()).version;
}
