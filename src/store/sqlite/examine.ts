import type { Database } from "bun:sqlite";
import { z } from "zod";
import type { Place } from "../../session/errors.ts";
import { CorruptError, StorageFailedError, toStorageError } from "../errors.ts";
import type { Examined, ExaminedSession, StoreExaminer } from "../examiner.ts";
import { type Finding, findingOf } from "../finding.ts";
import { resolveStorePath } from "../paths.ts";
import { isHeldHere } from "../writer-lock.ts";
import { NoAccess, type ReadAccess } from "./access.ts";
import { assertNoOrphan, JournalAloneError } from "./create.ts";
import { checkDatabase, ofStore, pageSizeOf } from "./database-check.ts";
import { deepRows } from "./deep-rows.ts";
import type { ExaminedHeader } from "./examined-header.ts";
import { type ListedSessions, listSessions, lostSessions } from "./examined-sessions.ts";
import { type ForeignRows, foreignFinding, foreignRows } from "./foreign.ts";
import { APPLICATION_ID, DamagedHeaderError } from "./header-fields.ts";
import { hasLog, lookAtHeader, readHeader } from "./identity.ts";
import { MAX_EVENTS } from "./keys.ts";
import { type CutOff, cutOffFinding, findCutOff, type LostPages } from "./lost-pages.ts";
import { PageScan } from "./page-scan.ts";
import { admitStore, QuietAccess } from "./quiet-access.ts";
import { rowPlace, type Walked, walkRows, wholeRows } from "./row-walk.ts";
import { isTailRow } from "./rows.ts";
import getSequence from "./sql/get-sequence.sql" with { type: "text" };
import selectTail from "./sql/select-tail.sql" with { type: "text" };
import { findLostFrames } from "./wal-frames.ts";

const APPLICATION_ID_OFFSET = 68;
/** A higher number is damage: a new session could not get the next one. */
const MAX_SEQUENCE = 2 ** 30;
const HOW_TO_TELL = "what sessions are left of it, `holdfast sessions repair --dry-run` tells";

const sequenceSchema = z.object({ seq: z.number().int().nonnegative().max(MAX_SEQUENCE) });

export interface SqliteExamineOptions {
  /** Whether to look for rows in pages that no table leads to. */
  readonly deep?: boolean;
}

/** One session of a SQLite store. */
export interface ExaminedSqliteSession extends ExaminedSession {
  /** What its row in `sessions` says. */
  readonly stored: ExaminedHeader;
  /** Whether it belongs to the store, and is not only rows of no session. */
  readonly isKnown: boolean;
  /** The rows behind the items. */
  rows(): Iterable<Walked>;
}

/**
 * A SQLite store opened for a check, beside whoever writes it. A database that SQLite refuses is opened too, if the
 * header of its file says that it is a store, or rows in it do. With `deep` the log of one that is gone is enough.
 * @throws StoreNotFoundError, UnsupportedFormatError, CorruptError, StorageFailedError
 */
export async function examineSqlite(
  path: string,
  options: SqliteExamineOptions = {},
): Promise<SqliteExaminer> {
  const resolved = resolveStorePath(path);
  if (!isHeldHere(resolved)) return new SqliteExaminer(resolved, options);
  throw new StorageFailedError("This process has the store open for writing", {
    place: { path: resolved },
    hint: "Close it first: reading its files in any other way would free its locks.",
  });
}

/** Reads a store past its damage. */
export class SqliteExaminer implements StoreExaminer {
  readonly path: string;
  readonly #resources = new DisposableStack();
  readonly #access: ReadAccess;
  /** Why SQLite is not even asked. */
  readonly #obstacle: CorruptError | undefined;
  readonly #scan: PageScan | undefined;
  readonly #pageSize: number;
  readonly #cutOff: CutOff | undefined;
  #listed: ListedSessions | undefined;

