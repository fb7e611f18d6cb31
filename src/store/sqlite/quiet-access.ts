import type { Database } from "bun:sqlite";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import {
  type CorruptError,
  errorCode,
  StorageFailedError,
  StoreNotFoundError,
  toStorageError,
  UnsupportedFormatError,
} from "../errors.ts";
import { configureReading, type ReadAccess } from "./access.ts";
import { assertNoOrphan } from "./create.ts";
import { hasLog, identifyDatabase, lookAtHeader, readHeader, sizeOf, WAL_HEADER } from "./identity.ts";
import { openAbandoned, openAlong, openImmutable, openPlainly } from "./opening.ts";
import { hasSoundHeader, lostFramesError } from "./wal-frames.ts";

/** After so many changes under a reader, it reads as SQLite does by itself, at the price of a file left behind. */
const MAX_OPENINGS = 8;

/**
 * How a store is read.
 * - `along`: its log and the index of that lie beside it, as while a process has it open. SQLite sees to it that its
 *   reader and that process respect each other, unless the process came after the reader.
 * - `alone`: as if nothing could change it.
 * - `plain`: as SQLite does by itself.
 */
type Way = "along" | "alone" | "plain";

interface Opened {
  readonly database: Database;
  readonly way: Way;
  /** The files as they were before they were opened. */
  readonly state: FilesState;
}

interface FilesState {
  /** Which files they are. */
  readonly places: string;
  /** Those, and what is known of their contents. */
  readonly all: string;
}

/**
 * Reads a store and leaves everything as it is: an ordinary connection would write the index of its log, and where
 * there is none make one and leave it. What a task read counts if nothing changed meanwhile, or if SQLite saw to it.
 */
export class QuietAccess implements ReadAccess {
  readonly #path: string;
  readonly #admit: (database: Database, path: string) => void;
  #opened: Opened;
  #openings = 1;
  /** Whether a process has written since this store was opened `along`, so that both know of each other. */
  #isAccompanied = false;
  /** What was found out of the log, and when: of a sound one nothing is hidden as long as it stays open. */
  #log: { readonly opened: Opened; readonly state: string; readonly error?: CorruptError } | undefined;

  /**
   * @param admit looks whether a database that was opened is a store, and makes it ready to be read
   * @throws StoreNotFoundError, UnsupportedFormatError, CorruptError, StorageFailedError
   */
  constructor(path: string, admit = admitStore) {
    this.#path = path;
    this.#admit = admit;
    this.#opened = this.#open();
  }

