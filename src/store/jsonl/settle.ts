import { statSync } from "node:fs";
import { dirname } from "node:path";
import { errorCode, toStorageError } from "../errors.ts";
import { closeFile, type FileSystem } from "../file-system.ts";
import { syncIfAllowed } from "../paths.ts";

const NOT_ALLOWED = new Set(["EACCES", "EPERM", "EROFS"]);

/**
 * Makes a log durable, with its name, as it was found. Whoever wrote it last may have been killed between a write and its
 * sync: then what can be read of it may not be on the disk yet, nor would it be before what is appended to it.
 * @param root that the log lies below
 * @throws StorageFullError, StorageFailedError
 */
export function settleLog(path: string, root: string, system: FileSystem): void {
  try {
    // A pipe would be waited for; what is no log is for its readers to refuse.
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return;
    syncFile(path, system);
    let folder = path;
    do {
      folder = dirname(folder);
      syncIfAllowed(folder, system);
    } while (folder !== root && folder !== dirname(folder));
  } catch (error) {
    throw toStorageError(error, "The log could not be made durable", { path });
  }
}

/** Makes one file durable, as far as this user may. @throws a system error */
export function syncFile(path: string, system: FileSystem): void {
  let file: number;
  try {
    file = system.open(path);
  } catch (error) {
    // Nor could this user have written it.
    if (NOT_ALLOWED.has(errorCode(error) ?? "")) return;
    throw error;
  }
  try {
    system.fsync(file);
  } finally {
    closeFile(system, file);
  }
}