  constructor(path: string, { deep = false }: SqliteExamineOptions) {
    this.path = path;
    try {
      this.#obstacle = obstacleTo(path, deep);
      const header = this.#obstacle === undefined ? readHeader(path) : undefined;
      const isOurs = header !== undefined && isNamed(header);
      this.#pageSize = isOurs ? pageSizeOf(header) : 0;
      const isScanned = deep && (isOurs || this.#obstacle !== undefined);
      // Before there is a connection, whose locks would go with its descriptors.
      this.#cutOff = isOurs ? findCutOff(path) : undefined;
      // Its descriptors are closed last: with them the locks of the connection would go.
      this.#scan = isScanned ? this.#resources.use(new PageScan(path)) : undefined;
      this.#access = this.#resources.use(
        this.#obstacle === undefined
          ? new QuietAccess(path, isOurs ? admitDamaged : admitStore)
          : new NoAccess(this.#obstacle),
      );
    } catch (error) {
      this.#resources.dispose();
      throw toStorageError(error, "The store could not be read", { path });
    }
  }

  async *checkStore(): AsyncGenerator<Finding> {
    // Sessions that are not listed are not lost with that.
    let isToTell = this.#obstacle !== undefined || this.#list().damage.length > 0;
    for (const finding of this.structure()) {
      yield isToTell ? { ...finding, message: `${finding.message}; ${HOW_TO_TELL}` } : finding;
      isToTell = false;
    }
    for (const foreign of this.foreign()) yield foreignFinding(foreign, this.path);
  }

  async *sessions(ids?: readonly string[]): AsyncGenerator<ExaminedSqliteSession> {
    const wanted = ids === undefined ? undefined : new Set(ids);
    for (const session of this.list()) if (wanted?.has(session.id) ?? true) yield session;
  }

  /** The sessions in the order of their numbers; behind them those that no table leads to. */
  *list(): Generator<ExaminedSqliteSession> {
    const listed = this.#list();
    for (const header of listed.sessions) yield this.#session(header, true);
    const lost = this.#scan === undefined ? [] : lostSessions(listed, this.#scan, this.path);
    for (const { header, isKnown } of lost) yield this.#session(header, isKnown);
  }

  /** What is wrong with the database itself, by SQLite's own check and beyond it. Empty where it is sound. */
  *structure(): Generator<Finding> {
    const { path } = this;
    if (this.#obstacle !== undefined) yield findingOf("store-damaged", this.#obstacle);
    else {
      let isSound = true;
      for (const finding of checkDatabase(this.#access, { path, pageSize: this.#pageSize })) {
        // Of a database that SQLite finds sound it was being written just now.
        if (isSound && this.#cutOff !== undefined) yield cutOffFinding(this.#cutOff, path);
        isSound = false;
        yield finding;
      }
      yield* this.#list().damage.map(ofStore);
    }
    const lost = findLostFrames(path);
    if (lost !== undefined) yield lost;
  }

  /** Rows that belong to no session. Not known where sessions cannot be read. */
  foreign(): readonly ForeignRows[] {
    const { numbers, damage } = this.#list();
    if (damage.length > 0) return [];
    try {
      return [...foreignRows(this.#access, numbers)];
    } catch {
      // SQLite's own check tells why.
      return [];
    }
  }

  /** Whether the table of the sessions could be read to its end. */
  get isListWhole(): boolean {
    return this.#list().damage.length === 0;
  }

  /** What the pages say of those that are not there. With `deep` alone; reads the whole file. */
  lostPages(): LostPages {
    return this.#scan?.lostPages() ?? {};
  }

  /** Seq of the last row of a session, for telling how far a reader is; at least 1, and a guess where it cannot be read. */
  lastSeq(number: number): number {
    try {
      const row = this.#read((database) => database.query(selectTail).get({ session: number }));
      return isTailRow(row) ? Math.max(1, row.seq) : 1;
    } catch {
      return MAX_EVENTS;
    }
  }

  /** Whether another session than this one has a key. */
  hasKey(key: string, number: number): boolean {
    return this.#list().sessions.some((session) => session.key === key && session.number !== number);
  }

  /** The highest number that a session ever had, as the database remembers it; 0 where that cannot be read. */
  sequence(): number {
    try {
      const row = sequenceSchema.safeParse(this.#read((database) => database.query(getSequence).get()));
      return row.data?.seq ?? 0;
    } catch {
      return 0;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#resources.dispose();
  }

  #list(): ListedSessions {
    this.#listed ??= listSessions(this.#access, this.path);
    return this.#listed;
  }

  #read<T>(task: (database: Database) => T): T {
    return this.#access.read(task);
  }

  #session(stored: ExaminedHeader, isKnown: boolean): ExaminedSqliteSession {
    const { id, number, headerText, header } = stored;
    // Whoever wants all that is left wants it of a session, too, that nobody else gets to the end of.
    const hidden = this.#scan === undefined ? undefined : this.#access.hiddenEnd();
    const findings =
      hidden === undefined ? stored.findings : [...stored.findings, findingOf("store-damaged", hidden)];
    const owner = { path: this.path, id, number };
    const walk = () =>
      this.#scan === undefined ? walkRows(this.#access, owner) : deepRows(this.#access, owner, this.#scan);
    const rows = () => wholeRows(walk(), owner);
    return {
      id,
      location: this.path,
      findings,
      stored,
      isKnown,
      rows,
      ...(headerText === undefined ? {} : { headerText }),
      ...(header === undefined ? {} : { header }),
      items: async function* (): AsyncGenerator<Examined> {
        for (const walked of rows()) {
          if (walked.kind === "damage") yield walked;
          else {
            const { rows } = walked;
            const placeOf = (k: number): Place =>
              rowPlace(owner, rows[k]?.decoded.record.seq ?? 0, rows[k]?.segment);
            yield { kind: "records", records: rows.map(({ decoded }) => decoded), placeOf };
          }
        }
      },
    };
  }
}

/**
 * What keeps SQLite from being asked about a store, though rows of it may be there.
 * @throws UnsupportedFormatError where it is no store; JournalAloneError where rows are not looked for
 */
function obstacleTo(path: string, deep: boolean): CorruptError | undefined {
  try {
    if (lookAtHeader(path) !== "database") assertNoOrphan(path);
    return undefined;
  } catch (error) {
    if (error instanceof DamagedHeaderError) return error;
    if (error instanceof JournalAloneError && deep && hasLog(path)) return error;
    throw error;
  }
}

function isNamed(header: Buffer): boolean {
  return (
    header.length > APPLICATION_ID_OFFSET + 4 && header.readInt32BE(APPLICATION_ID_OFFSET) === APPLICATION_ID
  );
}

/** A database that its file says is ours, as far as SQLite opens it at all. What is wrong with it is found later. */
function admitDamaged(database: Database, path: string): void {
  try {
    admitStore(database, path);
  } catch (error) {
    const typed = toStorageError(error, "The store could not be read", { path });
    if (!(typed instanceof CorruptError)) throw error;
  }
}
