import { statSync } from "node:fs";
import { clip } from "../session/text.ts";
import { errorCode, HoldfastError, toStorageError } from "./errors.ts";

export type PathKind = "file" | "folder" | "other";

/** A path at which nothing can ever lie: too long, or through links that lead in a circle. */
class ImpossiblePathError extends HoldfastError {
  readonly code = "usage";
}

const IMPOSSIBLE: Readonly<Record<string, string>> = {
  ENAMETOOLONG: "it is too long, or a name in it is",
  ELOOP: "links in it lead in a circle",
};
/** What is shown of a path that is too long, in UTF-16 units. */
const SHOWN = 400;

/**
 * What lies at a path, links followed; nothing where nothing does, also below a file.
 * @param what is said where there is no telling
 * @throws ImpossiblePathError, StorageFailedError
 */
export function lookAt(path: string, what = "The path cannot be used"): PathKind | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return undefined;
    if (found.isDirectory()) return "folder";
    return found.isFile() ? "file" : "other";
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOTDIR") return undefined;
    const reason = code === undefined ? undefined : IMPOSSIBLE[code];
    if (reason === undefined) throw toStorageError(error, what, { path });
    throw new ImpossiblePathError(`${what}: ${reason}`, {
      place: { path: clip(path, SHOWN) },
      hint: "Name another path.",
    });
  }
}
