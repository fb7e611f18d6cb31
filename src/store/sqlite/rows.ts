import { z } from "zod";
import { type DecodedRecord, decodeRecord, type SessionRecord } from "../../session/records.ts";
import { CorruptError } from "../errors.ts";

/** A row of `records`, its columns in the order of the table. */
export const recordRowSchema = z.object({
  seq: z.number(),
  count: z.number(),
  type: z.string(),
  time: z.number(),
  body: z.string(),
  checksum: z.number(),
});
export type RecordRow = z.infer<typeof recordRowSchema>;

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

/** CRC-32 over the row's own columns, a line feed, and its body. Source: docs/format.md. */
export function recordChecksum(session: number, { seq, count, type, time, text }: SessionRecord): number {
  return Bun.hash.crc32(`${session} ${seq} ${count} ${type} ${time}\n${text}`);
}

/** CRC-32 over key and header. */
export function headerChecksum(key: string, header: string): number {
  return Bun.hash.crc32(`${key}\n${header}`);
}

/** Checks a row against its checksum and its body against the columns. @throws CorruptError with the row's place. */
export function decodeRow(row: RecordRow, session: number, sessionId: string, path: string): DecodedRecord {
  const { seq, count, type, time, body: text, checksum } = row;
  const place = { path, sessionId, seq };
  const actual = recordChecksum(session, { seq, count, type, time, text });
  if (actual !== checksum) {
    throw new CorruptError("The checksum of a row does not match", {
      expected: `checksum ${checksum}`,
      found: `checksum ${actual}`,
      place,
    });
  }
  const decoded = decodeRecord(text, place);
  for (const column of ["seq", "count", "type", "time"] as const) {
    if (decoded.record[column] === row[column]) continue;
    throw new CorruptError(`The column ${column} of a row differs from its body`, {
      expected: String(decoded.record[column]),
      found: String(row[column]),
      place,
    });
  }
  return decoded;
}
