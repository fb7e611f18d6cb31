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
