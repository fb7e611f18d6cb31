import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isDatabaseFile, looksLikeDatabase } from "../database-file.ts";
import { StorageFailedError, StoreNotFoundError, toStorageError } from "../errors.ts";
import { resolveStorePath } from "../paths.ts";
import { logsOf, projectsOf } from "./directory.ts";
import { flatLog, isProjectFolderName, lockFiles, roleOf } from "./layout.ts";

/** So many folders are named where some could be meant, and so many entries are looked at for them. */
const MOST_NAMED = 3;
const MOST_LOOKED_AT = 200;
/** Where dsh keeps its session logs in its home. */
const IN_HOME = "sessions";

/** Whether a folder is there; false where nothing is. @throws StorageFailedError when it is something else */
export function isFolder(root: string): boolean {
  let found: boolean | undefined;
  try {
    found = statSync(root, { throwIfNoEntry: false })?.isDirectory();
  } catch (error) {
    throw toStorageError(error, "The session root cannot be used", { path: root });
  }
  if (found !== false) return found === true;
  throw new StorageFailedError("The path of the session root is a file", {
    place: { path: root },
    hint: "Name a folder. A database file is named with --session-db.",
  });
}

/**
 * The one spelling of a root that is there.
 * @throws StoreNotFoundError, also for a folder inside of a root; StorageFailedError
 */
function existingRoot(path: string): string {
  const root = resolveStorePath(path);
  if (!isFolder(root)) throw new StoreNotFoundError(root);
  if (wasRoot(root)) return root;
  if (isProject(root)) {
    throw new StoreNotFoundError(
      root,
      "The folder is that of one project, not the root of session logs",
      `Name its parent: ${dirname(root)}`,
    );
  }
  if (isSession(root)) {
    throw new StoreNotFoundError(
      root,
      "The folder is that of one session, not the root of session logs",
      `Name the root, two folders up: ${dirname(dirname(root))}`,
    );
  }
  return root;
}

/**
 * The same of a root that something is expected in: a log, or at least the lock file of a Host that used it. Of any
 * other folder it would be said that nothing is wrong with it.
 * @throws StoreNotFoundError, StorageFailedError
 */
export function usedRoot(path: string): string {
  const root = existingRoot(path);
  if (wasRoot(root) || hasLog(root)) return root;
  throw new StoreNotFoundError(
    root,
    "There is no session log in the folder, nor did a Host ever use it",
    storesIn(root) ?? "Check the path. A root of session logs holds a folder for each project.",
  );
}

/** Names some of the stores in a folder that is none itself, as a hint does; nothing where there is none. */
function storesIn(folder: string): string | undefined {
  const roots = rootsIn(folder);
  if (roots.length > 0) return `There are session logs below folders in it. Name one: ${someOf(roots)}`;
  const databases = databasesIn(folder);
  if (databases.length === 0) return undefined;
  return databases.length === 1
    ? `There is a database in it. Name that: ${someOf(databases)}`
    : `There are databases in it. Name one: ${someOf(databases)}`;
}

function someOf(paths: readonly string[]): string {
  return `${paths.slice(0, MOST_NAMED).join(", ")}${paths.length > MOST_NAMED ? ", and others" : ""}`;
}

/**
 * The folder that a path of session logs means: of a home of dsh, which is no root itself, the root in it; else the path.
 * Nothing is said of a path that cannot be looked at.
 */
export function homeOrRoot(path: string): string {
  const root = join(path, IN_HOME);
  try {
    if (!isUsedRoot(root) || wasRoot(path)) return path;
    // Other things lie in a home, too: a log that is in no folder of a project does not outweigh projects.
    const isHome = hasProject(root) ? !hasProject(path) : !hasLog(path);
    return isHome ? root : path;
  } catch {
    return path;
  }
}

/**
 * A session log is no store: a file that lies where one does is not taken for a database.
 * @throws StoreNotFoundError, which names its root where there is one
 */
export function assertNoLog(path: string): void {
  const name = basename(path);
  const folder = dirname(resolveStorePath(path));
  const project = isLogName(name) ? dirname(folder) : folder;
  const isInRoot = isProjectFolderName(basename(project));
  if (!isLogName(name) && (!isInRoot || flatLog(name) === undefined)) return;
  if (isDatabaseFile(path)) return;
  throw new StoreNotFoundError(
    path,
    "The file is the log of one session, not a store",
    isInRoot
      ? `Name the root of the session logs: ${dirname(project)}`
      : "`holdfast sessions import` takes it into a store.",
  );
}

function isUsedRoot(path: string): boolean {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return false;
  return wasRoot(path) || hasLog(path);
}

/** The last folders in a folder that are roots themselves, as in a trash; not all, but enough to name some. */
function rootsIn(folder: string): string[] {
  const found: string[] = [];
  for (const name of namesIn(folder).sort().reverse().slice(0, MOST_LOOKED_AT)) {
    const path = join(folder, name);
    if (found.length <= MOST_NAMED && isUsed(path)) found.push(path);
  }
  return found;
}

/** The first databases in a folder; not all, but enough to name some. */
function databasesIn(folder: string): string[] {
  const found: string[] = [];
  for (const name of namesIn(folder).filter(looksLikeDatabase).sort().slice(0, MOST_LOOKED_AT)) {
    const path = join(folder, name);
    // One with a lock file may be held by this process, which must not open it then.
    if (found.length <= MOST_NAMED && (existsSync(`${path}.lock`) || isDatabaseFile(path))) found.push(path);
  }
  return found;
}

/** Nothing of a folder that this user may not look into. */
function isUsed(path: string): boolean {
  try {
    return statSync(path).isDirectory() && hasLog(path);
  } catch {
    return false;
  }
}

/** Whether a process has ever locked it. */
function wasRoot(root: string): boolean {
  return existsSync(`${lockFiles(root)}.lock`);
}

function hasLog(root: string): boolean {
  return projectsOf(root).some((project) => logsOf(root, project).next().done !== true);
}

function hasProject(root: string): boolean {
  return namesIn(root).some((name) => isProject(join(root, name)));
}

/** A folder with the name of a project's, and with sessions in it. */
function isProject(folder: string): boolean {
  if (!isProjectFolderName(basename(folder))) return false;
  return namesIn(folder).some(
    (name) => flatLog(name) !== undefined || namesIn(join(folder, name)).some(isLogName),
  );
}

/** A folder with a log in it, and with none where a root has them. */
function isSession(folder: string): boolean {
  return namesIn(folder).some(isLogName) && !hasLog(folder);
}

function isLogName(name: string): boolean {
  const { kind } = roleOf(name);
  return kind === "log" || kind === "generation";
}

/** Nothing of a file, nor of a folder that this user may not look into: others say so. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
