import type { Database } from "bun:sqlite";
import { RunMerger } from "../../session/merge-runs.ts";
import type { DecodedRecord, SessionRecord } from "../../session/records.ts";
import { breathe } from "../breathe.ts";
import { streamStored } from "../cold-read.ts";
import type { CompactOptions } from "../compactor.ts";
import { LogDigest } from "../digest.ts";
import { CorruptError, NotFoundError, StorageFailedError } from "../errors.ts";
import { SqliteReader } from "./reader.ts";
import type { RowSink } from "./row-sink.ts";
import { isRecordRow, type RecordRow } from "./rows.ts";
import { isSegment, Segment } from "./segment.ts";
import { SegmentBuilder } from "./segment-builder.ts";
import selectPage from "./sql/select-page.sql" with { type: "text" };
import { StreamedBlocks } from "./streamed-blocks.ts";

/** A session whose rows are written anew, within one transaction. */
export interface RewrittenSession {
  readonly id: string;
  readonly number: number;
  readonly path: string;
  /** For telling how far it is. */
  readonly events: number;
  /** Reads it as it was before the transaction. */
  readonly old: SqliteReader;
  readonly options: CompactOptions;
}

/** What a log says about itself. */
export interface LogMeasure {
  readonly events: number;
  readonly digest: string;
}

/** How rows are packed; what is absent is as everywhere. */
export interface PackingOptions {
  /** Text of the rows of one segment, in UTF-16 units. */
  readonly segmentLength?: number;
  /** UTF-16 units of the shortest string that is quoted. */
  readonly leastQuoted?: number;
}

/** Packs the rows from seq `from` on, and says what the whole log is. @throws CorruptError, and as the database does */
export async function packRows(
  session: RewrittenSession,
  from: number,
  sink: RowSink,
  { segmentLength, leastQuoted }: PackingOptions = {},
): Promise<LogMeasure> {
  const merger = new RunMerger();
  const streamed = new StreamedBlocks(leastQuoted);
  const builder = new SegmentBuilder(segmentLength);
  const put = (records: readonly SessionRecord[]) => {
    for (const { seq, count, type, time, text } of records) {
      const split = streamed.split(session.number, { seq, count, type, time, text });
      replaceEach(sink, builder.add({ seq, count, type, time, ...split }));
    }
  };
  const measure = await measureLog(session, session.old, (decoded) => {
    if (decoded.record.seq >= from) put(merger.take(decoded));
  });
  put(merger.end());
  replaceEach(sink, builder.end());
  return measure;
}

function replaceEach(sink: RowSink, rows: readonly RecordRow[]): void {
  for (const row of rows) sink.replace(row.seq, row.seq + row.count - 1, [row]);
}

/** Puts rows in the place of the segments that begin at these seqs. @param database with the rows as they were */
export function unpackRows(
  { id, number, path }: RewrittenSession,
  database: Database,
  seq: number,
  sink: RowSink,
): void {
  const row = database.query(selectPage).get({ session: number, from: seq, limit: 1 });
  if (!isRecordRow(row) || !isSegment(row) || row.seq !== seq) throw changed(path);
  const segment = new Segment(row, { path, sessionId: id, seq });
  const rows = segment.rows().map((packed) => packed.row);
  sink.replace(seq, seq + row.count - 1, rows);
}

/**
 * Reads a whole log, lets others have their turn, and tells how far it is.
 * @throws CorruptError, UnsupportedFormatError; the reason of the signal
 */
export async function measureLog(
  { id, path, events, options: { signal, onProgress } }: RewrittenSession,
  reader: SqliteReader,
  take: (decoded: DecodedRecord) => void = () => {},
): Promise<LogMeasure> {
  const stored = reader.readStored(id);
  if (stored === undefined) throw new NotFoundError(id, path);
  const digest = new LogDigest();
  for await (const page of streamStored(id, stored, signal === undefined ? {} : { signal }).pages) {
    for (const decoded of page) {
      digest.add(decoded.record);
      take(decoded);
    }
    onProgress?.(Math.min(1, digest.events / events));
    await breathe();
    signal?.throwIfAborted();
  }
  return { events: digest.events, digest: digest.hex() };
}

/** Reads back what is about to be committed. @throws StorageFailedError unless it says the same */
export async function assertSame(
  database: Database,
  session: RewrittenSession,
  expected: LogMeasure,
): Promise<void> {
  const { path, id } = session;
  using reader = new SqliteReader(path, () => ({
    read: (task) => task(database),
    hiddenEnd: () => undefined,
    [Symbol.dispose]: () => {},
  }));
  let found: string;
  try {
    const { events, digest } = await measureLog(session, reader);
    if (digest === expected.digest && events === expected.events) return;
    found = `${events} events with the digest ${digest}`;
  } catch (error) {
    if (!(error instanceof CorruptError)) throw error;
    found = error.message;
  }
  throw new StorageFailedError(`The session does not read the same after it was written anew: ${found}`, {
    place: { path, sessionId: id },
    hint: "It was left as it was. Please report this.",
  });
}

function changed(path: string): StorageFailedError {
  return new StorageFailedError("The store changed while it was written anew", {
    place: { path },
    hint: "Another program wrote it beside the lock. Nothing was changed here; try again.",
  });
}
