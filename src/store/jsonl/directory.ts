import { type Dirent, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  errorCode,
  HoldfastError,
  StorageFailedError,
  toStorageError,
  UnsupportedFormatError,
} from "../errors.ts";
import { type Encoding, encodeId, flatLog, roleOf } from "./layout.ts";
import type { LogLocation } from "./log-file.ts";

/** A log file below a root, or a file of a later format in its place. */
export interface LogEntry extends LogLocation {
  /** Project, name in the project, and name in the session's folder, `""` for a log without one. */
  readonly key: LogKey;
  /** The session's id, as its folder's name encodes it. */
  readonly encodedId: string;
  /** Whether the same folder holds another log of version 0. */
  readonly hasSibling: boolean;
  /** Set for a folder that this user may not look into: what lies in it is unknown. */
  readonly isClosed?: boolean;
  /** Set for a file of a later format version, which is listed and never touched. */
  readonly version?: number;
}

/** Listings are sorted by it, part by part. */
export type LogKey = readonly [project: string, name: string, file: string];

const NOTHING_THERE = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

/** Names of the project folders, sorted. Nothing where there is no root. */
export function projectsOf(root: string): string[] {
  try {
    return foldersOf(readdirSync(root, { withFileTypes: true }));
  } catch (error) {
    // An empty list for a root that may not be read would look like lost data.
    if (errorCode(error) === "ENOENT") return [];
    throw toStorageError(error, "The session root could not be read", { path: root });
  }
}

/** All logs below a project's folder in the order of their keys, from after `after` on. */
export function* logsOf(root: string, project: string, after?: LogKey): Generator<LogEntry> {
  const [name = "", file = ""] = after?.[0] === project ? after.slice(1) : [];
  const entries = lookInto(join(root, project));
  if (entries === "closed") {
    if (after?.[0] !== project) yield closedFolder(root, [project, "", ""]);
    return;
  }
  for (const entry of entries.sort((a, b) => compare(a.name, b.name))) {
    if (entry.name < name) continue;
    for (const log of logsAt(root, project, entry)) {
      if (after === undefined || entry.name > name || log.key[2] > file) yield log;
    }
  }
}

function logsAt(root: string, project: string, entry: Dirent): readonly LogEntry[] {
  if (!isFolder(entry)) {
    const flat = flatEntry(root, project, entry.name);
    return flat === undefined ? [] : [flat];
  }
  const isClosed = lookInto(join(root, project, entry.name)) === "closed";
  return isClosed ? [closedFolder(root, [project, entry.name, ""])] : logsIn(root, project, entry.name);
}

function closedFolder(root: string, key: LogKey): LogEntry {
  const [project, name] = key;
  const encodedId = name === "" ? project : name;
  return {
    key,
    path: join(root, project, name),
    encodedId,
    encoding: "none",
    hasSibling: false,
    isClosed: true,
  };
}

/** The logs of one session's folder in the order of their keys. */
function logsIn(root: string, project: string, folder: string): LogEntry[] {
  const names = entriesOf(join(root, project, folder)).map(({ name }) => name);
  const hasSibling = names.filter((name) => roleOf(name).kind === "log").length > 1;
  const entries: LogEntry[] = [];
  for (const name of names.sort(compare)) {
    const role = roleOf(name);
    const entry = {
      key: [project, folder, name] as const,
      path: join(root, project, folder, name),
      encodedId: folder,
      hasSibling,
    };
    if (role.kind === "log") entries.push({ ...entry, encoding: role.encoding });
    if (role.kind === "generation") entries.push({ ...entry, encoding: "none", version: role.version });
  }
  return entries;
}

function flatEntry(root: string, project: string, name: string): LogEntry | undefined {
  const flat = flatLog(name);
  return flat === undefined
    ? undefined
    : { key: [project, name, ""], path: join(root, project, name), hasSibling: false, ...flat };
}

/** Every log file of a session, in whatever project it lies. */
export function findLogs(root: string, id: string): LogEntry[] {
  const encodedId = encodeId(id);
  const found: LogEntry[] = [];
  let unknown: unknown;
  for (const project of projectsOf(root)) {
    try {
      found.push(...logsOfId(root, project, encodedId));
    } catch (error) {
      unknown ??= error;
    }
  }
  // What lies in a folder that may not be looked into matters only when the session is nowhere else.
  if (found.length === 0 && unknown !== undefined) throw unknown;
  return found;
}

