import type { Database } from "bun:sqlite";
import type { decodeRecord } from "../../session/records.ts";
import { CorruptError } from "../errors.ts";
import { isFullPage, lengthOf, rowsFrom } from "./record-table.ts";
import { type DecodedRow, decodeRow, isRecordRow, type Owner, type RecordRow } from "./rows.ts";
import { isSegment, type SegmentReader } from "./segment.ts";
import selectRecordStart from "./sql/select-record-start.sql" with { type: "text" };

export interface RowPage {
  readonly rows: readonly RecordRow[];
  readonly isEnd: boolean;
  /** Why no more could be read. */
  readonly fault?: { readonly error: unknown };
}

/** Reads a session's rows from the first to the last, a page at a time, also where it is compacted or expanded meanwhile. */
export class RowPages {
  readonly #owner: Owner;
  readonly #segments: SegmentReader;
  readonly #fromSeq: number;
  readonly #decode: typeof decodeRecord | undefined;
  #last: RecordRow | undefined;

  /**
   * @param fromSeq of an event: records before the one that holds it are left out
   * @param decode how a record is read; as {@link decodeRecord} does when absent
   */
  constructor(owner: Owner, segments: SegmentReader, fromSeq = 0, decode?: typeof decodeRecord) {
    this.#owner = owner;
    this.#segments = segments;
    this.#fromSeq = fromSeq;
    this.#decode = decode;
  }

  /** The rows behind those that were unpacked. */
  read(database: Database): RowPage {
    const rows: RecordRow[] = [];
    let length = 0;
    try {
      // Leaving the loop early ends the statement.
      const from = this.#last === undefined ? this.#start(database) : this.#last.seq + 1;
      for (const row of rowsFrom(database, this.#owner, from, this.#last)) {
        if (!isRecordRow(row)) throw otherShape(this.#owner.path);
        rows.push(row);
        length += lengthOf(row);
        if (isFullPage(rows.length, length)) return { rows, isEnd: false };
      }
    } catch (error) {
      return { rows, isEnd: true, fault: { error } };
    }
    return { rows, isEnd: true };
  }

  /** The rows that a row of the page stands for, in order. To be called with each of them. @throws CorruptError */
  unpack(row: RecordRow): readonly DecodedRow[] {
    const { path, id, number } = this.#owner;
    const isFirst = this.#last === undefined;
    this.#last = row;
    if (!isSegment(row)) return [decodeRow(row, id, path, this.#decode)];
    const segment = this.#segments.open(row, number, { path, sessionId: id, seq: row.seq });
    return segment.rows(isFirst ? this.#fromSeq : row.seq, this.#decode);
  }

  /** Seq of the row that holds the first event; of the event itself where none does. */
  #start(database: Database): number {
    const seq = this.#fromSeq;
    if (seq === 0) return 0;
    const row = database.query(selectRecordStart).get({ session: this.#owner.number, seq });
    return Number(Object(row ?? { seq }).seq);
  }
}

export function otherShape(path: string): CorruptError {
  return new CorruptError("A row has another shape", {
    expected: "the columns of the table",
    found: "other types",
    place: { path },
  });
}
