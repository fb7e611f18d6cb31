import type { OpenCompactorOptions, StoreCompactor } from "./compactor.ts";
import type { StoreName } from "./store-name.ts";

/**
 * A store opened for making its sessions small, with its lock unless it is a dry run. Each backend's code is loaded when
 * it is asked for.
 * @throws StoreNotFoundError, LockedError, UnsupportedFormatError, StorageFailedError
 */
export async function openCompactor(name: StoreName, options: OpenCompactorOptions): Promise<StoreCompactor> {
  if (name.kind === "sqlite") {
    const { compactSqlite } = await import("./sqlite/compactor.ts");
    return compactSqlite(name.path, options);
  }
  const { compactJsonl } = await import("./jsonl/compactor.ts");
  return compactJsonl(name.path, options);
}
