import { closeSync, fsyncSync, mkdirSync, openSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { errorCode, toStorageError } from "./errors.ts";

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

/** Makes a directory and its parents, private to the user, and makes their names durable. */
export function makeDirectory(path: string): void {
  try {
    const first = mkdirSync(path, { recursive: true, mode: 0o700 });
    if (first === undefined) return;
    for (let made = path; made.length >= first.length; made = dirname(made)) syncDirectory(dirname(made));
  } catch (error) {
    throw toStorageError(error, "The folder of the store could not be made", { path });
  }
}

/** Makes the names in a directory durable. */
export function syncDirectory(path: string): void {
  // Windows has no directory handles to sync; its file systems journal names themselves.
  if (process.platform === "win32") return;
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // no link, or nothing there
  }
}
