import { openStoreReadOnly } from "../../store/open-store.ts";
import type { StoreName } from "../../store/store-name.ts";
import { resolveSessionId } from "./session-id.ts";

/**
 * The id of the session that a person means, for a command that then opens the store for writing: nothing is made where
 * there is no store. @throws StoreNotFoundError, NotFoundError, AmbiguousIdError
 */
export async function storedId(name: StoreName, given: string): Promise<string> {
  await using store = await openStoreReadOnly(name, { clock: Date.now });
  return await resolveSessionId(store, given, name.path);
}
