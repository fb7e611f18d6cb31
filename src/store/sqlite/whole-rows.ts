import type { Database } from "bun:sqlite";
import { CorruptError } from "../errors.ts";
import type { SqlValue } from "../quarantine.ts";
import { MAX_EVENTS, recordChecksum } from "./keys.ts";
import { QuotedRows } from "./quoted-rows.ts";
import { putBack } from "./row-text.ts";
import { type DecodedRow, decodeRow, isRecordRow, type RecordRow } from "./rows.ts";
import { isSegment, Segment, SegmentReader } from "./segment.ts";
import selectRange from "./sql/select-range.sql" with { type: "text" };

type StoredRow = Readonly<Record<string, SqlValue>>;

/**
 * Rows of a session that leave their database, in order. What they quote may stay behind, so that each takes its texts
 * along, as far as they can be read.
 */
export class WholeRows {
  readonly #path: string;
  readonly #session: number;
  readonly #quoted: QuotedRows;

  constructor(database: Database, path: string, session: number) {
    this.#path = path;
    this.#session = session;
    const segments = new SegmentReader();
    this.#quoted = new QuotedRows({ path }, (first, last) => {
      const rows = database.query(selectRange).all({ session, first, last }).filter(isRecordRow);
      const unpacked = segments.unpack(rows, session, first, { path });
      return unpacked.filter(({ seq }) => seq >= first && seq <= last);
    });
  }

  /**
   * The rows that a row stands for, as they are, or, where they are sound and quote, with what they quote. Those are left out
   * that stay: the rows before seq `from`, and where that lies in or behind a `segment`, what it holds before it.
   */
  take(stored: StoredRow, from: number, segment?: number): readonly StoredRow[] {
    const { frame, ...columns } = stored;
    const row = inNumbers(stored);
    if (!isRecordRow(row)) return [frame === null ? columns : stored];
    try {
      if (!isSegment(row))
        return row.seq < (segment ?? from) ? [] : [this.#whole(columns, row, decodeRow(row, "", this.#path))];
      const first = row.seq <= (segment ?? from - 1) ? from : row.seq;
      const packed = new Segment(row, { path: this.#path, seq: row.seq }).rows();
      return packed.flatMap((own) => {
        const plain = this.#whole(this.#stored(own.row), own.row, own);
        return own.row.seq < first ? [] : [plain];
      });
    } catch (error) {
      if (error instanceof CorruptError) return [frame === null ? columns : stored];
      throw error;
    }
  }

  #whole(stored: StoredRow, row: RecordRow, decoded: DecodedRow): StoredRow {
    this.#quoted.tryTake(decoded);
    const { sources } = decoded;
    if (sources?.quoted === undefined) return stored;
    const whole = putBack(row.body, sources, this.#quoted.textsOf(decoded));
    return { ...stored, ...whole, checksum: BigInt(recordChecksum(whole)) };
  }

  /** A row in a segment, as it would be stored by itself. */
  #stored({ seq, count, type, time, body, sources, checksum }: RecordRow): StoredRow {
    const rowid = BigInt(this.#session) * BigInt(MAX_EVENTS) + BigInt(seq);
    return {
      rowid,
      count: BigInt(count),
      type,
      time: BigInt(time),
      body,
      sources,
      checksum: BigInt(checksum),
    };
  }
}

function inNumbers(stored: StoredRow): StoredRow {
  const numbers = Object.entries(stored).map(([name, value]) => [
    name,
    typeof value === "bigint" ? Number(value) : value,
  ]);
  const { rowid } = stored;
  const seq = typeof rowid === "bigint" ? Number(BigInt.asUintN(32, rowid)) : null;
  return { ...Object.fromEntries(numbers), seq };
}
