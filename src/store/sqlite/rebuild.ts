import { Database } from "bun:sqlite";
import { rmSync, statSync } from "node:fs";
import { basename } from "node:path";
import { StorageFailedError } from "../errors.ts";
import type { FileSystem } from "../file-system.ts";
import type { Finding } from "../finding.ts";
import { QuarantineWriter, type SqlValue } from "../quarantine.ts";
import { type ExaminedSqliteSession, SqliteExaminer } from "./examine.ts";
import { sizeOf } from "./identity.ts";
import { MAX_EVENTS, sessionKey } from "./keys.ts";
import { admitSegments } from "./migrate.ts";
import { draftOf, keepQuarantine, privateAs, syncFile } from "./repair-files.ts";
import { isRecordRow, type RecordRow } from "./rows.ts";
import { createSchema } from "./schema.ts";
import { isSegment } from "./segment.ts";
import checkpoint from "./sql/checkpoint.sql" with { type: "text" };
import deleteSequence from "./sql/delete-sequence.sql" with { type: "text" };
import insertSequence from "./sql/insert-sequence.sql" with { type: "text" };
import insertSessionAs from "./sql/insert-session-as.sql" with { type: "text" };
import putRecord from "./sql/put-record.sql" with { type: "text" };
import putSegment from "./sql/put-segment.sql" with { type: "text" };
import setJournalMode from "./sql/set-journal-mode.sql" with { type: "text" };
import setJournalModeOff from "./sql/set-journal-mode-off.sql" with { type: "text" };
import setSynchronousOff from "./sql/set-synchronous-off.sql" with { type: "text" };

/** What a rebuilt database is made of. */
export interface Rebuild {
  /** The damaged database; nobody may have it open. */
  readonly from: string;
  /** The file to be made. */
  readonly to: string;
  /** The store that it is for, beside which files lie. */
  readonly store: string;
  readonly reason: Finding;
  readonly quarantine: string;
  /** Told after each session. */
  readonly onSession?: (share: number) => void;
}

/**
 * Builds a database anew from all rows that can be found of a damaged one, each at its place: rows that are damaged
 * themselves too, as far as they can be read. What has no place in it is set aside. The file is durable in the end, and
 * not yet in its place.
 * @returns whether something was set aside
 */
export async function rebuild(plan: Rebuild, system: FileSystem): Promise<boolean> {
  // SQLite would make the file readable for everyone.
  system.close(system.create(plan.to));
  let isSetAside = false;
  try {
    isSetAside = await fill(plan, system);
    // Its log must not be left behind when it is renamed.
    if (sizeOf(`${plan.to}-wal`) > 0)
      throw new StorageFailedError("The log of the new database could not be written back");
    system.adopt(plan.to, statSync(plan.store));
    syncFile(plan.to, system);
    return isSetAside;
  } catch (error) {
    rmSync(isSetAside ? plan.quarantine : draftOf(plan.quarantine), { force: true });
    throw error;
  }
}

async function fill(plan: Rebuild, system: FileSystem): Promise<boolean> {
  await using examiner = new SqliteExaminer(plan.from, { deep: true });
  using target = new Target(plan, system);
  const sessions = [...examiner.list()];
  for (const [k, session] of sessions.entries()) {
    if (session.isKnown) target.take(session);
    else target.setAside(session);
    plan.onSession?.((k + 1) / sessions.length);
  }
  return target.finish(examiner.sequence());
}

class Target implements Disposable {
  readonly #plan: Rebuild;
  readonly #system: FileSystem;
  readonly #database: Database;
  readonly #keys = new Set<string>();
  #quarantine: QuarantineWriter | undefined;
  #highest = 0;

