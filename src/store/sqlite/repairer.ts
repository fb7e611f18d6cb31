import { existsSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { LockedError, StorageFailedError, StoreNotFoundError, toStorageError } from "../errors.ts";
import { type FileSystem, SYSTEM } from "../file-system.ts";
import { resolveStorePath } from "../paths.ts";
import type {
  ForeignRepair,
  RepairOptions,
  RepairPlan,
  RepairStep,
  SessionRepair,
  StoreRepair,
  StoreRepairer,
} from "../repairer.ts";
import { acquireWriterLock } from "../writer-lock.ts";
import { sweepDraft } from "./create.ts";
import { examineSqlite, SqliteExaminer } from "./examine.ts";
import { foldLog } from "./fold-log.ts";
import { assertLocalFileSystem, assertMayWrite, assertOneName, lookAtHeader, sizeOf } from "./identity.ts";
import { rebuild } from "./rebuild.ts";
import { dropBackup, makeBackup, rebuiltName, sweepRepair } from "./repair-files.ts";
import { headerOf, planRepair, type SqlitePlan } from "./repair-plan.ts";
import { type RowChange, repairRows } from "./repair-rows.ts";
import { findCut } from "./session-cut.ts";

/**
 * A SQLite store opened for repair, with its lock.
 * @throws StoreNotFoundError, LockedError, UnsupportedFormatError, StorageFailedError; then nothing was changed
 */
export async function repairSqlite(path: string, system: FileSystem = SYSTEM): Promise<StoreRepairer> {
  const resolved = resolveStorePath(path);
  // Before the lock, so that a foreign file gets no lock file beside it. Throws also where this process has it open.
  await (await examineSqlite(resolved))[Symbol.asyncDispose]();
  assertLocalFileSystem(resolved);
  await using resources = new AsyncDisposableStack();
  resources.use(acquireWriterLock(resolved));
  if (lookAtHeader(resolved) === "absent") throw new StoreNotFoundError(resolved);
  sweepDraft(resolved);
  assertOneName(resolved);
  assertMayWrite(resolved);
  assertNoJournal(resolved);
  sweepRepair(resolved, system);
  return new SqliteRepairer(resolved, system, resources.move());
}

/** What {@link repairSqlite} would do, without the lock. Reads only. */
export async function planSqliteRepair(path: string, options: RepairOptions = {}): Promise<RepairPlan> {
  const resolved = resolveStorePath(path);
  await (await examineSqlite(resolved))[Symbol.asyncDispose]();
  const { steps, helpless } = await planRepair(resolved, options);
  return { steps, helpless };
}

class SqliteRepairer implements StoreRepairer {
  readonly #path: string;
  readonly #system: FileSystem;
  readonly #resources: AsyncDisposableStack;
  readonly #numbers = new Map<RepairStep, readonly number[]>();

  /** Takes over `resources`, which hold the lock. */
  constructor(path: string, system: FileSystem, resources: AsyncDisposableStack) {
    this.#path = path;
    this.#system = system;
    this.#resources = resources;
  }

  async plan(options: RepairOptions = {}): Promise<RepairPlan> {
    const { steps, helpless, numbers }: SqlitePlan = await planRepair(this.#path, options);
    for (const [step, own] of numbers) this.#numbers.set(step, own);
    return { steps, helpless };
  }

  async carryOut(step: RepairStep, options: Pick<RepairOptions, "onProgress"> = {}): Promise<void> {
    const numbers = this.#numbers.get(step);
    if (numbers === undefined)
      throw new RangeError("this step is of another plan, or was carried out already");
    const isFirst = !existsSync(step.backup);
    try {
      // One backup for all steps of a plan.
      if (isFirst) makeBackup(this.#path, step.backup, this.#system);
      await this.#change(step, numbers, options);
    } catch (error) {
      if (isFirst && !(error instanceof HalfDone)) dropBackup(step.backup);
      const cause = error instanceof HalfDone ? error.cause : error;
      throw toStorageError(cause, "The repair could not be saved", { path: this.#path });
    }
    this.#numbers.delete(step);
    options.onProgress?.(1);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }

  async #change(
    step: RepairStep,
    numbers: readonly number[],
    options: Pick<RepairOptions, "onProgress">,
  ): Promise<void> {
    if (step.kind === "store") await this.#rebuild(step, options);
    else if (step.kind === "session") await this.#repairSession(step, numbers, options);
    else this.#setAside(step, numbers);
  }

  /** Everything is made of the backup; the store itself is not touched before the new one is whole. */
  async #rebuild(step: StoreRepair, { onProgress }: Pick<RepairOptions, "onProgress">): Promise<void> {
    const [path, system] = [this.#path, this.#system];
    const { reason, backup } = step;
    const quarantine = step.quarantine ?? backup.replace(/\.backup-(\d+)$/, ".quarantine-$1");
    const files = { from: backup, to: rebuiltName(path), store: path, quarantine };
    try {
      await rebuild(
        { ...files, reason, ...(onProgress === undefined ? {} : { onSession: onProgress }) },
        system,
      );
      replaceStore(path, files.to, system);
    } catch (error) {
      if (!(error instanceof HalfDone)) rmSync(quarantine, { force: true });
      throw error;
    } finally {
      sweepRepair(path, system);
    }
  }

  async #repairSession(
    step: SessionRepair,
    [number]: readonly number[],
    { onProgress }: Pick<RepairOptions, "onProgress">,
  ): Promise<void> {
    let change: RowChange | undefined;
    {
      await using examiner = new SqliteExaminer(this.#path, {});
      for (const session of examiner.list()) {
        const { stored } = session;
        if (stored.number !== number) continue;
        const owner = { path: this.#path, id: session.id, number };
        const last = examiner.lastSeq(number);
        const share = (seq: number) => onProgress?.(Math.min(1, seq / last) / 2);
        const cut = await findCut(owner, session.rows(), { onProgress: share });
        const header = headerOf(examiner, stored, cut);
        const { from, closers } = cut;
        change = { session: number, from, closers, ...(header === undefined ? {} : { header }) };
      }
    }
    if (change === undefined) throw changed(this.#path);
    const { id, reason, quarantine } = step;
    repairRows(this.#path, { id, reason, quarantine, changes: [change] }, this.#system);
  }

  #setAside({ reason, quarantine }: ForeignRepair, numbers: readonly number[]): void {
    const changes = numbers.map((session) => ({ session, from: 0, closers: [] }));
    repairRows(this.#path, { reason, quarantine, changes }, this.#system);
  }
}

/** The log of the store was written back, so that what SQLite ignored of it is in the backup alone. */
class HalfDone extends Error {}

/** Puts a new database in the place of the store, beside which no log may be left that is not its own. */
function replaceStore(path: string, name: string, system: FileSystem): void {
  try {
    foldLog(path, system);
    system.rename(name, path);
    system.syncFolder(dirname(path));
  } catch (cause) {
    // Nothing was done where another program has the database open.
    if (cause instanceof LockedError) throw cause;
    throw new HalfDone("The store could not be replaced", { cause });
  }
}

/** A journal of the other kind is played back by the next one to open the database, whatever database that is. */
function assertNoJournal(path: string): void {
  const journal = `${path}-journal`;
  if (sizeOf(journal) === 0) return;
  throw new StorageFailedError("A rollback journal lies beside the database", {
    place: { path: journal },
    hint: "Open the database once with sqlite3, which plays it back, and repair it then.",
  });
}

function changed(path: string): StorageFailedError {
  return new StorageFailedError("The store changed since the repair was planned", {
    place: { path },
    hint: "Plan the repair again.",
  });
}
