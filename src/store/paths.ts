import { readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { errorCode, toStorageError } from "./errors.ts";
import { type FileSystem, SYSTEM } from "./file-system.ts";

const MAX_LINKS = 40;

/**
 * One spelling for a path: absolute, with every symlink followed, also where the last parts do not exist yet. Two ways
 * to name the same store resolve to the same path, and so to the same lock.
 */
export function resolveStorePath(path: string, depth = 0): string {
  const absolute = resolve(path);
  try {
    return realpathSync(absolute);
  } catch (error) {
    if (errorCode(error) !== "ENOENT" || depth > MAX_LINKS) {
      throw toStorageError(error, "The path of the store cannot be used", { path: absolute });
    }
  }
  const target = readLink(absolute);
  if (target !== undefined) return resolveStorePath(resolve(dirname(absolute), target), depth + 1);
  const parent = dirname(absolute);
  return parent === absolute ? absolute : join(resolveStorePath(parent, depth + 1), basename(absolute));
}

/**
 * Makes a folder and its parents, private to the user, and makes their names durable: also that of a folder which is
 * there, since whoever made it may have been killed before that.
 */
export function makeDirectory(path: string, system: FileSystem = SYSTEM): void {
  try {
    if (makeFolders(path, system)) return;
    syncIfAllowed(dirname(path), system);
  } catch (error) {
    throw toStorageError(error, "The folder of the store could not be made", { path });
  }
}

/** Whether the folder was made now. Its parents are made once: in some folders that are there nothing can be made. */
function makeFolders(path: string, system: FileSystem, hasParents = false): boolean {
  try {
    system.makeFolder(path);
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" && dirname(path) !== path && !hasParents) {
      makeDirectory(dirname(path), system);
      return makeFolders(path, system, true);
    }
    // Some systems say of a folder that is there, such as a root, that it may not be made.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return false;
    throw error;
  }
  system.syncFolder(dirname(path));
  return true;
}

/** Syncs a folder, unless it is somebody else's: in that one a name was made durable by whoever could make it. */
export function syncIfAllowed(path: string, system: FileSystem): void {
  try {
    system.syncFolder(path);
  } catch (error) {
    const code = errorCode(error);
    if (code !== "EACCES" && code !== "EPERM") throw error;
  }
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // no link, or nothing there
  }
}
