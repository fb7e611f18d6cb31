import { dirname } from "node:path";
import type { CoordinatorOptions } from "./coordinator.ts";
import { resolveStorePath } from "./paths.ts";
import type { SessionPersistence } from "./persistence.ts";
import { storeFiles } from "./sqlite/files.ts";
import type { StoreName } from "./store-name.ts";
import { trashOf } from "./trash.ts";

/** How a store is opened for writing. What only one kind of store knows is ignored by the others. */
export interface OpenStoreOptions extends CoordinatorOptions {
  /** How JSONL logs are written: as Zstandard frames, or as plain lines. */
  readonly encoding?: "zstd" | "none";
  /** `process` runs writes on the calling thread. Default `worker`. */
  readonly thread?: "worker" | "process";
  /** Length of the shortest string that a SQLite store quotes from deltas; see `SqliteOptions`. */
  readonly leastQuoted?: number;
}

/*
 * Opens a store by its name. Each backend's code is loaded when it is asked for: nobody waits for one that is not used.
 */

/** Opens a store for writing; it is made when it does not exist. @throws LockedError, UnsupportedFormatError, … */
export async function openStore(name: StoreName, options: OpenStoreOptions): Promise<SessionPersistence> {
  if (name.kind === "sqlite") {
    const { openSqlite } = await import("./sqlite/index.ts");
    return openSqlite({ ...options, path: name.path });
  }
  const { openJsonl } = await import("./jsonl/index.ts");
  return openJsonl({ ...options, root: name.path });
}

/**
 * Opens a store for reading: takes no lock, writes nothing, makes nothing. Not for a process that writes the same store.
 * @throws StoreNotFoundError, UnsupportedFormatError, …
 */
export async function openStoreReadOnly(
  name: StoreName,
  options: { readonly clock: () => number },
): Promise<SessionPersistence> {
  if (name.kind === "sqlite") {
    const { openSqliteReadOnly } = await import("./sqlite/read-only.ts");
    return openSqliteReadOnly({ ...options, path: name.path });
  }
  const { openJsonlReadOnly } = await import("./jsonl/index.ts");
  return openJsonlReadOnly({ ...options, root: name.path });
}

/** Whether a folder that is not there is one that opening the store for writing makes. */
export function makesFolder({ kind, path }: StoreName, folder: string): boolean {
  const own = resolveStorePath(path);
  const innermost = kind === "sqlite" ? dirname(own) : own;
  return `${innermost}/`.startsWith(`${resolveStorePath(folder)}/`);
}

/**
 * Everything that belongs to a store, whether it exists now or not: files, and a folder where all that is below it does.
 * A process that writes the store must open none of it in another way.
 */
export function storePaths(name: StoreName): readonly string[] {
  const files = name.kind === "sqlite" ? storeFiles(name.path) : [resolveStorePath(name.path)];
  return [...files, trashOf(name)];
}
