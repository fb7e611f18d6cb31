import { lstatSync, readdirSync, rmSync, type Stats, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { errorCode, StorageFailedError } from "../errors.ts";
import type { FileOwner, FileSystem } from "../file-system.ts";

/*
 * The files that a repair makes beside a database: `<db>.backup-<n>`, with its log `<db>.backup-<n>-wal` where there is
 * one, and `<db>.quarantine-<n>`. Each is written under a name of its own first, so that one under its final name is
 * whole; and that name is given to it only where no other file has it. Files of other names are somebody else's.
 */

/** What shows that a file is a draft of ours, and that whoever holds the lock may remove it. */
const DRAFT = ".holdfast-draft";
/** What follows the name of a database in that of its log. */
export const LOG = "-wal";
/** Numbers of ours have few digits: one with many is a date that somebody chose. */
const KEPT = /^\.(backup|quarantine)-([1-9]\d{0,5})(?!\d)(.*)$/s;
/** What file systems say that have no second names. */
const NO_LINKS = new Set(["EPERM", "EOPNOTSUPP", "ENOTSUP", "ENOSYS", "EMLINK", "EXDEV", "EACCES"]);

/** The number for the files of a repair, above all that there are: none of its names is taken. */
export function nextNumber(path: string): number {
  let number = keptFiles(path).reduce((most, file) => Math.max(most, file.number), 0) + 1;
  // Behind the highest number that is counted there may be one that is not.
  while (isTaken(path, number)) number += 1;
  return number;
}

function isTaken(path: string, number: number): boolean {
  const backup = backupName(path, number);
  return [backup, backup + LOG, quarantineName(path, number)].some(isThere);
}

export function backupName(path: string, number: number): string {
  return `${path}.backup-${number}`;
}

export function quarantineName(path: string, number: number): string {
  return `${path}.quarantine-${number}`;
}

/** A file whose name is one that a repair makes, or begins with one. */
interface KeptFile {
  readonly path: string;
  readonly kind: string;
  readonly number: number;
  /** What follows the number. */
  readonly rest: string;
}

/** Those beside a store. */
export function keptFiles(path: string): KeptFile[] {
  const folder = dirname(path);
  const prefix = basename(path);
  return readdirSync(folder).flatMap((name) => {
    if (!name.startsWith(prefix)) return [];
    const match = KEPT.exec(name.slice(prefix.length));
    const [, kind, number, rest] = match ?? [];
    if (kind === undefined || number === undefined || rest === undefined) return [];
    return [{ path: join(folder, name), kind, number: Number(number), rest }];
  });
}

/** Removes what a repair that was killed left unfinished, and nothing else. The caller holds the lock. */
export function sweepRepair(path: string, system: FileSystem): void {
  for (const { path: file, kind, rest } of keptFiles(path)) {
    const isLog = kind === "backup" && rest === DRAFT + LOG;
    if (isLog) sweepLogAlone(file, system);
    if ((isLog || rest === DRAFT) && statOf(file)?.isFile() === true) system.remove(file);
  }
  sweepDatabases(path);
}

/** The log of a backup that did not come to be: it is ours if it is the same file as the draft of it. */
function sweepLogAlone(draft: string, system: FileSystem): void {
  const backup = draft.slice(0, -(DRAFT + LOG).length);
  const [own, log] = [statOf(draft), statOf(backup + LOG)];
  const isOurs = own?.isFile() === true && own.ino === log?.ino && own.dev === log.dev;
  if (isOurs && !isThere(backup)) system.remove(backup + LOG);
}

/** Removes databases that are not finished. */
export function sweepDatabases(path: string): void {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) {
    for (const draft of [rebuiltName(path), foldedName(path)]) {
      if (statOf(draft + suffix)?.isFile() === true) rmSync(draft + suffix);
    }
  }
}

/** Name of the database that is built anew until it takes the place of the old one. */
export function rebuiltName(path: string): string {
  return `${path}.holdfast-rebuilding`;
}

/** Name of the old database with its log written back. */
export function foldedName(path: string): string {
  return `${path}.holdfast-folding`;
}

/** Gives a quarantine file its name, and makes that durable. @throws StorageFailedError where the name is taken */
export function keepQuarantine(name: string, system: FileSystem): void {
  const draft = draftOf(name);
  giveName(draft, name, system);
  try {
    if (isThere(draft)) system.remove(draft);
    system.syncFolder(dirname(name));
  } catch (error) {
    rmSync(name, { force: true });
    throw error;
  }
}

/** Gives a file a name that no other file has; its old one stays, where file systems have second names. */
export function giveName(file: string, name: string, system: FileSystem): void {
  try {
    system.link(file, name);
  } catch (error) {
    const code = errorCode(error);
    if (code === "EEXIST" || isThere(name)) throw taken(name);
    if (code === undefined || !NO_LINKS.has(code)) throw error;
    system.rename(file, name);
  }
}

/** Whose the files are that lie beside a store: its owner's, and for nobody else. */
export function privateAs(path: string): FileOwner {
  const { uid, gid } = statSync(path);
  return { uid, gid, mode: 0o600 };
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

/** What has a name, without following a link. */
export function statOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

/** Whether anything has this name, also a link that leads nowhere. */
export function isThere(path: string): boolean {
  return statOf(path) !== undefined;
}

export function taken(path: string): StorageFailedError {
  return new StorageFailedError("Another file has a name that the repair needs", {
    place: { path },
    hint: "It was left as it is. Repair the store again, and another name is chosen.",
  });
}
