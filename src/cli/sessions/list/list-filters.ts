import { resolve } from "node:path";
import { nearestName } from "../../../host/nearest-name.ts";
import { UsageError } from "../../../host/usage.ts";
import { HoldfastError } from "../../../store/errors.ts";
import type { SessionState } from "../../../store/outlines.ts";
import { resolveStorePath } from "../../../store/paths.ts";
import type { SessionSummary } from "../../../store/persistence.ts";
import { parseAge } from "../age.ts";
import type { ListedState, SessionEntry } from "./list-entry.ts";

/** Which sessions to list, as it was given. Each that is set must hold. */
export interface FilterFlags {
  readonly cwd?: string | undefined;
  readonly since?: string | undefined;
  readonly state?: readonly string[] | undefined;
  readonly parent?: string | undefined;
  readonly grep?: string | undefined;
}

export interface ListFilter {
  /** By what is known of a session without reading it. */
  isWanted(summary: SessionSummary): boolean;
  fits(entry: SessionEntry): boolean;
}

const STATES: Readonly<Record<SessionState | ListedState, true>> = {
  ok: true,
  interrupted: true,
  torn: true,
  corrupt: true,
  unsupported: true,
  empty: true,
  duplicate: true,
  unreadable: true,
  unsure: true,
};

export const STATE_NAMES: readonly string[] = Object.keys(STATES);

/** @param now epoch milliseconds, from which ages count. @throws UsageError */
export function parseFilters(flags: FilterFlags, now: number): ListFilter {
  const { cwd, parent, grep } = flags;
  const folders = cwd === undefined ? undefined : spellingsOf(cwd);
  const since = flags.since === undefined ? undefined : parseSince(flags.since, now);
  const states = flags.state === undefined ? undefined : parseStates(flags.state);
  const text = grep?.toLowerCase();
  return {
    isWanted: ({ header }) =>
      (folders === undefined || isBelow(header?.cwd, folders)) &&
      (parent === undefined || header?.parentSession === parent),
    fits: ({ state, title, lastActive }) =>
      (since === undefined || (lastActive !== undefined && lastActive >= since)) &&
      (states === undefined || states.has(state)) &&
      (text === undefined || title?.toLowerCase().includes(text) === true),
  };
}

/** A folder as sessions may name it: as it was given, which may be that of another system, made absolute, and without links. */
function spellingsOf(path: string): readonly string[] {
  if (path === "" || path.includes("\0"))
    throw new UsageError(`--cwd cannot be ${JSON.stringify(path)}`, "Give the path of a folder.");
  const absolute = resolve(path);
  try {
    return [path, absolute, resolveStorePath(absolute)];
  } catch (error) {
    if (error instanceof HoldfastError) return [path, absolute];
    throw error;
  }
}

function isBelow(cwd: string | undefined, folders: readonly string[]): boolean {
  if (cwd === undefined) return false;
  return folders.some((folder) => {
    const bare = folder.replace(/[/\\]+$/, "");
    if (!cwd.startsWith(bare)) return false;
    const next = cwd.charAt(bare.length);
    return next === "" || next === "/" || next === "\\";
  });
}

function parseSince(text: string, now: number): number {
  const age = parseAge(text);
  if (age !== undefined) return now - age;
  const [, date, time] =
    /^(\d{4}-\d{2}-\d{2})([T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/.exec(text) ?? [];
  // Without a time and without a zone it is meant where the reader is.
  const at = date === undefined ? Number.NaN : Date.parse(`${date}${(time ?? "T00:00").replace(" ", "T")}`);
  if (date !== undefined && Number.isFinite(at) && isDate(date)) return at;
  throw new UsageError(
    `--since cannot be ${JSON.stringify(text)}`,
    "Give a date such as 2026-03-01, a time such as 2026-03-01T08:30Z, or an age such as 12h, 7d or 2w.",
  );
}

/** Whether the calendar has such a day: a 30th of February would be taken for a day of March. */
function isDate(date: string): boolean {
  const day = new Date(`${date}T00:00Z`);
  return Number.isFinite(day.getTime()) && day.toISOString().startsWith(date);
}

function parseStates(given: readonly string[]): ReadonlySet<string> {
  const states = given.flatMap((text) => text.split(",")).map((state) => state.trim());
  const unknown = states.find((state) => !Object.hasOwn(STATES, state));
  if (unknown === undefined) return new Set(states);
  const nearest = nearestName(unknown, STATE_NAMES);
  throw new UsageError(
    `There is no state ${JSON.stringify(unknown)}`,
    nearest === undefined ? `There are ${STATE_NAMES.join(", ")}.` : `Did you mean ${nearest}?`,
  );
}
