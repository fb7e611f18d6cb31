import { assertUnlocked } from "../../store/assert-unlocked.ts";
import { LockedError, NotFoundError } from "../../store/errors.ts";
import { openStore, openStoreReadOnly } from "../../store/open-store.ts";
import type { SessionPersistence } from "../../store/persistence.ts";
import type { StoreName } from "../../store/store-name.ts";
import { resolveSessionId } from "./session-id.ts";

/**
 * The id of the session that a person means, for a command that then opens the store for writing: nothing is made where
 * there is no store. @param instead as of {@link openIdle}
 * @throws StoreNotFoundError, NotFoundError, AmbiguousIdError; LockedError where the session is not there and the store is
 * held: whoever holds it may be about to make the session
 */
export async function storedId(name: StoreName, given: string, instead: string): Promise<string> {
  await using store = await openStoreReadOnly(name, { clock: Date.now });
  try {
    return await resolveSessionId(store, given, name);
  } catch (error) {
    if (error instanceof NotFoundError) assertUnlocked(name, instead);
    throw error;
  }
}

/**
 * A store that is there, for a command that writes one event or a few.
 * @param instead what else can be done than to stop the process that holds the store
 * @throws LockedError
 */
export async function openIdle(name: StoreName, instead: string): Promise<SessionPersistence> {
  try {
    return await openStore(name, { clock: Date.now, chunkWindowMs: 0, thread: "process" });
  } catch (error) {
    throw error instanceof LockedError
      ? new LockedError(error.place.path ?? name.path, error.holder, instead)
      : error;
  }
}
