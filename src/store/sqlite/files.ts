import { statSync } from "node:fs";
import { resolveStorePath } from "../paths.ts";

const SUFFIXES = ["", "-wal", "-shm", "-journal", ".lock", ".owner"];

/** Every file of the store at `path`, whether it exists now or not. */
export function storeFiles(path: string): readonly string[] {
  const resolved = resolveStorePath(path);
  return SUFFIXES.map((suffix) => resolved + suffix);
}

/** Whether the write-ahead log of the store at `path` has nothing in it. For a store that is closed. */
export function isLogEmpty(path: string): boolean {
  try {
    return (statSync(`${resolveStorePath(path)}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0;
  } catch {
    return false; // There is no telling.
  }
}
