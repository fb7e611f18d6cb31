import type { Database } from "bun:sqlite";
import { z } from "zod";
import { MAX_ROW_LENGTH, SEGMENT_LENGTH } from "./segment.ts";
import selectRowSizes from "./sql/select-row-sizes.sql" with { type: "text" };

/** Bytes that a row takes beside its texts and its frame, about. */
const ROW_OVERHEAD = 40;

/** Bytes that rows with so many bytes of texts and frames take. */
export function storedSize(bytes: number, rows = 1): number {
  return bytes + rows * ROW_OVERHEAD;
}

/** What the rows of a session take, and what is to be done with them. */
export interface RowSizes {
  /** All of them. */
  readonly bytes: number;
  /** That they say they hold. */
  readonly events: number;
  readonly segments: ReadonlyArray<{ readonly seq: number; readonly bytes: number }>;
  /** Where rows begin that are not packed yet, with a small segment before them; absent where there are none. */
  readonly loose?: { readonly from: number; readonly bytes: number };
}

const columns = z.object({
  seq: z.number(),
  count: z.number(),
  bytes: z.number(),
  packed: z.number().nullable(),
  body: z.string().nullable(),
});
const contents = z.object({ data: z.object({ bytes: z.number() }) });

/** Decodes no text. @throws what SQLite throws */
export function rowSizes(database: Database, session: number, segmentLength = SEGMENT_LENGTH): RowSizes {
  const segments: Array<{ readonly seq: number; readonly bytes: number }> = [];
  let [total, events] = [0, 0];
  let small: { readonly seq: number; readonly before: number } | undefined;
  let loose: { readonly from: number; readonly before: number } | undefined;
  for (const row of database.query(selectRowSizes).iterate({ session })) {
    const { seq, count, bytes, packed, body } = columns.parse(row);
    const before = total;
    events += count;
    total += storedSize(bytes + (packed ?? 0));
    if (packed !== null) {
      segments.push({ seq, bytes: total - before });
      small = isSmall(body ?? "", segmentLength) ? { seq, before } : undefined;
    } else if (bytes <= MAX_ROW_LENGTH)
      loose ??= small === undefined ? { from: seq, before } : { from: small.seq, before: small.before };
  }
  if (loose === undefined) return { bytes: total, events, segments };
  return { bytes: total, events, segments, loose: { from: loose.from, bytes: total - loose.before } };
}

/** Whether a segment has room for as much again. */
function isSmall(body: string, segmentLength: number): boolean {
  try {
    return contents.parse(JSON.parse(body)).data.bytes < segmentLength / 2;
  } catch {
    return false; // damage, which is found when it is read
  }
}
