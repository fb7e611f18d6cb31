import { type Cell, type CellSpan, type CellValue, valuesOf } from "./cells.ts";
import { headerChecksum } from "./keys.ts";
import type { RecordRow, SessionRow } from "./rows.ts";

/* Which payload of a cell is a row of ours, wherever it lies: its checksum shows it. */

/** Columns of a row that was written before its table had frames, and since. */
const RECORD_COLUMNS = 7;
const FRAMED_COLUMNS = 8;
const SESSION_COLUMNS = 4;
const OPENING_BRACE = 0x7b;

/** A row of `records` whose checksum fits. */
export interface ProvenRecord {
  /** Events that it says it holds. */
  readonly count: number;
  /** Makes the row. */
  readonly row: () => RecordRow | undefined;
}

/** The row of `records` that a payload is, if its checksum fits. */
export function recordIn(payload: Uint8Array, { low }: Cell): ProvenRecord | undefined {
  const values = valuesOf(payload, RECORD_COLUMNS, FRAMED_COLUMNS);
  if (values === undefined) return undefined;
  const [id, count, type, time, body, sources, checksum, frame = null] = values;
  if (id !== null || typeof count !== "number" || typeof time !== "number") return undefined;
  const from = textSpan(body)?.from;
  const to = (sources === null ? textSpan(body) : textSpan(sources))?.to;
  const packed = blobAt(payload, frame);
  // Of no text the checksum is 0, which proves nothing.
  if (from === undefined || to === undefined || payload[from] !== OPENING_BRACE) return undefined;
  if (frame !== null && packed === undefined) return undefined;
  // Body and sources lie side by side; the frame lies behind the checksum.
  const texts = Bun.hash.crc32(payload.subarray(from, to));
  if ((packed === undefined ? texts : Bun.hash.crc32(packed, texts)) !== checksum) return undefined;
  const row = () => {
    const [name, text] = [textAt(payload, type), textAt(payload, body)];
    if (name === undefined || text === undefined) return undefined;
    return {
      seq: low,
      count,
      type: name,
      time,
      body: text,
      sources: textAt(payload, sources) ?? null,
      checksum,
      ...(packed === undefined ? {} : { frame: packed }),
    };
  };
  return { count, row };
}

/** The row of `sessions` that a payload is, if its checksum fits. */
export function sessionIn(payload: Uint8Array, { high, low }: Cell): SessionRow | undefined {
  const [id, key, header, checksum] = valuesOf(payload, SESSION_COLUMNS) ?? [];
  const [name, text] = [textAt(payload, key), textAt(payload, header)];
  if (id !== null || name === undefined || text === undefined || typeof checksum !== "number")
    return undefined;
  if (high !== 0 || headerChecksum(name, text) !== checksum) return undefined;
  return { number: low, key: name, header: text, checksum };
}

function textSpan(value: CellValue): CellSpan | undefined {
  return typeof value === "object" && value !== null && !value.isBlob ? value : undefined;
}

function blobAt(payload: Uint8Array, value: CellValue): Uint8Array | undefined {
  if (typeof value !== "object" || value === null || !value.isBlob) return undefined;
  return payload.slice(value.from, value.to);
}

/** The text that a value is, if it is one. */
export function textAt(payload: Uint8Array, value: CellValue): string | undefined {
  const span = textSpan(value);
  if (span === undefined) return undefined;
  return Buffer.from(payload.buffer, payload.byteOffset + span.from, span.to - span.from).toString("utf8");
}
