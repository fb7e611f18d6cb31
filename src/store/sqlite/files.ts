import { resolveStorePath } from "../paths.ts";

const SUFFIXES = ["", "-wal", "-shm", "-journal", ".lock", ".owner"];

/** Every file of the store at `path`, whether it exists now or not. */
export function storeFiles(path: string): readonly string[] {
  const resolved = resolveStorePath(path);
  return SUFFIXES.map((suffix) => resolved + suffix);
}
