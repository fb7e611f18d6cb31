import { type Cell, type CellValue, valuesOf } from "./cells.ts";
import { headerChecksum } from "./keys.ts";
import type { RecordRow, SessionRow } from "./rows.ts";

/* Which payload of a cell is a row of ours, wherever it lies: its checksum shows it. */

const RECORD_COLUMNS = 7;
const SESSION_COLUMNS = 4;
const OPENING_BRACE = 0x7b;

/** How to make the row of `records` that a payload is, if its checksum fits. */
export function recordIn(payload: Uint8Array, { low }: Cell): (() => RecordRow | undefined) | undefined {
  const values = valuesOf(payload, RECORD_COLUMNS);
  if (values === undefined) return undefined;
  const [id, count, type, time, body, sources, checksum] = values;
  if (id !== null || typeof count !== "number" || typeof time !== "number") return undefined;
  const from = spanOf(body)?.from;
  const to = (sources === null ? spanOf(body) : spanOf(sources))?.to;
  // Of no text the checksum is 0, which proves nothing.
  if (from === undefined || to === undefined || payload[from] !== OPENING_BRACE) return undefined;
  // Body and sources lie side by side.
  if (Bun.hash.crc32(payload.subarray(from, to)) !== checksum) return undefined;
  return () => {
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
    };
  };
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

function spanOf(value: CellValue): { readonly from: number; readonly to: number } | undefined {
  return typeof value === "object" && value !== null ? value : undefined;
}

/** The text that a value is, if it is one. */
export function textAt(payload: Uint8Array, value: CellValue): string | undefined {
  const span = spanOf(value);
  if (span === undefined) return undefined;
  return Buffer.from(payload.buffer, payload.byteOffset + span.from, span.to - span.from).toString("utf8");
}
