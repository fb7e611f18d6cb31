import type { Database } from "bun:sqlite";
import type { Mark, Revision } from "../backend.ts";
import { formatRevision, MAX_EVENTS } from "./keys.ts";
import { otherShape } from "./row-pages.ts";
import { isTailRow, type SessionRow } from "./rows.ts";
import selectRowsBefore from "./sql/select-rows-before.sql" with { type: "text" };

/** Rows that a mark knows. Some are too long to be compacted: they alone do not tell that those before them were. */
const ROWS = 8;

/** Where a session ends, as its rows say. */
export interface SessionEnd {
  readonly mark: Mark;
  readonly revision: Revision;
}

/**
 * The end of a session, by one look at its last rows: it takes that session, and rows with those checksums at those seqs.
 * @param seq of the event before which it is to end; where it ends when absent
 * @throws CorruptError, and what SQLite throws
 */
export function endOf(database: Database, path: string, session: SessionRow, seq = MAX_EVENTS): SessionEnd {
  const { number } = session;
  const rows = database.query(selectRowsBefore).all({ session: number, seq, limit: ROWS });
  if (!rows.every(isTailRow)) throw otherShape(path);
  const [last] = rows;
  const next = last === undefined ? 0 : last.seq + last.count;
  const revision = formatRevision(session, next, last?.checksum ?? 0);
  const sums = rows.map((row) => `${row.seq} ${row.count} ${row.checksum}`).join();
  return { revision, mark: { seq: next, proof: `${revision}.${Bun.hash.crc32(sums).toString(16)}` } };
}

/** Whether the session goes on behind a mark, and has there what the mark was made of. */
export function leadsOn(
  database: Database,
  path: string,
  session: SessionRow,
  { seq, proof }: Mark,
  end: SessionEnd,
): boolean {
  if (seq <= 0 || seq >= end.mark.seq) return false;
  const { mark } = endOf(database, path, session, seq);
  return mark.seq === seq && mark.proof === proof;
}
