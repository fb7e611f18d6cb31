import { existsSync } from "node:fs";
import { breathe } from "./breathe.ts";
import type { OutlineCache } from "./outline-cache.ts";
import { type Outlined, type ReadingOptions, readOutline } from "./outline-reading.ts";
import type { SessionPersistence, SessionSummary } from "./persistence.ts";

export { OutlineCache } from "./outline-cache.ts";
export type { SessionState } from "./outline-reading.ts";

/** A root of log files is looked through for each page. */
const PAGE = 2_500;
/** Signals get their turn after so many sessions. */
const SESSIONS_A_BREATH = 50;

/** A session as a listing shows it, and what a reading of it came to. */
export interface OutlinedSession extends Outlined {
  readonly summary: SessionSummary;
}

/** Which session is read, the how manieth of how many, and how many of its events were read. */
export interface OutlineProgress {
  readonly id: string;
  readonly number: number;
  readonly of: number;
  readonly events: number;
}

export interface OutlineOptions {
  /** What is known of the sessions; what is read is put there, and saved at the end. Without it all are read. */
  readonly cache?: OutlineCache;
  /** Whether to read also those that the cache knows. */
  readonly isFresh?: boolean;
  /** Of which sessions to tell, by what the store lists of them; of all when absent. The others are not read. */
  readonly isWanted?: (summary: SessionSummary) => boolean;
  readonly onProgress?: (progress: OutlineProgress) => void;
  readonly signal?: AbortSignal;
}

/**
 * The sessions of a store with their outlines, in the order of the store. A session whose revision the cache knows is not
 * read; of one that has grown since only what was added is, where its mark leads on; any other one is read whole. What a
 * listing finds wrong is found anew each time.
 *
 * Revisions and marks are as good as their backend's: the revision of a log changes with every change of its file, but not when
 * bytes rot on the disk; that of a session in SQLite with every append, but not when rows before the last one change. Nor does the
 * mark of either see what changed far before it, in a file that stayed the same one.
 * @throws the reason of the signal; what was read until then is saved
 */
export async function* outlines(
  store: SessionPersistence,
  { cache, isFresh = false, isWanted = () => true, onProgress, signal }: OutlineOptions = {},
): AsyncGenerator<OutlinedSession> {
  const summaries = await listed(store);
  cache?.retain(new Set(summaries.flatMap(({ id, revision }) => (revision === undefined ? [] : [id]))));
  try {
    for (const [k, summary] of summaries.entries()) {
      if (!isWanted(summary)) continue;
      const isKnown = !isFresh && summary.problem === undefined;
      const known = isKnown ? cache?.get(summary.id, summary.revision) : undefined;
      if (known !== undefined) {
        yield { summary, ...known };
        continue;
      }
      if (k % SESSIONS_A_BREATH === 0) await breathe();
      signal?.throwIfAborted();
      const place = { id: summary.id, number: k + 1, of: summaries.length };
      const onEvents = (events: number) => onProgress?.({ ...place, events });
      onEvents(0);
      const begun = isKnown && summary.revision !== undefined ? cache?.beginning(summary.id) : undefined;
      const options = { known: begun, onEvents, ...(signal ? { signal } : {}) };
      const found = await outlineOf(store, summary, cache, options);
      if (found !== undefined) yield { summary, ...found };
    }
  } finally {
    await cache?.save();
  }
}

async function outlineOf(
  store: SessionPersistence,
  summary: SessionSummary,
  cache: OutlineCache | undefined,
  options: ReadingOptions,
): Promise<Outlined | undefined> {
  const { problem } = summary;
  if (problem !== undefined && !isReadable(summary)) return { ...problem, isWhole: false };
  const reading = await readOutline(store, summary.id, options);
  if (reading === undefined) {
    // Deleted meanwhile, or a log that lies where nobody looks for its id.
    return problem !== undefined && isThere(summary) ? { ...problem, isWhole: false } : undefined;
  }
  const { revision, end, ...outlined } = reading;
  // Without an end, of one that is written meanwhile more may have been read than its revision says.
  const isOfRevision = end !== undefined || revision === summary.revision;
  if (revision !== undefined && isOfRevision) cache?.put(summary.id, { ...reading, revision });
  else cache?.forget(summary.id);
  return outlined;
}

/**
 * Whether a session can be read by its id. Where only its first record cannot be, the reading says whether that is damage
 * or a torn end.
 */
function isReadable({ header, problem }: SessionSummary): boolean {
  return problem === undefined || (problem.state === "corrupt" && header !== undefined);
}

function isThere({ location }: SessionSummary): boolean {
  return location !== undefined && existsSync(location);
}

async function listed(store: SessionPersistence): Promise<readonly SessionSummary[]> {
  const summaries: SessionSummary[] = [];
  let cursor: string | undefined;
  do {
    const request = { limit: PAGE, revisions: true, ...(cursor === undefined ? {} : { cursor }) };
    const page = await store.list(request);
    for (const summary of page.items) summaries.push(summary);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return summaries;
}
