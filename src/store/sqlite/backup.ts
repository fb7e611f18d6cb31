import { accessSync, closeSync, constants, openSync, readSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { StorageFailedError } from "../errors.ts";
import { type FileOwner, type FileSystem, writeAll } from "../file-system.ts";
import { sizeOf } from "./identity.ts";
import {
  backupName,
  draftOf,
  giveName,
  isThere,
  keptFiles,
  LOG,
  privateAs,
  statOf,
  syncFile,
  taken,
} from "./repair-files.ts";

/* The copy of a database and its log, as they are, that a repair makes before it changes anything. */

const PIECE = 1024 * 1024;
/** A database that changes while it is copied is copied again. */
const MAX_COPIES = 5;

/** Which state of a store a backup holds: differs when the store was written or replaced. */
export type StoreState = string;

/**
 * Copies a database and its log as they are, and makes the copy durable. No connection of this process may be open:
 * closing the files would free its locks.
 * @throws StorageFailedError where the name is taken; the file that has it stays
 */
export function makeBackup(path: string, backup: string, system: FileSystem): StoreState {
  const draft = draftOf(backup);
  const drafts = [draft, draft + LOG];
  const named: string[] = [];
  const give = (suffix: string) => {
    giveName(draft + suffix, backup + suffix, system);
    named.push(backup + suffix);
    system.syncFolder(dirname(path));
  };
  try {
    const state = copyStore(path, draft, system);
    if (isThere(backup + LOG)) throw taken(backup + LOG);
    // The database last: where it has its name, the backup is whole. Until then the draft's name shows whose the log is.
    if (isThere(draft + LOG)) give(LOG);
    give("");
    for (const file of drafts) if (isThere(file)) system.remove(file);
    return state;
  } catch (error) {
    for (const file of [...named, ...drafts]) rmSync(file, { force: true });
    throw error;
  }
}

/** Copies it again where it changed meanwhile. */
function copyStore(path: string, draft: string, system: FileSystem): StoreState {
  const like = privateAs(path);
  for (let copies = 1; copies <= MAX_COPIES; copies += 1) {
    const before = stateOf(path);
    if (sizeOf(path + LOG) > 0) copyFile(path + LOG, draft + LOG, like, system);
    copyFile(path, draft, like, system);
    if (stateOf(path) === before) return before;
    for (const file of [draft, draft + LOG]) if (isThere(file)) system.remove(file);
  }
  throw busy(path);
}

/**
 * Makes sure that a file which was there before is a backup of the store as it is now, and durable. As for
 * {@link makeBackup} no connection may be open. @throws StorageFailedError where it is anything else
 */
export function takeBackup(path: string, backup: string, system: FileSystem): StoreState {
  const state = stateOf(path);
  if (!isSameStore(path, backup)) throw taken(backup);
  if (stateOf(path) !== state) throw busy(path);
  for (const file of [backup, backup + LOG]) if (sizeOf(file) > 0) syncFile(file, system);
  system.syncFolder(dirname(path));
  return state;
}

/** Removes a backup that was made of what was not changed after all. */
export function dropBackup(backup: string): void {
  for (const file of [backup, backup + LOG]) rmSync(file, { force: true });
}

/**
 * The last backup, if it holds what the store holds: what a repair left that was killed before it changed anything. No
 * connection of this process may be open.
 */
export function leftBackup(path: string): string | undefined {
  const last = keptFiles(path)
    .filter(({ kind, rest }) => kind === "backup" && rest === "")
    .reduce((most, { number }) => Math.max(most, number), 0);
  const name = backupName(path, last);
  return last > 0 && isSameStore(path, name) ? name : undefined;
}

function copyFile(from: string, to: string, like: FileOwner, system: FileSystem): void {
  const target = system.create(to);
  try {
    system.adopt(to, like);
    for (const piece of piecesOf(from)) writeAll(system, target, piece, to);
    system.fsync(target);
  } finally {
    system.close(target);
  }
}

/** The bytes of a file; each piece is good until the next. */
function* piecesOf(path: string): Generator<Buffer> {
  const buffer = Buffer.allocUnsafe(PIECE);
  const file = openSync(path, "r");
  try {
    for (;;) {
      const count = readSync(file, buffer);
      if (count === 0) return;
      yield buffer.subarray(0, count);
    }
  } finally {
    closeSync(file);
  }
}

/** Whether files hold what those of the store hold, and are others. */
function isSameStore(path: string, copy: string): boolean {
  return (
    isCopy(path, copy) && (sizeOf(path + LOG) === 0 ? !isThere(copy + LOG) : isCopy(path + LOG, copy + LOG))
  );
}

/** A copy that may not be written cannot be made durable, and does not count. */
function isCopy(path: string, copy: string): boolean {
  const [own, other] = [statOf(path), statOf(copy)];
  if (other?.isFile() !== true || (own?.ino === other.ino && own.dev === other.dev)) return false;
  try {
    accessSync(copy, constants.R_OK | constants.W_OK);
  } catch {
    return false; // of another user, say, or on a file system that is read-only
  }
  return isSameFile(path, copy);
}

function isSameFile(left: string, right: string): boolean {
  if (sizeOf(left) !== sizeOf(right)) return false;
  const others = piecesOf(right);
  try {
    for (const piece of piecesOf(left)) {
      const other = others.next();
      if (other.done === true || !piece.equals(other.value)) return false;
    }
    return true;
  } finally {
    others.return(undefined);
  }
}

/** Tells states of a store apart without reading it. */
export function stateOf(path: string): StoreState {
  return [path, path + LOG]
    .map((file) => statSync(file, { bigint: true, throwIfNoEntry: false }))
    .map((stat) => `${stat?.ino}.${stat?.size}.${stat?.mtimeNs}`)
    .join(" ");
}

function busy(path: string): StorageFailedError {
  return new StorageFailedError("The database changes while it is copied", {
    place: { path },
    hint: "Stop whatever writes it, and repair it then.",
  });
}
