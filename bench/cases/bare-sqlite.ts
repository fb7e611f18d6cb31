import { Database } from "bun:sqlite";
import { configure } from "../../src/store/sqlite/durable-connection.ts";
import { createSchema } from "../../src/store/sqlite/schema.ts";
import insertRecord from "../../src/store/sqlite/sql/insert-record.sql" with { type: "text" };

/* SQLite alone: rows of the same tables, inserted on the calling thread, with no check and nobody told. */

export class BareSqlite implements Disposable {
  readonly #database: Database;
  readonly #commit: (sessions: number) => void;
  #seq = 0;

  constructor(path: string, body: string) {
    this.#database = new Database(path, { strict: true });
    configure(this.#database);
    createSchema(this.#database);
    const insert = this.#database.prepare(insertRecord);
    const row = { count: 1, type: "todo/write", time: 1_786_901_809_409, body, sources: null, checksum: 0 };
    const transaction = this.#database.transaction((sessions: number) => {
      for (let session = 1; session <= sessions; session += 1) {
        insert.run({ session, seq: this.#seq, ...row });
      }
      this.#seq += 1;
    });
    this.#commit = (sessions) => transaction.immediate(sessions);
  }

  /** Commits one row for each of so many sessions, so many times. Returns rows a second. */
  rate(sessions: number, commits: number): number {
    const start = performance.now();
    for (let n = 0; n < commits; n += 1) this.#commit(sessions);
    return ((sessions * commits) / (performance.now() - start)) * 1000;
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}
