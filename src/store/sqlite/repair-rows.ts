import { Database } from "bun:sqlite";
import { rmSync } from "node:fs";
import { basename } from "node:path";
import type { SessionRecord } from "../../session/records.ts";
import { StorageFailedError } from "../errors.ts";
import type { FileSystem } from "../file-system.ts";
import type { Finding } from "../finding.ts";
import { QuarantineWriter, type SqlValue } from "../quarantine.ts";
import { configure } from "./durable-connection.ts";
import { recordChecksum } from "./keys.ts";
import { draftOf, keepQuarantine, privateAs } from "./repair-files.ts";
import type { RepairedHeader } from "./repaired-header.ts";
import { RowSink } from "./row-sink.ts";
import { splitText } from "./row-text.ts";
import { isRecordRow, type RecordRow } from "./rows.ts";
import { isSegment, Segment } from "./segment.ts";
import checkpoint from "./sql/checkpoint.sql" with { type: "text" };
import deleteRecordsFrom from "./sql/delete-records-from.sql" with { type: "text" };
import insertRecord from "./sql/insert-record.sql" with { type: "text" };
import selectPage from "./sql/select-page.sql" with { type: "text" };
import selectStoredRows from "./sql/select-stored-rows.sql" with { type: "text" };
import selectStoredSession from "./sql/select-stored-session.sql" with { type: "text" };
import updateSession from "./sql/update-session.sql" with { type: "text" };
import { WholeRows } from "./whole-rows.ts";

/** Rows of one session that are set aside, and what takes their place. */
export interface RowChange {
  readonly session: number;
  /** Rows from this seq on. */
  readonly from: number;
  /** Seq of the segment that the row before it lies in, if it does. */
  readonly segment?: number;
  readonly closers: readonly SessionRecord[];
  readonly header?: RepairedHeader;
}

export interface RowRepair {
  readonly changes: readonly RowChange[];
  /** The session's id; absent for rows of no session. */
  readonly id?: string;
  readonly reason: Finding;
  readonly quarantine: string;
}

/**
 * Sets rows of a sound database aside: a quarantine file first, durable, then one transaction. Killed between them, the
 * database is as it was; and so it is when this throws.
 */
export function repairRows(path: string, repair: RowRepair, system: FileSystem): void {
  const database = new Database(path, { readwrite: true, create: false, strict: true });
  try {
    configure(database);
    setAside(database, path, repair, system);
    try {
      database
        .transaction(() => {
          for (const change of repair.changes) apply(database, path, change);
        })
        .immediate();
    } catch (error) {
      rmSync(repair.quarantine, { force: true });
      throw error;
    }
    tryCheckpoint(database);
  } finally {
    database.close();
  }
}

/** What is committed stays in the log otherwise, and the next one to open the store reads it there. */
function tryCheckpoint(database: Database): void {
  try {
    database.run(checkpoint);
  } catch {
    // On a full disk, say.
  }
}

/** Writes the rows that a repair sets aside into its quarantine file, durably. Changes no row. */
export function setAside(database: Database, path: string, repair: RowRepair, system: FileSystem): void {
  const { id, reason, quarantine, changes } = repair;
  const draft = draftOf(quarantine);
  const { row, seq } = reason.place;
  const cutAt = { ...(row === undefined ? {} : { row }), ...(seq === undefined ? {} : { seq }) };
  const head = { ...(id === undefined ? {} : { session: id }), source: basename(path), reason, cutAt };
  try {
    using writer = new QuarantineWriter(draft, head, system);
    system.adopt(draft, privateAs(path));
    for (const { session, from, segment, header } of changes) {
      if (header !== undefined) putRows(writer, database.prepare(selectStoredSession), { number: session });
      const whole = new WholeRows(database, path, session);
      putRows(writer, database.prepare(selectStoredRows), { session, from: segment ?? from }, (row) =>
        whole.take(row, from, segment),
      );
    }
    writer.finish();
    keepQuarantine(quarantine, system);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

type Query = ReturnType<Database["prepare"]>;
type StoredRow = Readonly<Record<string, SqlValue>>;

function putRows(
  writer: QuarantineWriter,
  query: Query,
  parameters: Record<string, number>,
  take: (row: StoredRow) => readonly StoredRow[] = (row) => [row],
): void {
  try {
    for (const row of query.safeIntegers(true).iterate(parameters)) {
      // The values of a row are of the types that SQLite has.
      for (const { rowid, ...values } of take(row as StoredRow)) {
        if (typeof rowid !== "bigint") throw new StorageFailedError("A row has no number");
        writer.row(rowid, values);
      }
    }
  } finally {
    query.finalize();
  }
}

function apply(
  database: Database,
  path: string,
  { session, from, segment, closers, header }: RowChange,
): void {
  const kept = segment === undefined ? [] : rowsBefore(database, path, session, segment, from);
  database.query(deleteRecordsFrom).run({ session, from: segment ?? from });
  new RowSink(database, session).put(kept);
  for (const { seq, count, type, time, text } of closers) {
    const split = splitText(text);
    const checksum = recordChecksum(split);
    database.query(insertRecord).run({ session, seq, count, type, time, ...split, checksum });
  }
  if (header === undefined) return;
  const { key, header: text, checksum } = header;
  database.query(updateSession).run({ number: session, key, header: text, checksum });
}

/** What is left of a segment before a cut: itself, or rows that take its place. */
function rowsBefore(
  database: Database,
  path: string,
  session: number,
  seq: number,
  from: number,
): readonly RecordRow[] {
  const row = database.query(selectPage).get({ session, from: seq, limit: 1 });
  if (!isRecordRow(row) || !isSegment(row) || row.seq !== seq) throw changed(path);
  const rows = new Segment(row, { path, seq }).rows().map((packed) => packed.row);
  const kept = rows.filter((own) => own.seq < from);
  return kept.length === rows.length ? [row] : kept;
}

function changed(path: string): StorageFailedError {
  return new StorageFailedError("The store changed since the repair was planned", {
    place: { path },
    hint: "Plan the repair again.",
  });
}
