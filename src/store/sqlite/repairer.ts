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
import { dropBackup, leftBackup, makeBackup, type StoreState, stateOf, takeBackup } from "./backup.ts";
import { sweepDraft } from "./create.ts";
import { examineSqlite } from "./examine.ts";
import { foldLog } from "./fold-log.ts";
import { assertLocalFileSystem, assertMayWrite, assertOneName, sizeOf } from "./identity.ts";
import { rebuild } from "./rebuild.ts";
import { isThere, rebuiltName, sweepDatabases, sweepRepair } from "./repair-files.ts";
import { planRepair } from "./repair-plan.ts";
import { repairRows } from "./repair-rows.ts";
import { changeOf } from "./session-change.ts";

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
  if (!existsSync(resolved)) throw new StoreNotFoundError(resolved);
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
  const { tasks, helpless } = await planTasks(resolved, options);
  return { steps: tasks.map(({ step }) => step), helpless };
}

/** A step, and what it takes to carry it out. */
interface Task {
  readonly step: RepairStep;
  /** Numbers of the sessions that it is about. */
  readonly numbers: readonly number[];
  /** The name for what is set aside, should anything be. */
  readonly quarantine: string;
}

/** A plan with the backup that a killed repair left, where there is one. */
async function planTasks(path: string, options: RepairOptions) {
  const { steps, helpless, numbers } = await planRepair(path, options);
  const left = steps.length === 0 ? undefined : leftBackup(path);
  const tasks = steps.map((step): Task => {
    const { backup, quarantine = backup.replace(/\.backup-(\d+)$/, ".quarantine-$1") } = step;
    return { step: { ...step, backup: left ?? backup }, numbers: numbers.get(step) ?? [], quarantine };
  });
  return { tasks, helpless };
}

class SqliteRepairer implements StoreRepairer {
  readonly #path: string;
  readonly #system: FileSystem;
  readonly #resources: AsyncDisposableStack;
  readonly #tasks = new Map<RepairStep, Task>();
  /** Backups that were made or compared here, and have been what a step could be undone with since. */
  readonly #backups = new Set<string>();
  /** Of the store, when the last of them was. */
  #state: StoreState | undefined;

  /** Takes over `resources`, which hold the lock. */
  constructor(path: string, system: FileSystem, resources: AsyncDisposableStack) {
    this.#path = path;
    this.#system = system;
    this.#resources = resources;
  }

  async plan(options: RepairOptions = {}): Promise<RepairPlan> {
    const { tasks, helpless } = await planTasks(this.#path, options);
    for (const task of tasks) this.#tasks.set(task.step, task);
    return { steps: tasks.map(({ step }) => step), helpless };
  }

  async carryOut(step: RepairStep, options: Pick<RepairOptions, "onProgress"> = {}): Promise<void> {
    const task = this.#tasks.get(step);
    if (task === undefined) throw new RangeError("this step is of another plan, or was carried out already");
    const { backup } = step;
    let isMade = false;
    try {
      // One backup for all steps of a plan. A database is built anew of one that is the store as it is at this moment.
      if (step.kind === "store") {
        isMade = this.#backUp(backup);
        await this.#rebuild(step, task.quarantine, options);
      } else {
        if (!this.#backups.has(backup) || !isThere(backup)) isMade = this.#backUp(backup);
        if (step.kind === "session") await this.#repairSession(step, task.numbers, options);
        else this.#setAside(step, task.numbers);
      }
    } catch (error) {
      if (isMade && !(error instanceof HalfDone)) {
        this.#backups.delete(backup);
        dropBackup(backup);
      }
      const cause = error instanceof HalfDone ? error.cause : error;
      throw toStorageError(cause, "The repair could not be saved", { path: this.#path });
    }
    this.#tasks.delete(step);
    options.onProgress?.(1);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }

  /** Makes sure that a backup of the store as it is now is there, and says whether it was made just now. */
  #backUp(backup: string): boolean {
    const isMade = !isThere(backup);
    const back = isMade ? makeBackup : takeBackup;
    this.#state = back(this.#path, backup, this.#system);
    this.#backups.add(backup);
    return isMade;
  }

  /** Everything is made of the backup; the store itself is not touched before the new one is whole. */
  async #rebuild(
    { reason, backup }: StoreRepair,
    quarantine: string,
    { onProgress }: Pick<RepairOptions, "onProgress">,
  ): Promise<void> {
    const [path, system] = [this.#path, this.#system];
    const to = rebuiltName(path);
    const plan = { from: backup, to, store: path, reason, quarantine };
    try {
      const isSetAside = await rebuild(
        { ...plan, ...(onProgress === undefined ? {} : { onSession: onProgress }) },
        system,
      );
      try {
        // What was written since is in the backup no more than in the new database.
        if (stateOf(path) !== this.#state) throw changed(path);
        replaceStore(path, to, system);
      } catch (error) {
        if (isSetAside && !(error instanceof HalfDone)) rmSync(quarantine, { force: true });
        throw error;
      }
    } finally {
      sweepDatabases(path);
    }
  }

  async #repairSession(
    step: SessionRepair,
    [number]: readonly number[],
    { onProgress }: Pick<RepairOptions, "onProgress">,
  ): Promise<void> {
    const share = (part: number) => onProgress?.(part / 2);
    const change = number === undefined ? undefined : await changeOf(this.#path, number, share);
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
