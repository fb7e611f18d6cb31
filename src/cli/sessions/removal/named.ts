import type { Outline } from "../../../session/projections/outline.ts";
import { readOutline } from "../../../store/outline-reading.ts";
import type { OutlineCache } from "../../../store/outlines.ts";
import type { SessionPersistence, SessionSummary } from "../../../store/persistence.ts";
import { PurgeNote } from "../../../store/purge-note.ts";
import type { StoreName } from "../../../store/store-name.ts";
import { findTrashed } from "../../../store/trashed.ts";
import { summaries } from "../summaries.ts";
import type { RemovalPlan } from "./removal.ts";
import { type Gone, toDoomed } from "./removal-report.ts";

/**
 * So many events are read for what is told of sessions that nobody listed before: a deletion must not wait for the
 * reading of what is deleted.
 */
const MOST_EVENTS = 100_000;
/** So many ids are named where some begin with one that is not there, and of so many of these. */
const MOST_NAMED = 10;

interface Context {
  readonly name: StoreName;
  readonly cache: OutlineCache;
  readonly signal: AbortSignal;
}

/**
 * The named sessions, each once and in their order. Of the others those that were deleted before are gone, as where the
 * same command was killed, and the rest is missing. Where none is left to delete, all count as missing.
 */
export async function planDeletion(
  store: SessionPersistence,
  ids: readonly string[],
  { name, cache, signal }: Context,
): Promise<RemovalPlan> {
  const wanted = new Set(ids);
  const found = new Map<string, SessionSummary>();
  const others: string[] = [];
  // Where several files claim an id, the last of them is told of; the deletion says that there are several.
  for await (const summary of summaries(store, { revisions: true })) {
    if (wanted.has(summary.id)) found.set(summary.id, summary);
    else others.push(summary.id);
  }
  const absent = [...wanted].filter((id) => !found.has(id));
  const gone = absent.length === 0 ? [] : goneOf(name, absent);
  const known = new Set(gone.map(({ id }) => id));
  const missing = absent.filter((id) => !known.has(id));
  if (missing.length > 0 || found.size === 0) {
    const alike = missing.slice(0, MOST_NAMED).map((id) => beginningWith(id, others));
    return {
      doomed: [],
      gone,
      missing: missing.map((id, k) => ({ id, candidates: alike[k] ?? [] })),
      named: ids,
    };
  }
  const outlines = new Outlines(store, cache);
  const doomed = [];
  for (const id of wanted) {
    if (signal.aborted) break;
    const summary = found.get(id);
    if (summary !== undefined) doomed.push(toDoomed(summary, await outlines.of(summary, signal)));
  }
  return { doomed, gone, missing: [], named: ids };
}

/** Those of which the trash shows that they were there. */
function goneOf(name: StoreName, ids: readonly string[]): readonly Gone[] {
  const trashed = findTrashed(name, ids);
  const purged = new PurgeNote(name);
  return ids.flatMap((id) => {
    const path = trashed.get(id);
    if (path !== undefined) return [{ id, path }];
    return purged.has(id) ? [{ id }] : [];
  });
}

/** The first ids that begin so, sorted. */
function beginningWith(given: string, ids: readonly string[]): readonly string[] {
  return given === ""
    ? []
    : ids
        .filter((id) => id.startsWith(given))
        .sort()
        .slice(0, MOST_NAMED);
}

/** What the cache knows of sessions, and what a short reading yields. */
class Outlines {
  readonly #store: SessionPersistence;
  readonly #cache: OutlineCache;
  #left = MOST_EVENTS;

  constructor(store: SessionPersistence, cache: OutlineCache) {
    this.#store = store;
    this.#cache = cache;
  }

  async of({ id, revision, problem }: SessionSummary, signal: AbortSignal): Promise<Outline | undefined> {
    if (problem !== undefined) return undefined;
    const known = this.#cache.get(id, revision)?.outline;
    if (known !== undefined || this.#left <= 0) return known;
    const enough = new AbortController();
    const onEvents = (events: number) => {
      if (events > this.#left) enough.abort();
    };
    try {
      const reading = await readOutline(this.#store, id, {
        onEvents,
        signal: AbortSignal.any([enough.signal, signal]),
      });
      this.#left -= reading?.outline?.events ?? 0;
      return reading?.outline;
    } catch (error) {
      if (!enough.signal.aborted && !signal.aborted) throw error;
      this.#left = 0;
      return undefined;
    }
  }
}
