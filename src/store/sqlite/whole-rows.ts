import type { Database } from "bun:sqlite";
import { CorruptError } from "../errors.ts";
import type { SqlValue } from "../quarantine.ts";
import { recordChecksum } from "./keys.ts";
import { QuotedRows } from "./quoted-rows.ts";
import { putBack } from "./row-text.ts";
import { decodeRow, isRecordRow } from "./rows.ts";
import selectRange from "./sql/select-range.sql" with { type: "text" };

type StoredRow = Readonly<Record<string, SqlValue>>;

/**
 * Rows of a session that leave their database, in order. What they quote may stay behind, so that each takes its texts
 * along, as far as they can be read.
 */
export class WholeRows {
  readonly #path: string;
  readonly #quoted: QuotedRows;

  constructor(database: Database, path: string, session: number) {
    this.#path = path;
    this.#quoted = new QuotedRows({ path }, (first, last) =>
      database.query(selectRange).all({ session, first, last }).filter(isRecordRow),
    );
  }

  /** The row as it is, or, where it is sound and quotes, with what it quotes. */
  take(stored: StoredRow): StoredRow {
    const row = inNumbers(stored);
    if (!isRecordRow(row)) return stored;
    try {
      const decoded = decodeRow(row, "", this.#path);
      this.#quoted.tryTake(decoded);
      const { sources } = decoded;
      if (sources?.quoted === undefined) return stored;
      const whole = putBack(row.body, sources, this.#quoted.textsOf(decoded));
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
