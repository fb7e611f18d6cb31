import type { Database } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { StoreNotFoundError, UnsupportedFormatError } from "../errors.ts";
import { configureReading, type ReadAccess } from "./access.ts";
import { identifyDatabase, lookAtHeader, sizeOf } from "./identity.ts";
import { openAbandoned, openImmutable, openPlainly } from "./opening.ts";

/** After so many changes under a reader, it reads as SQLite does by itself, at the price of a file left behind. */
const MAX_OPENINGS = 8;

interface Opened {
  readonly database: Database;
  /** The files as they were before they were opened; absent where SQLite itself sees changes. */
  readonly state?: string;
}

/**
 * Reads a store and leaves everything as it is. While a process has the store open, its log and the index of that lie
 * beside it, and an ordinary connection reads along. Otherwise that connection would make those files and leave them:
 * then the file is read as if nothing could change it, and a task counts only if nothing did.
 */
export class QuietAccess implements ReadAccess {
  readonly #path: string;
  #opened: Opened;
  #openings = 1;

  /** @throws StoreNotFoundError, UnsupportedFormatError, CorruptError, StorageFailedError */
  constructor(path: string) {
    this.#path = path;
    this.#opened = this.#open();
  }

  read<T>(task: (database: Database) => T): T {
    for (;;) {
      const { database, state } = this.#opened;
      if (state === undefined) return task(database);
      let result: { readonly value: T } | { readonly error: unknown };
      try {
        result = { value: task(database) };
      } catch (error) {
        // Perhaps only because the file changed meanwhile.
        result = { error };
      }
      // Unchanged since before it was opened, so the task saw one state, and the newest.
      if (stateOf(this.#path) === state) {
        if ("error" in result) throw result.error;
        return result.value;
      }
      database.close();
      this.#openings += 1;
      this.#opened = this.#open();
    }
  }

  [Symbol.dispose](): void {
    this.#opened.database.close();
  }

  #open(): Opened {
    const path = this.#path;
    for (;;) {
      const state = stateOf(path);
      let database: Database | undefined;
      try {
        const kind = lookAtHeader(path);
        if (kind === "absent") throw new StoreNotFoundError(path);
        if (kind === "empty") throw notYet(path);
        const isPlain = this.#openings >= MAX_OPENINGS || isInUse(path);
        database = isPlain ? openPlainly(path) : openAlone(path);
        if (identifyDatabase(database, path) === "empty") throw notYet(path);
        configureReading(database);
        return { database, ...(isPlain ? {} : { state }) };
      } catch (error) {
        database?.close();
        // What cannot be read now may be whole in a moment, but only if somebody is at it.
        if (stateOf(path) === state || this.#openings >= MAX_OPENINGS) throw error;
        this.#openings += 1;
      }
    }
  }
}

/** Whether a process may have the database open: then there is an index of the log, or a journal to be rolled back. */
function isInUse(path: string): boolean {
  const hasLog = sizeOf(`${path}-wal`) > 0;
  return (
    (hasLog && (existsSync(`${path}-shm`) || process.platform === "win32")) || sizeOf(`${path}-journal`) > 0
  );
}

function openAlone(path: string): Database {
  return sizeOf(`${path}-wal`) > 0 ? openAbandoned(path) : openImmutable(path);
}

/** Differs when the database was written or replaced, or a process took up writing it. */
function stateOf(path: string): string {
  const files = ["", "-wal", "-journal"].map((suffix) => {
    const stat = statSync(path + suffix, { bigint: true, throwIfNoEntry: false });
    // An empty log or journal says nothing: one that was just made, or that is left from a reader.
    if (stat === undefined || (suffix !== "" && stat.size === 0n)) return "";
    // Not its time of change: SQLite sets the owner of a log that it opens, to the one it has.
    return [stat.dev, stat.ino, stat.size, stat.mtimeNs].join(".");
  });
  const hasIndex = files[1] !== "" && existsSync(`${path}-shm`);
  return [...files, hasIndex].join(" ");
}

function notYet(path: string): UnsupportedFormatError {
  return new UnsupportedFormatError("The file is empty and no store yet", {
    place: { path },
    hint: "`holdfast serve --session-db` makes a store of it. This file was left as it is.",
  });
}
