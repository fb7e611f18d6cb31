import { z } from "zod";
import type { Place } from "../../session/errors.ts";
import { type DecodedRecord, decodeRecord, type SessionRecord } from "../../session/records.ts";
import { clip } from "../../session/text.ts";
import { CorruptError } from "../errors.ts";
import { expandSources, joinSources, type SplitText } from "./sources.ts";

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
  for (const column of ["seq", "count", "type", "time"] as const) {
    if (decoded.record[column] === row[column]) continue;
    throw new CorruptError(`The column ${column} of a row differs from its body`, {
      expected: String(decoded.record[column]),
      found: String(row[column]),
      place,
    });
  }
  return sources === null ? decoded : withSources(decoded, sources, place);
}

function withSources(decoded: DecodedRecord, sources: string, place: Place): DecodedRecord {
  const { record, event } = decoded;
  const sourceEventSeqs = expandSources(sources);
  if (event === undefined || sourceEventSeqs === undefined || !areEarlier(sourceEventSeqs, event.seq)) {
    throw new CorruptError("The sources of a row are malformed", {
      expected: "ascending ranges of earlier seqs, on a message",
      found: clip(sources, 60),
      place,
    });
  }
  return { ...decoded, record: new SplitRecord(record, sources), event: { ...event, sourceEventSeqs } };
}

function areEarlier(seqs: readonly number[], seq: number): boolean {
  return seqs.every((source, index) => source < seq && source > (seqs[index - 1] ?? -1));
}

/** A record whose text is put together when it is asked for: few of a long session's ever are. */
class SplitRecord implements SessionRecord {
  readonly seq: number;
  readonly count: number;
  readonly type: string;
  readonly time: number;
  readonly #body: string;
  readonly #sources: string;

  constructor({ seq, count, type, time, text }: SessionRecord, sources: string) {
    this.seq = seq;
    this.count = count;
    this.type = type;
    this.time = time;
    this.#body = text;
    this.#sources = sources;
  }

  get text(): string {
    return joinSources(this.#body, expandSources(this.#sources) ?? []);
  }
}
