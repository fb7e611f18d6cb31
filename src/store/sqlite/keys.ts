import type { Revision } from "../backend.ts";
import type { RowText } from "./row-text.ts";

/** Most events of a session: `records.id` keeps session and seq in one integer, with 32 bits for the seq. */
export const MAX_EVENTS = 2 ** 32;

/**
 * The column `key` for a session id: its JSON text without the quotes, since a TEXT column would turn lone surrogates
 * into replacement characters and make different ids equal.
 */
export function sessionKey(id: string): string {
  return JSON.stringify(id).slice(1, -1);
}

/** The id that {@link sessionKey} came from. */
export function sessionIdOf(key: string): string {
  return String(JSON.parse(`"${key}"`));
}

/** CRC-32 over the UTF-8 bytes of body and sources, which determine every column. Source: docs/format.md. */
export function recordChecksum({ body, sources }: RowText): number {
  return Bun.hash.crc32(sources === null ? body : body + sources);
}

/** As {@link recordChecksum}, of any row: that of one with a frame goes on with the frame. */
export function rowChecksum(row: RowText & { readonly frame?: Uint8Array | null }): number {
  const checksum = recordChecksum(row);
  return row.frame === undefined || row.frame === null ? checksum : Bun.hash.crc32(row.frame, checksum);
}

/** CRC-32 over key and header. */
export function headerChecksum(key: string, header: string): number {
  return Bun.hash.crc32(`${key}\n${header}`);
}

/** What a revision is made of: changes with every append, and with a session that was deleted and made again. */
export function formatRevision(
  session: { readonly number: number; readonly checksum: number },
  nextSeq: number,
  tail: number,
): Revision {
  return `${session.number}.${session.checksum.toString(16)}.${nextSeq}.${tail.toString(16)}`;
}
