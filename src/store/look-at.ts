import { statSync } from "node:fs";
import { toStorageError } from "./errors.ts";

export type PathKind = "file" | "folder" | "other";

/** What lies at a path, links followed; nothing where nothing does. @throws StorageFailedError */
export function lookAt(path: string): PathKind | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return undefined;
    if (found.isDirectory()) return "folder";
    return found.isFile() ? "file" : "other";
  } catch (error) {
    throw toStorageError(error, "The path cannot be used", { path });
  }
}
