import { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import type {
  CompactionResult,
  CompactOptions,
  OpenCompactorOptions,
  StoreCompactor,
  StoreSizes,
} from "../compactor.ts";
import {
  CorruptError,
  type HoldfastError,
  NotFoundError,
  toStorageError,
  UnsupportedFormatError,
} from "../errors.ts";
import type { ReadAccess } from "./access.ts";
import { giveBack } from "./give-back.ts";
import { sessionKey } from "./keys.ts";
import { admitSegments } from "./migrate.ts";
import type { SqliteReader } from "./reader.ts";
import { RowSink } from "./row-sink.ts";
import { type RowSizes, rowSizes } from "./row-sizes.ts";
import {
  assertSame,
  type LogMeasure,
  measureLog,
  type PackingOptions,
  packRows,
  type RewrittenSession,
  unpackRows,
} from "./session-rewrite.ts";
import beginImmediate from "./sql/begin-immediate.sql" with { type: "text" };
import commit from "./sql/commit.sql" with { type: "text" };
import rollback from "./sql/rollback.sql" with { type: "text" };
import selectSession from "./sql/select-session.sql" with { type: "text" };

/** Bytes of pages that a byte of rows takes, about. */
const PAGES_A_ROW = 1.1;
/** Fewer bytes are not worth writing a session anew: it would hardly take a page less. */
const LEAST_GAIN = 4_096;

export interface SqliteCompactorOptions extends OpenCompactorOptions, PackingOptions {
  /** Fewer bytes are not worth it. Default {@link LEAST_GAIN}. */
  readonly leastGain?: number;
}

/** Writes the sessions of a database anew, each in a transaction of its own, and at the end makes the file smaller. */
export class SqliteCompactor implements StoreCompactor {
  readonly #path: string;
  /** The writing connection; of a dry run a way to read. */
  readonly #database: Database | ReadAccess;
  /** Sees what was committed. */
  readonly #committed: SqliteReader;
  readonly #resources: DisposableStack;
  readonly #options: SqliteCompactorOptions;
  readonly #size: number;
  #saved = 0;
  /** Bytes of the rows of sessions that were written anew. */
  #left = 0;
  #isExpanded = false;

  /** Takes over `resources`, which hold the database and the lock. */
  constructor(
    path: string,
    database: Database | ReadAccess,
    committed: SqliteReader,
    resources: DisposableStack,
    options: SqliteCompactorOptions,
  ) {
    this.#path = path;
    this.#database = database;
    this.#committed = committed;
    this.#resources = resources;
    this.#options = options;
    this.#size = sizeOnDisk(path);
  }

  compact(id: string, options: CompactOptions = {}): Promise<CompactionResult> {
    const { leastGain = LEAST_GAIN } = this.#options;
    return this.#rewrite(id, options, ({ loose }) => {
      if (loose === undefined || loose.bytes < leastGain) return undefined;
      return {
        state: "compacted",
        bytes: loose.bytes,
        carryOut: (session, sink, database) => {
          if (database !== undefined) admitSegments(database);
          return packRows(session, loose.from, sink, this.#options);
        },
        isWorthIt: (after) => loose.bytes - after >= leastGain,
      };
    });
  }

  expand(id: string, options: CompactOptions = {}): Promise<CompactionResult> {
    return this.#rewrite(id, options, ({ segments }) => {
      if (segments.length === 0) return undefined;
      return {
        state: "expanded",
        bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
        carryOut: async (session, sink) => {
          for (const { seq } of segments) this.#committed.read((old) => unpackRows(session, old, seq, sink));
          return await measureLog(session, this.#committed);
        },
        isWorthIt: () => true,
      };
    });
  }

  async finish(): Promise<StoreSizes> {
    const before = this.#size;
    if (!(this.#database instanceof Database)) {
      // Whatever the pages take now, the rows that are left need theirs.
      const after = Math.max(PAGES_A_ROW * this.#left, before - PAGES_A_ROW * this.#saved);
      return { before, after: Math.round(after) };
    }
    this.#committed[Symbol.dispose]();
    try {
      giveBack(this.#database, this.#isExpanded);
    } catch (error) {
      const what = "The sessions were written anew, but what is free now could not be given back";
      throw toStorageError(error, what, { path: this.#path });
    }
    return { before, after: sizeOnDisk(this.#path) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#committed[Symbol.dispose]();
    this.#resources.dispose();
  }

  async #rewrite(
    id: string,
    options: CompactOptions,
    plan: (sizes: RowSizes) => Rewrite | undefined,
  ): Promise<CompactionResult> {
    const path = this.#path;
    const { signal, onProgress } = options;
    signal?.throwIfAborted();
    const database = this.#database instanceof Database ? this.#database : undefined;
    try {
      const number = this.#numberOf(id);
      const { segmentLength } = this.#options;
      const sizes = this.#committed.read((committed) => rowSizes(committed, number, segmentLength));
      const { bytes: before, events } = sizes;
      const unchanged = { id, state: "unchanged", before, after: before } as const;
      const rewrite = plan(sizes);
      if (rewrite === undefined) return unchanged;
      const halves = (half: number) => (share: number) => onProgress?.((half + share) / 2);
      const session = {
        id,
        number,
        path,
        events,
        old: this.#committed,
        options: { ...options, onProgress: halves(0) },
      };
      const sink = new RowSink(database, number);
      database?.run(beginImmediate);
      const measure = await rewrite.carryOut(session, sink, database);
      if (!rewrite.isWorthIt(sink.bytes)) {
        database?.run(rollback);
        return unchanged;
      }
      if (database !== undefined) {
        await assertSame(database, { ...session, options: { ...options, onProgress: halves(1) } }, measure);
        database.run(commit);
      }
      if (rewrite.state === "expanded") this.#isExpanded = true;
      const after = before - rewrite.bytes + sink.bytes;
      this.#saved += before - after;
      this.#left += after;
      return { id, state: rewrite.state, before, after, ...measure };
    } catch (error) {
      if (database?.inTransaction === true) tryRollback(database);
      if (signal?.aborted === true) throw error;
      const typed = toStorageError(error, "The session could not be written anew", { path, sessionId: id });
      if (isOfSession(typed)) return { id, state: "refused", error: typed };
      throw typed;
    }
  }

  #numberOf(id: string): number {
    const row = this.#committed.read((database) =>
      database.query(selectSession).get({ key: sessionKey(id) }),
    );
    const { number } = Object(row) as { readonly number?: unknown };
    if (typeof number !== "number") throw new NotFoundError(id, this.#path);
    return number;
  }
}

/** What is to be done with a session. */
interface Rewrite {
  readonly state: "compacted" | "expanded";
  /** What the rows take that are written anew. */
  readonly bytes: number;
  /** @param database absent in a dry run */
  readonly carryOut: (
    session: RewrittenSession,
    sink: RowSink,
    database: Database | undefined,
  ) => Promise<LogMeasure>;
  /** @param after what takes their place */
  readonly isWorthIt: (after: number) => boolean;
}

function isOfSession(error: HoldfastError): boolean {
  return error instanceof CorruptError || error instanceof UnsupportedFormatError;
}

function tryRollback(database: Database): void {
  try {
    database.run(rollback);
  } catch {
    // SQLite has ended the transaction itself, or does with the connection.
  }
}

function sizeOnDisk(path: string): number {
  return ["", "-wal"].reduce(
    (sum, suffix) => sum + (statSync(path + suffix, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}
