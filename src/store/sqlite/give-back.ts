import type { Database } from "bun:sqlite";
import { z } from "zod";
import { withdrawSegments } from "./migrate.ts";
import checkpoint from "./sql/checkpoint.sql" with { type: "text" };
import getFreelistCount from "./sql/get-freelist-count.sql" with { type: "text" };
import getPageCount from "./sql/get-page-count.sql" with { type: "text" };
import vacuum from "./sql/vacuum.sql" with { type: "text" };

/** A smaller share of free pages is left to what is written next: to give it back, all of the database is written. */
const LEAST_FREE = 1 / 10;

/**
 * Gives the file system back what a database does not need any more, in one step: it needs room for the database twice,
 * beside it and where SQLite keeps temporary files. @param isExpanded whether segments were taken out of it
 * @throws what SQLite throws; the database holds the same in any case
 */
export function giveBack(database: Database, isExpanded: boolean): void {
  if (isExpanded) withdrawSegments(database);
  const [free, all] = [numberOf(database, getFreelistCount), numberOf(database, getPageCount)];
  if (free > 0 && free >= all * LEAST_FREE) database.run(vacuum);
  database.run(checkpoint);
}

function numberOf(database: Database, sql: string): number {
  const row = z.record(z.string(), z.number()).parse(database.query(sql).get());
  return Object.values(row)[0] ?? 0;
}
