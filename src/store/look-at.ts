import { statSync } from "node:fs";
import { errorCode, toStorageError } from "./errors.ts";

export type PathKind = "file" | "folder" | "other";

/**
 * What lies at a path, links followed; nothing where nothing does, also below a file.
 * @param what is said where there is no telling
 * @throws StorageFailedError
 */
export function lookAt(path: string, what = "The path cannot be used"): PathKind | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return undefined;
    if (found.isDirectory()) return "folder";
    return found.isFile() ? "file" : "other";
  } catch (error) {
    if (errorCode(error) === "ENOTDIR") return undefined;
    throw toStorageError(error, what, { path });
  }
}
