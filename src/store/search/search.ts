import type { Match, Matcher } from "../../session/search/matcher.ts";
import { type Said, SaidFinder, type Speaker } from "../../session/search/said.ts";
import { assertNext } from "../cold-read.ts";
import { CorruptError, HoldfastError, NotFoundError, StorageFailedError } from "../errors.ts";
import type { SearchedSession, SearchedStore } from "./searched-store.ts";

export interface SearchQuery {
  readonly matcher: Matcher;
  readonly speakers: ReadonlySet<Speaker>;
  /** Only these sessions; all when absent. */
  readonly ids?: readonly string[];
  readonly signal?: AbortSignal;
}

export type SearchStep =
  /** A text that matches; `match` is the first place. */
  | { readonly kind: "hit"; readonly sessionId: string; readonly said: Said; readonly match: Match }
  /** A part of a session was read, up to an event. */
  | { readonly kind: "progress"; readonly sessionId: string; readonly seq: number }
  /** A session was read, whole or to its damage. */
  | { readonly kind: "session"; readonly sessionId: string; readonly error?: HoldfastError }
  /** All was read. Why there is no index that is up to date. */
  | { readonly kind: "no-index"; readonly error: HoldfastError };

/** All texts that match, session by session, the newest first unless they are named. A damaged session is searched up to its damage. */
export async function* search(store: SearchedStore, query: SearchQuery): AsyncGenerator<SearchStep> {
  const seen = new Set<string>();
  const sessions: Iterable<SearchedSession> = query.ids?.map((id) => ({ id })) ?? store.sessions();
  for (const session of sessions) {
    // Two files may claim one id.
    if (seen.has(session.id)) continue;
    seen.add(session.id);
    const error = yield* searchSession(store, query, session);
    if (query.signal?.aborted === true) return;
    yield { kind: "session", sessionId: session.id, ...(error === undefined ? {} : { error }) };
  }
  const error = await store.finish?.();
  if (error !== undefined) yield { kind: "no-index", error };
}

async function* searchSession(
  store: SearchedStore,
  { matcher, speakers, ids, signal }: SearchQuery,
  session: SearchedSession,
): AsyncGenerator<SearchStep, HoldfastError | undefined> {
  const { id } = session;
  const hits = function* (said: readonly Said[]): Generator<SearchStep> {
    for (const one of said) {
      const match = speakers.has(one.who) ? matcher.find(one.text) : undefined;
      if (match !== undefined) yield { kind: "hit", sessionId: id, said: one, match };
    }
  };
  try {
    for await (const { from, to, pages, onRecord } of store.stretches(id)) {
      const finder = new SaidFinder();
      let next = from;
      for await (const page of pages) {
        for (const decoded of page) {
          const { record } = decoded;
          assertNext(id, record, next);
          next = record.seq + record.count;
          const said = finder.fold(decoded);
          onRecord?.(record, said, finder.isOutside);
          if (said.length > 0) yield* hits(said);
        }
        yield { kind: "progress", sessionId: id, seq: next };
        if (signal?.aborted === true) return undefined;
      }
      // The event that comes next ends what is open.
      if (to !== undefined) yield* hits(finder.finish(to));
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    if (!(error instanceof NotFoundError) || ids !== undefined) return error;
    return notFoundBecause(session);
  }
}

/** Why a session that was listed is not found by its id; nothing where it was deleted meanwhile. */
function notFoundBecause({ id, location, problem }: SearchedSession): HoldfastError | undefined {
  if (problem === undefined) return undefined;
  const place = { sessionId: id, ...(location === undefined ? {} : { path: location }) };
  if (problem.state !== "corrupt") {
    const hint = "`holdfast sessions verify` says what is wrong with it.";
    return new StorageFailedError(problem.reason, { place, hint });
  }
  const [expected, found] = ["a session that is found by its id", "none"];
  return new CorruptError(problem.reason, { expected, found, place });
}
