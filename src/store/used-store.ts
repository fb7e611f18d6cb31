import { isDatabaseFile } from "./database-file.ts";
import { HoldfastError } from "./errors.ts";
import { usedRoot } from "./jsonl/root.ts";
import { parseStoreName } from "./store-name.ts";

/**
 * Whether a word names a store that is there: a database, or a root of session logs with something in it. For hints; not
 * for a process that holds the store.
 */
export function isUsedStore(word: string): boolean {
  try {
    const { kind, path } = parseStoreName(word);
    if (kind === "sqlite") return isDatabaseFile(path);
    usedRoot(path);
    return true;
  } catch (error) {
    if (error instanceof HoldfastError) return false;
    throw error;
  }
}
