import { Database } from "bun:sqlite";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { z } from "zod";
import { errorCode, LockedError, type LockHolder, StorageFailedError, toStorageError } from "./errors.ts";
import { adoptFile } from "./file-system.ts";
import beginExclusive from "./sql/begin-exclusive.sql" with { type: "text" };
import probeLock from "./sql/probe-lock.sql" with { type: "text" };
import setJournalModeMemory from "./sql/set-journal-mode-memory.sql" with { type: "text" };
import setLockTimeout from "./sql/set-lock-timeout.sql" with { type: "text" };

/*
 * One writer a store. The lock is an exclusive SQLite transaction on a small file beside the store: an operating-system
 * lock that other processes see and that dies with its process, however it dies. Who holds it is written in a second
 * file for people; that file is never what decides (a reused pid cannot look alive).
 */

const lockHolderSchema = z.object({
  pid: z.number().int(),
  startedAt: z.string(),
  passing: z.literal(true).optional(),
});

/** One that gives the lock back at once is waited for, so many times as long as for any other: about a second. */
const PASSING_WAITS = 35;

/**
 * Locks held by this process. POSIX locks are per process, so a second one of ours would not be refused by the system.
 * Keeps the connections alive: one that was garbage-collected would have lost its lock.
 */
const held = new Map<string, { readonly holder: LockHolder; readonly database: Database }>();

/** A lock that is held until disposed. */
export interface WriterLock extends Disposable {
  readonly holder: LockHolder;
}

/** This process, as other processes shall see it. */
export function thisProcess(now = Date.now()): LockHolder {
  return { pid: process.pid, startedAt: new Date(now - process.uptime() * 1000).toISOString() };
}

/** This process, where it holds a lock for some tens of milliseconds only. Who wants the lock meanwhile waits for it. */
export function passingHolder(): LockHolder {
  return Object.assign(thisProcess(), { passing: true });
}

/** Whether this process holds the lock of the store at `path`. */
export function isHeldHere(path: string): boolean {
  return held.has(path);
}

/**
 * Takes the lock of the store at `path`, which must be resolved (one spelling, no symlinks): `<files>.lock` is the lock,
 * `<files>.owner` tells people who holds it. Waits some tens of milliseconds at most: for a probe to pass, and so that of
 * several that come at once one gets it.
 * @param files where they lie: beside the store by default
 * @throws LockedError naming the holder; StorageFailedError when the files cannot be made.
 */
export function acquireWriterLock(
  path: string,
  holder: LockHolder = thisProcess(),
  files = path,
): WriterLock {
  const mine = held.get(path);
  if (mine !== undefined) throw new LockedError(path, mine.holder);
  const lockPath = `${files}.lock`;
  const ownerPath = `${files}.owner`;
  let database: Database | undefined;
  try {
    // SQLite would make the file readable for everyone, and wait for ever at a pipe.
    const file = openRegular(lockPath);
    giveToOwnerOf(path, file);
    closeSync(file);
    database = new Database(lockPath, { readwrite: true, create: true });
    database.run(setLockTimeout);
    begin(database, ownerPath);
    writeOwner(ownerPath, holder);
  } catch (error) {
    database?.close();
    if (errorCode(error)?.startsWith("SQLITE_BUSY") === true)
      throw new LockedError(path, readOwner(ownerPath));
    throw toStorageError(error, "The store could not be locked", { path: lockPath });
  }
  const lock = { holder, database };
  held.set(path, lock);
  return {
    holder,
    [Symbol.dispose]: () => {
      if (held.get(path) !== lock) return;
      try {
        rmSync(ownerPath, { force: true });
      } catch {
        // For people only; the next owner writes over it.
      }
      held.delete(path);
      lock.database.close();
    },
  };
}

/** @throws SQLiteError where another process holds the lock, and goes on holding it */
function begin(database: Database, ownerPath: string): void {
  for (let waits = 1; ; waits += 1) {
    try {
      // Reads the file, and so waits as well.
      database.run(setJournalModeMemory);
      database.run(beginExclusive);
      return;
    } catch (error) {
      const isPassing = waits < PASSING_WAITS && readOwner(ownerPath)?.passing === true;
      if (!isPassing || errorCode(error)?.startsWith("SQLITE_BUSY") !== true) throw error;
    }
  }
}

/** Whether a store is held, as far as another process can tell. */
export type LockProbe =
  | { readonly state: "free" }
  /** `holder` is missing where nobody wrote down who it is. */
  | { readonly state: "held"; readonly holder?: LockHolder }
  | { readonly state: "unknown"; readonly reason: string };

/**
 * Looks whether somebody holds the lock of the store at `path`, which must be resolved. Takes nothing, makes nothing, and
 * keeps nobody from taking it: a lock that is asked for meanwhile waits for the moment that this takes.
 * @param files where they lie, as for {@link acquireWriterLock}
 */
export function probeWriterLock(path: string, files = path): LockProbe {
  const mine = held.get(path);
  // Closing any descriptor of the file would free this process's own lock.
  if (mine !== undefined) return { state: "held", holder: mine.holder };
  const lockPath = `${files}.lock`;
  try {
    const stat = lstatSync(lockPath, { throwIfNoEntry: false });
    if (stat === undefined) return { state: "free" };
    if (!stat.isFile()) return { state: "unknown", reason: "The lock file is not a regular file" };
    using database = new Database(lockPath, { readonly: true });
    using statement = database.prepare(probeLock);
    statement.get();
    return { state: "free" };
  } catch (error) {
    const code = errorCode(error);
    if (code?.startsWith("SQLITE_BUSY") === true) return heldBy(readOwner(`${files}.owner`));
    if (code === "ENOTDIR") return { state: "free" };
    const { message } = toStorageError(error, "The lock file cannot be read", { path: lockPath });
    return { state: "unknown", reason: message };
  }
}

function heldBy(holder: LockHolder | undefined): LockProbe {
  return { state: "held", ...(holder === undefined ? {} : { holder }) };
}

type Owner = z.infer<typeof lockHolderSchema>;

function openRegular(path: string): number {
  const { O_RDWR, O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  const file = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new StorageFailedError("The lock file is not a regular file", {
    place: { path },
    hint: "Move it away, or name another path for the store.",
  });
}

/** Whoever locks a store for its owner, as root may, must not keep the owner from locking it next. */
function giveToOwnerOf(path: string, file: number): void {
  try {
    const store = statSync(path, { throwIfNoEntry: false });
    if (store !== undefined && store.uid !== fstatSync(file).uid) adoptFile(file, { ...store, mode: 0o600 });
  } catch {
    // The lock can be taken all the same.
  }
}

/** For people only, so that a full disk does not keep a store from being opened: then nobody is named. */
function writeOwner(path: string, holder: LockHolder): void {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW = 0 } = constants;
  try {
    const file = openSync(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
    try {
      writeSync(file, `${JSON.stringify(holder)}\n`);
    } finally {
      closeSync(file);
    }
  } catch {
    // The lock is held all the same.
  }
}

/** Who holds the lock, as far as it is known: the holder may be between taking it and writing this. */
function readOwner(path: string): Owner | undefined {
  try {
    const holder = lockHolderSchema.safeParse(JSON.parse(readFileSync(path, "utf8"))).data;
    return holder !== undefined && isAlive(holder.pid) ? holder : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a process of this pid is there. One that is not cannot be the holder: it left its file when it was killed. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
}
