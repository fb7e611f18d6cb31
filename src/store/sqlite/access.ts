import type { Database } from "bun:sqlite";
import { openPlainly } from "./opening.ts";
import setBusyTimeout from "./sql/set-busy-timeout.sql" with { type: "text" };
import setCacheSize from "./sql/set-cache-size.sql" with { type: "text" };

/** How a reader gets at its database. */
export interface ReadAccess extends Disposable {
  /** Runs a task that only reads. It may be run again, where what it read was not whole. */
  read<T>(task: (database: Database) => T): T;
}

/** One ordinary read-only connection. SQLite itself sees to it that a commit under way is never seen in part. */
export class PlainAccess implements ReadAccess {
  readonly #database: Database;

  constructor(path: string) {
    this.#database = openPlainly(path);
    configureReading(this.#database);
  }

  read<T>(task: (database: Database) => T): T {
    return task(this.#database);
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}

export function configureReading(database: Database): void {
  database.run(setBusyTimeout);
  database.run(setCacheSize);
}
