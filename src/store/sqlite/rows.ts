import { z } from "zod";
import type { Place } from "../../session/errors.ts";
import { type DecodedRecord, decodeRecord, type SessionRecord } from "../../session/records.ts";
import { clip } from "../../session/text.ts";
import { CorruptError } from "../errors.ts";
import { expandRanges, joinSources, parseRanges, type Ranges, type SplitText } from "./sources.ts";

/** Most events of a session: `records.id` keeps session and seq in one integer, with 32 bits for the seq. */
export const MAX_EVENTS = 2 ** 32;

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

export const sessionRowSchema = z.object({ number: z.number(), header: z.string(), checksum: z.number() });
export type SessionRow = z.infer<typeof sessionRowSchema>;

/**
 * The column `key` for a session id: its JSON text without the quotes, since a TEXT column would turn lone surrogates
 * into replacement characters and make different ids equal.
 */
export function sessionKey(id: string): string {
  return JSON.stringify(id).slice(1, -1);
}

/** The id that {@link sessionKey} came from. */
export function sessionIdOf(key: string): string {
  return z.string().parse(JSON.parse(`"${key}"`));
}

/** What a listing shows of a row: its id, and why the row cannot be trusted, if so. */
export function describeSession(row: SessionRow & { readonly key: string }): {
  id: string;
  problem?: string;
} {
  if (headerChecksum(row.key, row.header) === row.checksum) return { id: sessionIdOf(row.key) };
  return { id: row.key, problem: "The checksum of the session header does not match" };
}

/** CRC-32 over the UTF-8 bytes of body and sources, which determine every column. Source: docs/format.md. */
export function recordChecksum({ body, sources }: SplitText): number {
  return Bun.hash.crc32(sources === null ? body : body + sources);
}

/** CRC-32 over key and header. */
export function headerChecksum(key: string, header: string): number {
  return Bun.hash.crc32(`${key}\n${header}`);
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
  if (!sameSpan || record.type !== row.type || record.time !== row.time) throw columnFault(row, record, place);
  return sources === null ? decoded : withSources(decoded, sources, place);
}

function columnFault(row: RecordRow, record: SessionRecord, place: Place): CorruptError {
  const column = (["seq", "count", "type", "time"] as const).find((name) => row[name] !== record[name]) ?? "seq";
  return new CorruptError(`The column ${column} of a row differs from its body`, {
    expected: String(record[column]),
    found: String(row[column]),
    place,
  });
}

/** The record with its sources. The event gets them only where the surface looks at them: in a replacement. */
function withSources(decoded: DecodedRecord, sources: string, place: Place): DecodedRecord {
  const { record, event } = decoded;
  const ranges = event === undefined ? undefined : parseRanges(sources, event.seq);
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