function logsOfId(root: string, project: string, encodedId: string): LogEntry[] {
  const found = exists(join(root, project, encodedId)) ? logsIn(root, project, encodedId) : [];
  for (const name of [`${encodedId}.jsonl`, `${encodedId}.jsonl.zstd`]) {
    // A folder of this name belongs to another id.
    const path = join(root, project, name);
    const flat = exists(path) && !isDirectory(path) ? flatEntry(root, project, name) : undefined;
    if (flat !== undefined) found.push(flat);
  }
  return found;
}

/**
 * The one log of a session, or nothing where there is none.
 * @throws StorageFailedError when several files claim the id; UnsupportedFormatError when only later formats have it
 */
export function findLog(root: string, id: string): LogEntry | undefined {
  const all = findLogs(root, id);
  const [log, ...others] = all.filter(({ version }) => version === undefined);
  if (others.length > 0 && log !== undefined) throw duplicate(id, [log, ...others]);
  const [newer] = all;
  if (log === undefined && newer?.version !== undefined) throw newerGeneration(id, newer.path, newer.version);
  return log;
}

export function newerGeneration(sessionId: string, path: string, version: number): UnsupportedFormatError {
  return new UnsupportedFormatError(
    `The session has format version ${version}; this program reads version 0`,
    { place: { path, sessionId }, hint: "Use a newer program for it. The file was left as it is." },
  );
}

export function describeDuplicate(paths: readonly string[]): string {
  return `Several files hold a session of this id: ${paths.join(", ")}`;
}

function duplicate(sessionId: string, logs: readonly LogEntry[]): StorageFailedError {
  return new StorageFailedError(describeDuplicate(logs.map(({ path }) => path)), {
    place: { sessionId },
    hint: "Move all but one of them out of the root.",
  });
}

/** The encoded ids that more than one project, or more than one place in a project, has a log for by its name. */
export function idsInSeveralPlaces(root: string, projects: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const again = new Set<string>();
  for (const project of projects) {
    for (const { name } of entriesIfAny(join(root, project))) {
      const encodedId = flatLog(name)?.encodedId ?? name;
      if (seen.has(encodedId)) again.add(encodedId);
      seen.add(encodedId);
    }
  }
  return again;
}

/** The encoding of the logs that are there, so that a root keeps to one; nothing where there are none. */
export function encodingOf(root: string): Encoding | undefined {
  for (const project of projectsOf(root)) {
    for (const { version, isClosed, encoding } of logsOf(root, project)) {
      if (version === undefined && isClosed === undefined) return encoding;
    }
  }
  return undefined;
}

/** Drafts of logs that were never published, also of those that lie in their project's folder. */
export function draftsIn(root: string): string[] {
  return projectsOf(root).flatMap((project) => {
    const entries = entriesIfAny(join(root, project));
    const folders = foldersOf(entries).map((folder) => entriesIfAny(join(root, project, folder)));
    return [entries, ...folders]
      .flat()
      .filter(isDraft)
      .map(({ parentPath, name }) => join(parentPath, name));
  });
}

function isDraft(entry: Dirent): boolean {
  return roleOf(entry.name).kind === "draft" && !entry.isDirectory();
}

function foldersOf(entries: readonly Dirent[]): string[] {
  return entries
    .filter(isFolder)
    .map(({ name }) => name)
    .sort(compare);
}

/** A link to a folder counts as one. */
function isFolder(entry: Dirent): boolean {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  return isDirectory(join(entry.parentPath, entry.name));
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false; // a link to itself, or to where this user may not look
  }
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    const code = errorCode(error);
    // Deleted meanwhile, a stray file, or a link to itself.
    if (code !== undefined && NOTHING_THERE.has(code)) return [];
    throw toStorageError(error, "A folder of the store could not be read", { path: folder });
  }
}

/** What is in a folder, or that this user may not look into it. */
function lookInto(folder: string): Dirent[] | "closed" {
  try {
    return entriesOf(folder);
  } catch (error) {
    if (error instanceof HoldfastError) return "closed";
    throw error;
  }
}

function entriesIfAny(folder: string): Dirent[] {
  const entries = lookInto(folder);
  return entries === "closed" ? [] : entries;
}

function exists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    const code = errorCode(error);
    // No file name is that long, and a project may be a file.
    if (code === "ENAMETOOLONG" || (code !== undefined && NOTHING_THERE.has(code))) return false;
    throw toStorageError(error, "A folder of the store could not be read", { path });
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