  constructor(plan: Rebuild, system: FileSystem) {
    this.#plan = plan;
    this.#system = system;
    this.#database = new Database(plan.to, { readwrite: true, create: false, strict: true });
    // Nothing to protect yet: the finished file is synced as a whole before it gets its name.
    this.#database.run(setSynchronousOff);
    this.#database.query(setJournalModeOff).get();
    createSchema(this.#database);
  }

  take(session: ExaminedSqliteSession): void {
    const { number } = session.stored;
    this.#highest = Math.max(this.#highest, number);
    this.#database.transaction(() => {
      this.#takeHeader(session);
      this.#takeRows(session);
    })();
  }

  /** Rows that name no session. */
  setAside(session: ExaminedSqliteSession): void {
    const { number } = session.stored;
    this.#highest = Math.max(this.#highest, number);
    for (const walked of session.rows()) {
      if (walked.kind === "rows") for (const { row } of walked.rows) this.#put(number, row);
      else if (walked.row !== undefined) this.#put(number, walked.row);
    }
  }

  /** @param sequence highest number that a session ever had, as far as that is known */
  finish(sequence: number): boolean {
    const { quarantine } = this.#plan;
    const last = Math.max(sequence, this.#highest);
    this.#database.run(deleteSequence);
    this.#database.query(insertSequence).run({ seq: last });
    const mode = this.#database.query<{ journal_mode: string }, []>(setJournalMode).get()?.journal_mode;
    if (mode !== "wal") throw new StorageFailedError(`SQLite's journal mode is ${mode}, not WAL`);
    this.#database.run(checkpoint);
    if (this.#quarantine === undefined) return false;
    this.#quarantine.finish();
    keepQuarantine(quarantine, this.#system);
    return true;
  }

  [Symbol.dispose](): void {
    this.#quarantine?.[Symbol.dispose]();
    this.#database.close();
  }

  #takeRows(session: ExaminedSqliteSession): void {
    const { number } = session.stored;
    for (const walked of session.rows()) {
      if (walked.kind === "rows") {
        for (const { row } of walked.rows) this.#database.query(putRecord).run({ session: number, ...row });
      } else if (isRecordRow(walked.row)) this.#tryRow(number, walked.row);
      else if (walked.row !== undefined) this.#put(number, walked.row);
    }
  }

  /** A damaged row keeps its place, so that the session is cut there as it would be in a sound database. */
  #tryRow(number: number, row: RecordRow): void {
    try {
      if (!isSegment(row)) this.#database.query(putRecord).run({ session: number, ...row });
      else {
        admitSegments(this.#database);
        this.#database.query(putSegment).run({ session: number, ...row });
      }
    } catch {
      // The table does not take such values.
      this.#put(number, row);
    }
  }

  /** As it is stored, sound or not: a header that is not is repaired with its session. */
  #takeHeader({ id, stored }: ExaminedSqliteSession): void {
    const { number, key = sessionKey(id), headerText: header = "", checksum = 0 } = stored;
    const own = this.#keys.has(key) ? sessionKey(`${id}-${number}`) : key;
    this.#keys.add(own);
    this.#database.query(insertSessionAs).run({ number, key: own, header, checksum });
  }

  #put(number: number, row: unknown): void {
    // A row of a table, read in one way or another: its values are of the types that SQLite has.
    const { seq, ...values } = Object(row) as Readonly<Record<string, SqlValue>>;
    this.#writer.row(BigInt(number) * BigInt(MAX_EVENTS) + BigInt(Number(seq)), values);
  }

  get #writer(): QuarantineWriter {
    const { quarantine, store, reason } = this.#plan;
    const { offset, row } = reason.place;
    const cutAt = { ...(offset === undefined ? {} : { offset }), ...(row === undefined ? {} : { row }) };
    const head = { source: basename(store), reason, cutAt };
    if (this.#quarantine === undefined) {
      this.#quarantine = new QuarantineWriter(draftOf(quarantine), head, this.#system);
      this.#system.adopt(draftOf(quarantine), privateAs(store));
    }
    return this.#quarantine;
  }
}
