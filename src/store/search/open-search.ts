import type { StoreName } from "../store-name.ts";
import type { IndexLimits } from "./range-builder.ts";
import type { SearchedStore } from "./searched-store.ts";

export interface OpenSearchOptions {
  /** A text that stands, folded, in all that is looked for; nothing where none is known. */
  readonly needle: string | undefined;
  /** Whether an index is used where the store has one, and brought up to date where it may be written. */
  readonly isIndexed: boolean;
  /** When the index grows; {@link INDEX_LIMITS} when absent. */
  readonly limits?: IndexLimits;
}

/** @throws StoreNotFoundError, UnsupportedFormatError, CorruptError, StorageFailedError */
export async function openSearch(name: StoreName, options: OpenSearchOptions): Promise<SearchedStore> {
  if (name.kind === "sqlite") {
    const { SqliteSearch } = await import("../sqlite/search-store.ts");
    return new SqliteSearch(name.path, options);
  }
  const { JsonlSearch } = await import("../jsonl/search-store.ts");
  return new JsonlSearch(name.path);
}
