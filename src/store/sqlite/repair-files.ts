import { closeSync, existsSync, openSync, readdirSync, readSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { StorageFailedError } from "../errors.ts";
import { type FileSystem, writeAll } from "../file-system.ts";
import { sizeOf } from "./identity.ts";

/*
 * The files that a repair makes beside a database: `<db>.backup-<n>`, with its log `<db>.backup-<n>-wal` where there is
 * one, and `<db>.quarantine-<n>`. Each is written under a name of its own first, so that one under its final name is
 * whole.
 */

const DRAFT = ".draft";
const LOG = "-wal";
const PIECE = 1024 * 1024;
/** A database that changes while it is copied is copied again. */
const MAX_COPIES = 5;

/**
 * The number for the files of a repair: above all that there are. But where the last backup is the same as the store, it
 * is what a killed repair left, which changed nothing: then its files are used, or written again.
 */
export function nextNumber(path: string): number {
  const files = keptFiles(path);
  const backups = files
    .filter(({ kind, rest }) => kind === "backup" && rest === "")
    .map(({ number }) => number);
  const last = Math.max(0, ...backups);
  if (last > 0 && isSameStore(path, backupName(path, last))) return last;
  return Math.max(0, ...files.map(({ number }) => number)) + 1;
}

export function backupName(path: string, number: number): string {
  return `${path}.backup-${number}`;
}

export function quarantineName(path: string, number: number): string {
  return `${path}.quarantine-${number}`;
}

interface KeptFile {
  readonly path: string;
  readonly kind: string;
  readonly number: number;
  /** What follows the number. */
  readonly rest: string;
}

function keptFiles(path: string): KeptFile[] {
  const folder = dirname(path);
  const prefix = basename(path);
  return readdirSync(folder).flatMap((name) => {
    if (!name.startsWith(prefix)) return [];
    const match = /^\.(backup|quarantine)-(\d+)(.*)$/.exec(name.slice(prefix.length));
    const [, kind, number, rest] = match ?? [];
    if (kind === undefined || number === undefined || rest === undefined) return [];
    return [{ path: join(folder, name), kind, number: Number(number), rest }];
  });
}

/** Removes what a repair that was killed left unfinished. The caller holds the lock. */
export function sweepRepair(path: string, system: FileSystem): void {
  for (const { path: file, kind, rest } of keptFiles(path)) {
    const isHalf = rest === DRAFT || rest === DRAFT + LOG;
    const isLogAlone = kind === "backup" && rest === LOG && !existsSync(file.slice(0, -LOG.length));
    if (isHalf || isLogAlone) system.remove(file);
  }
  for (const suffix of ["", "-wal", "-shm", "-journal"]) {
    for (const draft of [rebuiltName(path), foldedName(path)]) rmSync(draft + suffix, { force: true });
  }
}

/** Name of the database that is built anew until it takes the place of the old one. */
export function rebuiltName(path: string): string {
  return `${path}.rebuilding`;
}

/** Name of the old database with its log written back. */
export function foldedName(path: string): string {
  return `${path}.folding`;
}

/**
 * Copies a database and its log as they are, and makes the copy durable. No connection of this process may be open:
 * closing the files would free its locks.
 */
export function makeBackup(path: string, backup: string, system: FileSystem): void {
  const draft = backup + DRAFT;
  try {
    for (let copies = 1; ; copies += 1) {
      const before = stateOf(path);
      if (sizeOf(path + LOG) > 0) copyFile(path + LOG, draft + LOG, system);
      copyFile(path, draft, system);
      if (stateOf(path) === before) break;
      for (const file of [draft, draft + LOG]) if (existsSync(file)) system.remove(file);
      if (copies === MAX_COPIES) throw busy(path);
    }
    // The database last: where it has its name, the backup is whole.
    if (existsSync(draft + LOG)) {
      system.rename(draft + LOG, backup + LOG);
      system.syncFolder(dirname(path));
    }
    system.rename(draft, backup);
    system.syncFolder(dirname(path));
  } catch (error) {
    for (const file of [draft, draft + LOG]) rmSync(file, { force: true });
    throw error;
  }
}

/** Removes a backup of what was not changed after all. */
export function dropBackup(backup: string): void {
  for (const file of [backup, backup + LOG]) rmSync(file, { force: true });
}

/** Gives a quarantine file its name, and makes that durable. */
export function keepQuarantine(name: string, system: FileSystem): void {
  system.rename(draftOf(name), name);
  system.syncFolder(dirname(name));
}

export function draftOf(name: string): string {
  return name + DRAFT;
}

/** Syncs a file that something else has written. */
export function syncFile(path: string, system: FileSystem): void {
  const file = system.open(path);
  try {
    system.fsync(file);
  } finally {
    system.close(file);
  }
}

function copyFile(from: string, to: string, system: FileSystem): void {
  const target = system.create(to);
  try {
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

function isSameStore(path: string, copy: string): boolean {
  if (sizeOf(path + LOG) !== sizeOf(copy + LOG)) return false;
  return isSameFile(path, copy) && (sizeOf(path + LOG) === 0 || isSameFile(path + LOG, copy + LOG));
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

function stateOf(path: string): string {
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
