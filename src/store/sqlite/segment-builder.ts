import type { RecordRow } from "./rows.ts";
import { MAX_ROW_LENGTH, packSegment, SEGMENT_LENGTH } from "./segment.ts";

/** Packs rows into segments, as they come in the order of a session. */
export class SegmentBuilder {
  readonly #segmentLength: number;
  #rows: RecordRow[] = [];
  #length = 0;

  /** @param segmentLength text of the rows of one segment, in UTF-16 units */
  constructor(segmentLength = SEGMENT_LENGTH) {
    this.#segmentLength = segmentLength;
  }

  /** Takes the row that comes next. Returns those that are done, in order: segments, and rows that are too long for one. */
  add(row: RecordRow): readonly RecordRow[] {
    const length = lengthOf(row);
    if (length > MAX_ROW_LENGTH) return [...this.end(), row];
    const done = this.#length + length > this.#segmentLength ? this.end() : [];
    this.#rows.push(row);
    this.#length += length;
    return done;
  }

  /** What is left. */
  end(): readonly RecordRow[] {
    const rows = this.#rows;
    const length = this.#length;
    this.#rows = [];
    this.#length = 0;
    if (rows.length === 0) return [];
    const segment = packSegment(rows);
    // One short row packs to more than it is.
    return segment.body.length + segment.frame.length < length ? [segment] : rows;
  }
}

function lengthOf({ body, sources }: RecordRow): number {
  return body.length + (sources?.length ?? 0);
}
