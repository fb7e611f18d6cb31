import type { Database } from "bun:sqlite";
import type { CorruptError } from "../errors.ts";
import { openPlainly } from "./opening.ts";
import setBusyTimeout from "./sql/set-busy-timeout.sql" with { type: "text" };
import setCacheSize from "./sql/set-cache-size.sql" with { type: "text" };

/** How a reader gets at its database. */
export interface ReadAccess extends Disposable {
  /** Runs a task that only reads. It may be run again, where what it read was not whole. */
  read<T>(task: (database: Database) => T): T;
  /** Why what was committed last cannot be read, where that is so: any session may have lost its end, or be gone. */
  hiddenEnd(): CorruptError | undefined;
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

  /** Whoever writes a store has looked before, and knows all of its log. */
  hiddenEnd(): undefined {
    return undefined;
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}

/** To a database that cannot be opened, for one reason. */
export class NoAccess implements ReadAccess {
  readonly #reason: CorruptError;

  constructor(reason: CorruptError) {
    this.#reason = reason;
  }

  read(): never {
    throw this.#reason;
  }

  hiddenEnd(): undefined {
    return undefined;
  }

  [Symbol.dispose](): void {}
}

export function configureReading(database: Database): void {
  database.run(setBusyTimeout);
  database.run(setCacheSize);
}
