import type { Matcher } from "../../../src/session/search/matcher.ts";
import { SPEAKERS, type Speaker } from "../../../src/session/search/said.ts";
import { openSearch } from "../../../src/store/search/open-search.ts";
import { INDEX_LIMITS, type IndexLimits } from "../../../src/store/search/range-builder.ts";
import { search } from "../../../src/store/search/search.ts";
import type { SearchedStore } from "../../../src/store/search/searched-store.ts";
import { parseStoreName } from "../../../src/store/store-name.ts";

/** Indexes everything at once, in small ranges. */
export const EAGER: IndexLimits = { ...INDEX_LIMITS, range: 40, leastRange: 0, least: 0, due: 1_000 };
/** Never writes, and uses an index that is there. */
export const LAZY: IndexLimits = { ...INDEX_LIMITS, least: Number.POSITIVE_INFINITY };
export const NO_INDEX = "no index";

export interface Found {
  /** One line a hit: session, seq, Turn, speaker, tool, and where in the text. */
  readonly hits: readonly string[];
  /** One line a damaged session. */
  readonly errors: readonly string[];
  /** Records that were read. */
  readonly read: number;
}

export function hitLine(
  sessionId: string,
  said: {
    readonly seq: number;
    readonly turn: number;
    readonly who: Speaker;
    readonly tool?: string;
    readonly part?: string;
  },
  at: number,
): string {
  return JSON.stringify([sessionId, said.seq, said.turn, said.who, said.tool, said.part, at]);
}

/** All hits in a store. */
export async function find(
  path: string,
  matcher: Matcher,
  limits: IndexLimits | typeof NO_INDEX = LAZY,
  speakers: readonly Speaker[] = SPEAKERS,
): Promise<Found> {
  const { needle } = matcher;
  const chosen = limits === NO_INDEX ? { isIndexed: false } : { isIndexed: true, limits };
  await using store = await openSearch(parseStoreName(path), { needle, ...chosen });
  return await findIn(store, matcher, speakers);
}

/** The same in a store that is open. */
export async function findIn(
  store: SearchedStore,
  matcher: Matcher,
  speakers: readonly Speaker[] = SPEAKERS,
): Promise<Found> {
  const [hits, errors]: [string[], string[]] = [[], []];
  let read = 0;
  const stretches = store.stretches.bind(store);
  store.stretches = async function* (id) {
    for await (const stretch of stretches(id)) {
      const counted = async function* () {
        for await (const page of stretch.pages) {
          read += page.length;
          yield page;
        }
      };
      yield { ...stretch, pages: counted() };
    }
  };
  for await (const step of search(store, { matcher, speakers: new Set(speakers) })) {
    if (step.kind === "hit") hits.push(hitLine(step.sessionId, step.said, step.match.at));
    else if (step.kind === "session" && step.error !== undefined)
      errors.push(`${step.sessionId} ${step.error.code}`);
  }
  return { hits, errors, read };
}
