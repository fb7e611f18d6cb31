import type { Place } from "../../session/errors.ts";
import { type DecodedRecord, decodeRecord, type SessionRecord } from "../../session/records.ts";
import { clip } from "../../session/text.ts";
import type { StoredSummary } from "../backend.ts";
import { CorruptError } from "../errors.ts";
import { headerChecksum, recordChecksum, sessionIdOf } from "./keys.ts";
import { expandRanges, joinSources, parseRanges, type Ranges } from "./sources.ts";

/** A row of `records`, its columns in the order of the table. */
export interface RecordRow {
  readonly seq: number;
  readonly count: number;
  readonly type: string;
  readonly time: number;
  readonly body: string;
  readonly sources: string | null;
  readonly checksum: number;
}

/** Plain checks: a cold open reads thousands of rows, and zod would take longer than the database. */
export function isRecordRow(row: unknown): row is RecordRow {
  if (typeof row !== "object" || row === null) return false;
  const { seq, count, type, time, body, sources, checksum } = row as Readonly<Record<string, unknown>>;
  return (
    typeof seq === "number" &&
    typeof count === "number" &&
    typeof type === "string" &&
    typeof time === "number" &&
    typeof body === "string" &&
    (sources === null || typeof sources === "string") &&
    typeof checksum === "number"
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

/** The end of a session: its last row without the body. */
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

/** Checks a row against its checksum and its body against the columns. @throws CorruptError with the row's place. */
export function decodeRow(row: RecordRow, sessionId: string, path: string): DecodedRecord {
  const { seq, body, sources, checksum } = row;
  const place = { path, sessionId, seq };
  const actual = recordChecksum(row);
  if (actual !== checksum) {
    throw new CorruptError("The checksum of a row does not match", {
      expected: `checksum ${checksum}`,
      found: `checksum ${actual}`,
      place,
    });
  }
  const decoded = decodeRecord(body, place);
  const { record } = decoded;
  const sameSpan = record.seq === seq && record.count === row.count;
  if (!sameSpan || record.type !== row.type || record.time !== row.time)
    throw columnFault(row, record, place);
  return sources === null ? decoded : withSources(decoded, sources, place);
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

/** The record with its sources. The event gets them only where the surface looks at them: in a replacement. */
function withSources(decoded: DecodedRecord, sources: string, place: Place): DecodedRecord {
  const { record, event } = decoded;
  // Only a message has sources, and it has them in one place.
  const isSplit = event?.surfaceOp !== undefined && event.sourceEventSeqs === undefined;
  const ranges = isSplit ? parseRanges(sources, event.seq) : undefined;
  if (event === undefined || ranges === undefined) {
    throw new CorruptError("The sources of a row are malformed", {
      expected: "ascending ranges of earlier seqs, on a message",
      found: clip(sources, 60),
      place,
    });
  }
  const whole = new SplitRecord(record, ranges);
  if (event.surfaceOp === "append") return { ...decoded, record: whole };
  return { ...decoded, record: whole, event: { ...event, sourceEventSeqs: expandRanges(ranges) } };
}

/** A record whose text is put together when it is asked for: few of a long session's ever are. */
class SplitRecord implements SessionRecord {
  readonly seq: number;
  readonly count: number;
  readonly type: string;
  readonly time: number;
  readonly #body: string;
  readonly #ranges: Ranges;

  constructor({ seq, count, type, time, text }: SessionRecord, ranges: Ranges) {
    this.seq = seq;
    this.count = count;
    this.type = type;
    this.time = time;
    this.#body = text;
    this.#ranges = ranges;
  }

  get text(): string {
    return joinSources(this.#body, this.#ranges);
  }
}
