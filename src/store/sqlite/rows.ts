import type { Place } from "../../session/errors.ts";
import { type DecodedRecord, decodeRecord, type SessionRecord } from "../../session/records.ts";
import { clip } from "../../session/text.ts";
import type { StoredSummary } from "../backend.ts";
import { CorruptError } from "../errors.ts";
import { headerChecksum, rowChecksum, sessionIdOf } from "./keys.ts";
import { parseSources, type RowText, type Sources, SplitRecord } from "./row-text.ts";
import { expandRanges } from "./sources.ts";

/** The session that rows belong to, and the file that they lie in. */
export interface Owner {
  readonly path: string;
  readonly id: string;
  readonly number: number;
}

/** A row of `records`, its columns in the order of the table. One with a frame is a {@link Segment}. */
export interface RecordRow extends RowText {
  readonly seq: number;
  readonly count: number;
  readonly type: string;
  readonly time: number;
  readonly checksum: number;
  /** Rows, packed; absent or null in a row that is a record. */
  readonly frame?: Uint8Array | null;
}

/** Plain checks: a cold open reads thousands of rows, and zod would take longer than the database. */
export function isRecordRow(row: unknown): row is RecordRow {
  if (typeof row !== "object" || row === null) return false;
  const { seq, count, type, time, body, sources, checksum, frame } = row as Readonly<Record<string, unknown>>;
  return (
    typeof seq === "number" &&
    typeof count === "number" &&
    typeof type === "string" &&
    typeof time === "number" &&
    typeof body === "string" &&
    (sources === null || typeof sources === "string") &&
    typeof checksum === "number" &&
    (frame === null || frame === undefined || frame instanceof Uint8Array)
  );
}

/** A row of `sessions`. */
export interface SessionRow {
  readonly number: number;
  readonly key: string;
  readonly header: string;
  readonly checksum: number;
}

export function isSessionRow(row: unknown): row is SessionRow {
  if (typeof row !== "object" || row === null) return false;
  const { number, key, header, checksum } = row as Readonly<Record<string, unknown>>;
  const isText = typeof key === "string" && typeof header === "string";
  return isText && typeof number === "number" && typeof checksum === "number";
}

/** A row without its texts. */
export interface TailRow {
  readonly seq: number;
  readonly count: number;
  readonly checksum: number;
}

export function isTailRow(row: unknown): row is TailRow {
  if (typeof row !== "object" || row === null) return false;
  const { seq, count, checksum } = row as Readonly<Record<string, unknown>>;
  return typeof seq === "number" && typeof count === "number" && typeof checksum === "number";
}

/** What a listing shows of a row: its id, and why the row cannot be trusted, if so. */
export function describeSession(row: SessionRow): StoredSummary {
  const isSound = headerChecksum(row.key, row.header) === row.checksum;
  const id = isSound ? tryId(row.key) : undefined;
  if (id !== undefined) return { id, headerText: row.header };
  const reason = isSound
    ? "The key of the session is malformed"
    : "The checksum of the session header does not match";
  return { id: row.key, headerText: "", problem: { state: "corrupt", reason } };
}

function tryId(key: string): string | undefined {
  try {
    return sessionIdOf(key);
  } catch {
    return undefined; // no JSON text
  }
}

/** A row that is sound in itself. */
export interface DecodedRow {
  /** The record of a row with quotes has the text of the body, until {@link QuotedRows} has found what they stand for. */
  readonly decoded: DecodedRecord;
  readonly checksum: number;
  readonly sources?: Sources;
}

/**
 * Checks a row against its checksum and its body against the columns. In the event, strings that are quoted are empty:
 * nobody looks for the text of an answer there, but in the record.
 * @throws CorruptError with the row's place
 */
export function decodeRow(
  row: RecordRow,
  sessionId: string,
  path: string,
  decode = decodeRecord,
): DecodedRow {
  const { seq, checksum } = row;
  const place = { path, sessionId, seq };
  assertChecksum(row, place);
  const own = decodeTexts(row, place, decode);
  const { record } = own.decoded;
  const sameSpan = record.seq === seq && record.count === row.count;
  if (!sameSpan || record.type !== row.type || record.time !== row.time)
    throw columnFault(row, record, place);
  return { ...own, checksum };
}

/**
 * What the texts of a row say, which were compared with a checksum.
 * @param decode reads a body that is the whole text
 * @throws CorruptError with this place
 */
export function decodeTexts(
  { body, sources }: RowText,
  place: Place,
  decode = decodeRecord,
): Omit<DecodedRow, "checksum"> {
  if (sources === null) return { decoded: decode(body, place) };
  return withSources(decodeRecord(body, place), body, sources, place);
}

/** @throws CorruptError with the row's place */
export function assertChecksum(row: RecordRow, place: Place): void {
  const { checksum } = row;
  const actual = rowChecksum(row);
  if (actual === checksum) return;
  throw new CorruptError("The checksum of a row does not match", {
    expected: `checksum ${checksum}`,
    found: `checksum ${actual}`,
    place,
  });
}

function columnFault(row: RecordRow, record: SessionRecord, place: Place): CorruptError {
  const column =
    (["seq", "count", "type", "time"] as const).find((name) => row[name] !== record[name]) ?? "seq";
  return new CorruptError(`The column ${column} of a row differs from its body`, {
    expected: String(record[column]),
    found: String(row[column]),
    place,
  });
}

/** The record with its sources. The event gets those it cites only where the surface looks at them: in a replacement. */
function withSources(
  decoded: DecodedRecord,
  body: string,
  text: string,
  place: Place,
): Omit<DecodedRow, "checksum"> {
  const { record, event } = decoded;
  const sources = event === undefined ? undefined : parseSources(text, body, event.seq);
  // Only a message cites, and it does so in one place.
  const isSplit = event?.surfaceOp !== undefined && event.sourceEventSeqs === undefined;
  if (event === undefined || sources === undefined || (sources.cited !== undefined && !isSplit)) {
    throw new CorruptError("The sources of a row are malformed", {
      expected: "ascending ranges of earlier seqs, on a message, or quotes that fit the body",
      found: clip(text, 60),
      place,
    });
  }
  const { cited } = sources;
  const isShown = cited !== undefined && event.surfaceOp !== "append";
  return {
    decoded: {
      ...decoded,
      record: sources.quoted === undefined ? new SplitRecord(record, sources) : record,
      ...(isShown ? { event: { ...event, sourceEventSeqs: expandRanges(cited) } } : {}),
    },
    sources,
  };
}
