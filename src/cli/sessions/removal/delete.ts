import { storeAndIds } from "../../../host/store-options.ts";
import { type RawOptions, UsageError } from "../../../host/usage.ts";
import type { SessionPersistence } from "../../../store/persistence.ts";
import { summaries } from "../summaries.ts";
import { type RemovalFlags, type RemovalPlan, remove } from "./removal.ts";
import { type Doomed, toDoomed } from "./removal-report.ts";

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
  return await remove(name, flags, (store) => planDeletion(store, ids));
}

/** The named sessions, each once and in their order. Not one log is read. */
async function planDeletion(store: SessionPersistence, ids: readonly string[]): Promise<RemovalPlan> {
  const wanted = new Set(ids);
  const found = new Map<string, Doomed>();
  for await (const summary of summaries(store)) {
    if (wanted.has(summary.id)) found.set(summary.id, toDoomed(summary));
    // Where several files claim an id, one of them says so, and so does the deletion.
    if (found.size === wanted.size) break;
  }
  const doomed = [...wanted].flatMap((id) => found.get(id) ?? []);
  return { doomed, missing: [...wanted].filter((id) => !found.has(id)) };
}
