import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { StorageFailedError, StoreNotFoundError, toStorageError } from "../errors.ts";
import { resolveStorePath } from "../paths.ts";
import { logsOf, projectsOf } from "./directory.ts";
import { flatLog, isProjectFolderName, lockFiles, roleOf } from "./layout.ts";

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
export function existingRoot(path: string): string {
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
  if (hasLog(root) || wasRoot(root)) return root;
  throw new StoreNotFoundError(
    root,
    "There is no session log in the folder, nor did a Host ever use it",
    "Check the path. A root of session logs holds a folder for each project.",
  );
}

/** Whether a process has ever locked it. */
function wasRoot(root: string): boolean {
  return existsSync(`${lockFiles(root)}.lock`);
}

function hasLog(root: string): boolean {
  return projectsOf(root).some((project) => logsOf(root, project).next().done !== true);
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
