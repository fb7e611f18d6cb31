import type { Database } from "bun:sqlite";
import type { Finding } from "../finding.ts";
import type { ReadAccess } from "./access.ts";
import { rowPlace } from "./row-walk.ts";
import countRecords from "./sql/count-records.sql" with { type: "text" };
import selectNextRecord from "./sql/select-next-record.sql" with { type: "text" };
import selectNextSession from "./sql/select-next-session.sql" with { type: "text" };

/** Rows of `records` whose session has no row in `sessions`. */
export interface ForeignRows {
  /** Number of the session that they would belong to. */
  readonly session: number;
  /** Seq of the first of them. */
  readonly seq: number;
  readonly rows: number;
  /** Events that the rows say they hold. */
  readonly events: number;
}

/** Least number that a 64-bit row id can hold beside a seq. */
const LEAST_NUMBER = -(2 ** 31);
const MOST_NUMBER = 2 ** 31 - 1;

/**
 * The foreign rows, by a look at the first row of each session alone.
 * @param known numbers of the sessions that there are
 * @throws what SQLite throws
 */
export function* foreignRows(access: ReadAccess, known: ReadonlySet<number>): Generator<ForeignRows> {
  for (let from = LEAST_NUMBER; from <= MOST_NUMBER; ) {
    const next = access.read((database) => nextRecord(database, from));
    if (next === undefined || next.session < from) return;
    const { session, seq } = next;
    // A session that was made meanwhile is there by now, and of one that was deleted no row is left.
    if (!known.has(session) && access.read((database) => nextSession(database, session)) !== session) {
      const counted = access.read((database) => count(database, session));
      if (counted.rows > 0) yield { session, seq, ...counted };
    }
    from = session + 1;
  }
}

function nextRecord(database: Database, session: number): { session: number; seq: number } | undefined {
  const row = database.query(selectNextRecord).get({ session });
  if (typeof row !== "object" || row === null || !("session" in row) || !("seq" in row)) return undefined;
  const { session: found, seq } = row;
  return typeof found === "number" && typeof seq === "number" ? { session: found, seq } : undefined;
}

function nextSession(database: Database, from: number): number | undefined {
  const row = database.query(selectNextSession).get({ from });
  return typeof row === "object" && row !== null && "number" in row ? Number(row.number) : undefined;
}

function count(database: Database, session: number): { readonly rows: number; readonly events: number } {
  const row = database.query(countRecords).get({ session, from: 0 });
  if (typeof row !== "object" || row === null || !("records" in row) || !("events" in row))
    return { rows: 0, events: 0 };
  return { rows: Number(row.records), events: Number(row.events) };
}

/** Foreign rows as a finding. */
export function foreignFinding({ session, seq, rows }: ForeignRows, path: string): Finding {
  const { sessionId: _, ...place } = rowPlace({ path, id: "", number: session }, seq);
  return {
    code: "foreign",
    message: rows === 1 ? "A row belongs to no session" : `${rows} rows belong to no session`,
    place,
    expected: `a session of the number ${session}`,
    found: "none",
  };
}
