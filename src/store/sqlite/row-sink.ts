import type { Database } from "bun:sqlite";
import { storedSize } from "./row-sizes.ts";
import type { RecordRow } from "./rows.ts";
import { isSegment } from "./segment.ts";
import deleteRange from "./sql/delete-range.sql" with { type: "text" };
import insertRecord from "./sql/insert-record.sql" with { type: "text" };
import insertSegment from "./sql/insert-segment.sql" with { type: "text" };

/** Where rows go that take the place of those with the same events. */
export class RowSink {
  readonly #database: Database | undefined;
  readonly #session: number;
  #bytes = 0;

  /** Without a database, rows are only measured. */
  constructor(database: Database | undefined, session: number) {
    this.#database = database;
    this.#session = session;
  }

  /** What was put takes so many bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Puts rows in the place of those that begin at the events from seq `first` to seq `last`. */
  replace(first: number, last: number, rows: Iterable<RecordRow>): void {
    this.#database?.query(deleteRange).run({ session: this.#session, first, last });
    this.put(rows);
  }

  put(rows: Iterable<RecordRow>): void {
    const session = this.#session;
    for (const row of rows) {
      const { seq, count, type, time, body, sources, checksum, frame } = row;
      const columns = { session, seq, count, type, time, body, sources, checksum };
      this.#bytes += storedSize(
        Buffer.byteLength(body) + Buffer.byteLength(sources ?? "") + (frame?.length ?? 0),
      );
      if (isSegment(row)) this.#database?.query(insertSegment).run({ ...columns, frame: row.frame });
      else this.#database?.query(insertRecord).run(columns);
    }
  }
}
