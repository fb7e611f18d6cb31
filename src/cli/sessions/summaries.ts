import type { SessionPersistence, SessionSummary } from "../../store/persistence.ts";

/** A root of log files is looked through for each page. */
const PAGE = 2_500;

/** All sessions of a store, as it lists them; with `revisions` also these, which costs more. */
export async function* summaries(
  store: SessionPersistence,
  { revisions = false }: { readonly revisions?: boolean } = {},
): AsyncGenerator<SessionSummary> {
  let cursor: string | undefined;
  do {
    const page = await store.list({ limit: PAGE, revisions, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.items;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

/**
 * The ids of all sessions, each once, the oldest first, and of those that were made at one moment by id: the same in every
 * kind of store, each of which lists in an order of its own. Last those whose header cannot be read.
 */
export async function idsOldestFirst(store: SessionPersistence): Promise<string[]> {
  const made = new Map<string, number>();
  // Several files may claim one id.
  for await (const { id, header } of summaries(store)) {
    const createdAt = header?.createdAt ?? Number.POSITIVE_INFINITY;
    made.set(id, Math.min(createdAt, made.get(id) ?? Number.POSITIVE_INFINITY));
  }
  const byTime = ([a, aTime]: [string, number], [b, bTime]: [string, number]) =>
    aTime === bTime ? compareIds(a, b) : aTime - bTime;
  return [...made].sort(byTime).map(([id]) => id);
}

/** By UTF-16 units, the same in any language. */
export function compareIds(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
