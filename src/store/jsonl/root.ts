import { statSync } from "node:fs";
import { StorageFailedError, StoreNotFoundError, toStorageError } from "../errors.ts";
import { resolveStorePath } from "../paths.ts";

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
    hint: "Name a folder: it is made when it does not exist.",
  });
}

/** The one spelling of a root that is there. @throws StoreNotFoundError, StorageFailedError */
export function existingRoot(path: string): string {
  const root = resolveStorePath(path);
  if (!isFolder(root)) throw new StoreNotFoundError(root);
  return root;
}