  read<T>(task: (database: Database) => T): T {
    for (;;) {
      const { database, way, state } = this.#opened;
      if (way === "plain") return task(database);
      let result: { readonly value: T } | { readonly error: unknown };
      try {
        result = { value: task(database) };
      } catch (error) {
        // Perhaps only because the file changed meanwhile.
        result = { error };
      }
      const now = stateOf(this.#path);
      const isSamePlace = way === "along" && now.places === state.places;
      // Unchanged since before it was opened, so the task saw one state, and the newest.
      if (now.all === state.all || (isSamePlace && this.#isAccompanied)) {
        if ("error" in result) throw result.error;
        return result.value;
      }
      if (isSamePlace) {
        this.#isAccompanied = true;
        continue;
      }
      database.close();
      this.#openings += 1;
      this.#opened = this.#open();
    }
  }

  hiddenEnd(): CorruptError | undefined {
    const [opened, known] = [this.#opened, this.#log];
    if (known?.opened === opened && known.error === undefined) return undefined;
    const state = stateOf(this.#path).all;
    if (known?.state === state) return known.error;
    const error = lostFramesError(this.#path);
    this.#log = { opened, state, ...(error === undefined ? {} : { error }) };
    return error;
  }

  [Symbol.dispose](): void {
    this.#opened.database.close();
  }

  #open(): Opened {
    const path = this.#path;
    this.#isAccompanied = false;
    for (;;) {
      const state = stateOf(path);
      let database: Database | undefined;
      try {
        const kind = lookAtHeader(path);
        if (kind !== "database") assertNoOrphan(path);
        if (kind === "absent") throw new StoreNotFoundError(path);
        if (kind === "empty") throw notYet(path);
        const way = this.#openings >= MAX_OPENINGS ? "plain" : wayTo(path);
        database = OPEN[way](path);
        this.#admit(database, path);
        return { database, way, state };
      } catch (error) {
        database?.close();
        // Somebody has opened the store and not yet made the index of its log: SQLite does it for both.
        if (this.#openings < MAX_OPENINGS && errorCode(error)?.startsWith("SQLITE_READONLY")) {
          this.#openings = MAX_OPENINGS;
          continue;
        }
        // What cannot be read now may be whole in a moment, but only if somebody is at it.
        if (stateOf(path).all === state.all || this.#openings >= MAX_OPENINGS) throw explain(error, path);
        this.#openings += 1;
      }
    }
  }
}

/** @throws UnsupportedFormatError, CorruptError where it is no store that can be read */
export function admitStore(database: Database, path: string): void {
  if (identifyDatabase(database, path) === "empty") throw notYet(path);
  configureReading(database);
}

const OPEN: Readonly<Record<Way, (path: string) => Database>> = {
  along: openAlong,
  alone: (path) => (hasLog(path) ? openAbandoned(path) : openImmutable(path)),
  plain: openPlainly,
};

/** A journal of the other kind must be rolled back before anything can be read, which SQLite does by itself alone. */
function wayTo(path: string): Way {
  if (isHot(`${path}-journal`)) return "plain";
  if (!hasLog(path)) return "alone";
  if (process.platform === "win32") return "along";
  // Without leave to write the log's index SQLite would read a header that it does not take again and again, for 10 s.
  return existsSync(`${path}-shm`) && hasSoundHeader(path) ? "along" : "alone";
}

/** Whether SQLite would roll a journal back. One that begins with a zero is over, or never reached the disk. */
function isHot(journal: string): boolean {
  return sizeOf(journal) > 0 && readHeader(journal)?.[0] !== 0;
}

/** The files that make up a state, and how many bytes of each hold nothing yet. */
const STATE_FILES = [
  { suffix: "", empty: -1 },
  { suffix: "-wal", empty: WAL_HEADER },
  { suffix: "-journal", empty: 0 },
] as const;

/** Differs when the database was written or replaced, or a process took up writing it. */
function stateOf(path: string): FilesState {
  const files = STATE_FILES.map(({ suffix, empty }) => {
    const stat = statSync(path + suffix, { bigint: true, throwIfNoEntry: false });
    // An empty log or journal says nothing: one that was just made, or that is left from a reader.
    if (stat === undefined || Number(stat.size) <= empty) return ["", ""];
    // Not its time of change: SQLite sets the owner of a log that it opens, to the one it has.
    return [`${stat.dev}.${stat.ino}`, `${stat.size}.${stat.mtimeNs}`];
  });
  const hasLog = files[1]?.[0] !== "";
  const index = hasLog ? statSync(`${path}-shm`, { bigint: true, throwIfNoEntry: false }) : undefined;
  const places = [...files.map(([place]) => place), index?.ino ?? ""].join(" ");
  return { places, all: [places, ...files.map(([, contents]) => contents)].join(" ") };
}

/** Names the file that keeps the store from being read: SQLite itself names none. */
function explain(error: unknown, path: string): unknown {
  const code = errorCode(error);
  if (code === "SQLITE_READONLY_ROLLBACK") {
    return new StorageFailedError("A transaction was cut short, and its journal is still to be rolled back", {
      place: { path: `${path}-journal` },
      hint: "Start a Host on the store once: that rolls it back. Reading alone must not write.",
      cause: error,
    });
  }
  if (code !== "EACCES" && code?.startsWith("SQLITE_CANTOPEN") !== true) return error;
  for (const file of ["", "-wal", "-shm"].map((suffix) => path + suffix)) {
    try {
      if (existsSync(file)) accessSync(file, constants.R_OK);
    } catch (refusal) {
      return toStorageError(refusal, "A file of the store cannot be read", { path: file });
    }
  }
  return error;
}

function notYet(path: string): UnsupportedFormatError {
  return new UnsupportedFormatError("The file is empty and no store yet", {
    place: { path },
    hint: "`holdfast serve --session-db` makes a store of it. This file was left as it is.",
  });
}
