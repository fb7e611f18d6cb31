import { storeAndIds } from "../../../host/store-options.ts";
import { type RawOptions, UsageError } from "../../../host/usage.ts";
import { userCache } from "../user-cache.ts";
import { planDeletion } from "./named.ts";
import { type RemovalFlags, remove } from "./removal.ts";

/** `holdfast sessions delete`: moves the named sessions to the trash, or deletes them for good. */
export async function deleteSessions(
  raw: RawOptions,
  args: readonly string[],
  flags: RemovalFlags,
): Promise<number> {
  const { name, ids } = storeAndIds(raw, args);
  if (ids.length === 0) {
    throw new UsageError("No session is named", "Name some. `holdfast sessions delete --help` tells more.");
  }
  return await remove(name, flags, (store, signal) =>
    planDeletion(store, ids, { name, cache: userCache(name), signal }),
  );
}
