import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { errorCode, StorageFailedError } from "./errors.ts";

/**
 * The file operations that durability rests on: all that a store writes with its own hands goes through them, and
 * nothing else does. A parameter, so that each can be made to fail, and so that a run can be recorded and replayed to
 * what a power cut would leave. What is disposable (indexes, locks) stays outside, and so do SQLite's own files.
 *
 * Each throws the system's error.
 */
export interface FileSystem {
  /** Makes a file that must not be there, for appending, readable by its user alone; returns its descriptor. */
  readonly create: (path: string) => number;
  /** Opens a file that must be there for appending; returns its descriptor. */
  readonly open: (path: string) => number;
  /** Writes at the end; returns how many bytes were taken. */
  readonly write: (file: number, bytes: Uint8Array) => number;
  readonly fdatasync: (file: number) => void;
  readonly fsync: (file: number) => void;
  readonly truncate: (file: number, size: number) => void;
  readonly close: (file: number) => void;
  /** Gives a file a second name. Never overwrites. */
  readonly link: (file: string, name: string) => void;
  /** Gives a file another name, in place of whatever file has that name. */
  readonly rename: (from: string, to: string) => void;
  readonly remove: (path: string) => void;
  /**
   * Gives a file the owner, the group and the permission bits of another, as far as the system lets this user do so.
   * Where the group stays another one, it gets no permissions. One with a second name stays as it is; a link is an error.
   */
  readonly adopt: (path: string, like: FileOwner) => void;
  /** Makes one folder, private to the user; its parent must be there. */
  readonly makeFolder: (path: string) => void;
  /** Removes one empty folder. */
  readonly removeFolder: (path: string) => void;
  /** Makes the names in a folder durable. */
  readonly syncFolder: (path: string) => void;
}

/** Whose a file is, and what others may do with it: the members of a stat. */
export interface FileOwner {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

const { O_RDONLY, O_WRONLY, O_APPEND, O_CREAT, O_EXCL } = constants;
/** Windows has no such flag, and no such links. */
const NO_LINK = constants.O_NOFOLLOW ?? 0;
const PERMISSIONS = 0o777;
const GROUP_PERMISSIONS = 0o070;
/** What is said to who may not give a file away, and in a container that does not know the owner. */
const REFUSALS = new Set(["EPERM", "EINVAL"]);

export const SYSTEM: FileSystem = {
  create: (path) => openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL, 0o600),
  open: (path) => openSync(path, O_WRONLY | O_APPEND),
  write: (file, bytes) => writeSync(file, bytes),
  fdatasync: fdatasyncSync,
  fsync: fsyncSync,
  truncate: ftruncateSync,
  close: closeSync,
  link: linkSync,
  rename: renameSync,
  remove: unlinkSync,
  adopt,
  makeFolder: (path) => mkdirSync(path, { mode: 0o700 }),
  removeFolder: rmdirSync,
  syncFolder,
};

/** Writes all bytes. A nearly full disk takes a part of them, and says so only by the count. */
export function writeAll(system: FileSystem, file: number, bytes: Uint8Array, path: string): void {
  for (let done = 0; done < bytes.length; ) {
    const count = system.write(file, done === 0 ? bytes : bytes.subarray(done));
    if (count <= 0) throw new StorageFailedError("The disk took no more bytes", { place: { path } });
    done += count;
  }
}

/** Closes a file. Where that fails it is closed all the same, and what counts in it was synced before. */
export function closeFile(system: FileSystem, file: number): void {
  try {
    system.close(file);
  } catch {
    // Nothing hangs on it.
  }
}

function adopt(path: string, like: FileOwner): void {
  // By descriptor, and through no link: root must not give away what somebody else put in the place of the file.
  const file = openSync(path, O_RDONLY | NO_LINK);
  try {
    adoptFile(file, like);
  } finally {
    closeSync(file);
  }
}

/** Does to an open file what {@link FileSystem.adopt} does. One with a second name stays as it is: it may be another's. */
export function adoptFile(file: number, { uid, gid, mode }: FileOwner): void {
  const own = fstatSync(file);
  if (own.nlink > 1) return;
  const isOfGroup = own.gid === gid || isPermitted(() => fchownSync(file, own.uid, gid));
  const bits = mode & (isOfGroup ? PERMISSIONS : PERMISSIONS & ~GROUP_PERMISSIONS);
  if ((own.mode & PERMISSIONS) !== bits) fchmodSync(file, bits);
  if (own.uid !== uid) isPermitted(() => fchownSync(file, uid, isOfGroup ? gid : own.gid));
}

function isPermitted(change: () => void): boolean {
  try {
    change();
    return true;
  } catch (error) {
    if (REFUSALS.has(errorCode(error) ?? "")) return false;
    throw error;
  }
}

function syncFolder(path: string): void {
  // Windows has no folder handles to sync; its file systems journal names themselves.
  if (process.platform === "win32") return;
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
