import { ClosedError, HoldfastError, NotFoundError } from "../../store/errors.ts";
import type { SessionPersistence } from "../../store/persistence.ts";
import type { StoreName } from "../../store/store-name.ts";
import { counted } from "../counted.ts";
import { printableLine } from "../printable.ts";
import { NearIds } from "./near-ids.ts";
import { listCommand } from "./next-step.ts";
import { summaries } from "./summaries.ts";

/** So many ids are named where several begin alike. */
const MOST_NAMED = 10;

/** No session has this id, and the ids of several begin with it. */
export class AmbiguousIdError extends HoldfastError {
  readonly code = "ambiguous-id";
  /** All ids that begin with what was given, sorted. */
  readonly candidates: readonly string[];

  constructor(given: string, candidates: readonly string[], path?: string) {
    const more = candidates.length - MOST_NAMED;
    const named =
      candidates.slice(0, MOST_NAMED).map(printableLine).join(", ") + (more > 0 ? `, and ${more} more` : "");
    super(`${candidates.length} sessions have an id that begins with ${JSON.stringify(given)}`, {
      ...(path === undefined ? {} : { place: { path } }),
      hint: `Give more of one of these: ${named}`,
    });
    this.candidates = candidates;
  }
}

/**
 * The id of the session that a person means: the one that has this id, or else the only one whose id begins with it.
 * Nothing is listed where the id is exact. A session that cannot be read is there, too.
 * @param name of the store, for messages
 * @throws NotFoundError, AmbiguousIdError
 */
export async function resolveSessionId(
  store: SessionPersistence,
  given: string,
  name?: StoreName,
): Promise<string> {
  if (given !== "" && (await isThere(store, given))) return given;
  return onlyIdWith(given, given === "" ? [] : summaries(store), name);
}

/**
 * The only id that begins with what was given. Where there is none, those that are like it are named, or the command that
 * lists all.
 * @param name of the store, for messages
 * @throws NotFoundError, AmbiguousIdError
 */
export async function onlyIdWith(
  given: string,
  sessions: AsyncIterable<{ readonly id: string }> | Iterable<{ readonly id: string }>,
  name?: StoreName,
): Promise<string> {
  // Several files may claim one id, which is one session to whoever names it.
  const found = new Set<string>();
  const near = new NearIds(given);
  for await (const { id } of sessions) {
    if (id.startsWith(given)) found.add(id);
    else if (found.size === 0) near.look(id);
  }
  const [only, ...others] = [...found].sort();
  if (only === undefined)
    throw new NotFoundError(given, name?.path, undefined, near.hint ?? (name && listHint(name)));
  if (others.length > 0) throw new AmbiguousIdError(given, [only, ...others], name?.path);
  return only;
}

/** Says on stderr what to do about sessions that were named and are not there; nothing where all are. */
export function tellMissing(count: number, name: StoreName): void {
  if (count === 0) return;
  const what = counted(count, "session that was named is", "sessions that were named are");
  process.stderr.write(`holdfast: ${what} not there\n  hint: ${listHint(name)}\n`);
}

function listHint(name: StoreName): string {
  return `\`${listCommand(name)}\` lists those that are there.`;
}

async function isThere(store: SessionPersistence, id: string): Promise<boolean> {
  try {
    // Opens it; no record is read.
    await store.stream(id);
    return true;
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    if (!(error instanceof HoldfastError) || error instanceof ClosedError) throw error;
    return true; // damaged, of another version, there twice: whoever reads it is told
  }
}
