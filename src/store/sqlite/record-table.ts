import type { Database } from "bun:sqlite";
import { decodeRecord } from "../../session/records.ts";
import { encodeRun } from "../../session/runs.ts";
import { MAX_EVENTS, recordChecksum } from "./keys.ts";
import { type DecodedRow, isRecordRow, isTailRow, type Owner, type RecordRow } from "./rows.ts";
import { isSegment, type PackedRow, SEGMENT_LENGTH, Segment } from "./segment.ts";
import selectNextSeq from "./sql/select-next-seq.sql" with { type: "text" };
import selectPage from "./sql/select-page.sql" with { type: "text" };
import selectPageAt from "./sql/select-page-at.sql" with { type: "text" };
import selectRecordStart from "./sql/select-record-start.sql" with { type: "text" };
import type { WalkedTable } from "./table-walk.ts";

/** Rows read at once, and the text of them in UTF-16 units; a single row may have more. */
const PAGE_ROWS = 256;
const PAGE_LENGTH = 1024 * 1024;

/** Whether so many rows, with so much text in UTF-16 units, are enough for a page. */
export function isFullPage(rows: number, length: number): boolean {
  return rows >= PAGE_ROWS || length >= PAGE_LENGTH;
}

/** Text of a row, in UTF-16 units. */
export function lengthOf(row: RecordRow): number {
  return isSegment(row) ? SEGMENT_LENGTH : row.body.length;
}

/** The rows of one session, damaged or not. */
export function recordsOf(owner: Owner): WalkedTable {
  const session = owner.number;
  let length = 0;
  let last: RecordRow | undefined;
  /** What the page that is read begins behind. It may be read again. */
  let page: { readonly from: number; readonly behind: RecordRow | undefined } | undefined;
  return {
    page: function* (database, from) {
      length = 0;
      if (page?.from !== from) page = { from, behind: last };
      const rows = rowsFrom(database, owner, from, page.behind);
      for (const row of rows) {
        if (isRecordRow(row)) last = row;
        yield row;
      }
    },
    isFull: (rows) => {
      const row = rows.at(-1);
      if (isRecordRow(row)) length += lengthOf(row);
      return isFullPage(rows.length, length);
    },
    look: (database, from) => database.query(selectNextSeq).get({ session, from }),
    positionOf: seqOf,
    end: MAX_EVENTS,
  };
}

export function seqOf(row: unknown): number | undefined {
  const seq: unknown = typeof row === "object" && row !== null && "seq" in row ? row.seq : undefined;
  return typeof seq === "number" ? seq : undefined;
}

/**
 * Rows that begin at seq `from` or later, as many as make a page. @param behind the row that was read last, if they are to
 * follow it: where the session was compacted or expanded since, what follows it lies in other rows
 */
export function rowsFrom(
  database: Database,
  owner: Owner,
  from: number,
  behind?: RecordRow,
): Iterable<unknown> {
  const session = owner.number;
  if (behind?.seq === from - 1 && isGone(database, session, behind))
    return rowsBehind(database, owner, behind);
  return database.query(selectPage).iterate({ session, from, limit: PAGE_ROWS });
}

/** Whether another row holds the events of the last one that was read: the session was compacted, or expanded. */
function isGone(database: Database, session: number, { seq, checksum }: RecordRow): boolean {
  try {
    const row = database.query(selectRecordStart).get({ session, seq });
    if (!isTailRow(row) || row.seq + row.count <= seq) return false;
    return row.seq !== seq || row.checksum !== checksum;
  } catch {
    return false; // damage, which is come to
  }
}

/** The rows with the events behind a row that is not there any more. */
function* rowsBehind(database: Database, { path, id, number }: Owner, last: RecordRow): Generator<unknown> {
  const next = last.seq + last.count;
  // One of them may have nothing new.
  const parameters = { session: number, from: next, limit: PAGE_ROWS + 1 };
  for (const row of database.query(selectPageAt).iterate(parameters)) {
    if (!isRecordRow(row) || row.seq >= next) yield row;
    else if (isSegment(row) && row.seq + row.count > next) {
      const packed = new Segment(row, { path, sessionId: id, seq: row.seq }).rows(next);
      for (const own of packed) yield rowOf(own, next);
    }
  }
}

/** A row of a segment as it would lie by itself, with the events from seq `from` on. */
function rowOf(packed: PackedRow, from: number): RecordRow {
  const { record } = packed.decoded;
  if (record.seq >= from) return packed.row;
  const { text: body, ...columns } = withoutBeginning(packed, from).decoded.record;
  const text = { body, sources: null };
  return { ...columns, ...text, checksum: recordChecksum(text) };
}

/** A row without the deltas before seq `from`: nothing else is merged, so that no other row begins before what was read. */
export function withoutBeginning(row: DecodedRow, from: number): DecodedRow {
  const { run } = row.decoded;
  if (run === undefined || run.seq0 >= from) return row;
  const passed = from - run.seq0;
  const time0 = run.dt.slice(0, passed).reduce((time, gap) => time + gap, run.time0);
  const rest = { ...run, seq0: from, time0, dt: run.dt.slice(passed), texts: run.texts.slice(passed) };
  return { decoded: decodeRecord(encodeRun(rest), {}), checksum: row.checksum };
}
