import type { Database } from "bun:sqlite";
import { CorruptError } from "../errors.ts";
import type { SqlValue } from "../quarantine.ts";
import { recordChecksum } from "./keys.ts";
import { QuotedRows } from "./quoted-rows.ts";
import { decodeRow, isRecordRow } from "./rows.ts";
import selectPage from "./sql/select-page.sql" with { type: "text" };

type StoredRow = Readonly<Record<string, SqlValue>>;

/** Rows of a session that leave their database: what they quote may stay behind, so that each takes its whole text along. */
export class WholeRows {
  readonly #path: string;
  readonly #quoted: QuotedRows;

  constructor(database: Database, path: string, session: number) {
    this.#path = path;
    const load = (first: number, last: number) =>
      database
        .query(selectPage)
        .all({ session, from: first, limit: last - first + 1 })
        .filter(isRecordRow)
        .filter(({ seq }) => seq <= last)
        .map((row) => decodeRow(row, "", path).decoded.record);
    this.#quoted = new QuotedRows({ path }, { load, isCompared: true });
  }

  /** The row as it is, or, where it is sound and quotes, with its whole text. */
  take(stored: StoredRow): StoredRow {
    const row = inNumbers(stored);
    if (!isRecordRow(row)) return stored;
    try {
      const decoded = decodeRow(row, "", this.#path);
      const { record } = this.#quoted.take(decoded);
      if (decoded.sources?.quoted === undefined) return stored;
      const whole = { body: record.text, sources: null };
      return { ...stored, ...whole, checksum: BigInt(recordChecksum(whole)) };
    } catch (error) {
      if (error instanceof CorruptError) return stored;
      throw error;
    }
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
