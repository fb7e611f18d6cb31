import { chosenStore } from "../../../host/store-options.ts";
import { type RawOptions, UsageError } from "../../../host/usage.ts";
import { lastActive, type Outline } from "../../../session/projections/outline.ts";
import {
  type OutlineCache,
  type OutlinedSession,
  type OutlineProgress,
  outlines,
} from "../../../store/outlines.ts";
import type { SessionPersistence, SessionSummary } from "../../../store/persistence.ts";
import { printableLine } from "../../printable.ts";
import { Progress } from "../../progress.ts";
import { parseAge } from "../age.ts";
import { compareIds } from "../summaries.ts";
import { userCache } from "../user-cache.ts";
import { previewRemoval, type RemovalFlags, type RemovalPlan, remove } from "./removal.ts";
import { toDoomed } from "./removal-report.ts";

export interface PruneFlags extends RemovalFlags {
  /** As it was given: `30d`, `12h`, `2w`. */
  readonly olderThan: string;
  /** Sessions that stay in any case: so many, the last active ones. As it was given. */
  readonly keep?: string;
  readonly dryRun: boolean;
}

interface PruneRequest {
  readonly cache: OutlineCache;
  /** In epoch milliseconds: what was active since stays. */
  readonly before: number;
  readonly keep: number;
  readonly signal: AbortSignal;
}

/** `holdfast sessions prune`: moves sessions in which nothing has happened for long to the trash, or deletes them for good. */
export async function prune(
  raw: RawOptions,
  argument: string | undefined,
  flags: PruneFlags,
): Promise<number> {
  const name = chosenStore(raw, argument);
  const before = Date.now() - ageOf(flags.olderThan);
  const keep = parseKeep(flags.keep);
  const planner = (store: SessionPersistence, signal: AbortSignal) =>
    planPrune(store, { cache: userCache(name), before, keep, signal });
  if (flags.dryRun) return await previewRemoval(name, flags, planner);
  return await remove(name, flags, planner);
}

/** Milliseconds. @throws UsageError */
function ageOf(text: string): number {
  const age = parseAge(text);
  if (age !== undefined) return age;
  throw new UsageError(
    `--older-than cannot be ${JSON.stringify(text)}`,
    "Give a number of hours, days or weeks, such as 12h, 30d or 2w.",
  );
}

function parseKeep(text = "0"): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`--keep cannot be ${JSON.stringify(text)}`, "Give a number of sessions, such as 10.");
}

/** The sessions that were last active before, the oldest first, without those that are kept for their number. */
async function planPrune(
  store: SessionPersistence,
  { cache, before, keep, signal }: PruneRequest,
): Promise<RemovalPlan> {
  using progress = new Progress();
  const old: { readonly summary: SessionSummary; readonly outline?: Outline; readonly time: number }[] = [];
  let young = 0;
  const isWanted = ({ header }: SessionSummary) => {
    const isYoung = header !== undefined && header.createdAt >= before;
    if (isYoung) young += 1;
    return !isYoung;
  };
  const onProgress = ({ id, number, of }: OutlineProgress) =>
    progress.show(`looking, session ${number} of ${of}: ${id}`);
  try {
    for await (const session of outlines(store, { cache, isWanted, onProgress, signal })) {
      const { summary, outline } = session;
      const time = lastTimeOf(session);
      if (time === undefined) continue;
      if (time >= before) young += 1;
      else old.push({ summary, time, ...(outline === undefined ? {} : { outline }) });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  // As they are listed, so that what is kept is the beginning of the list.
  old.sort((a, b) => b.time - a.time || compareIds(a.summary.id, b.summary.id));
  const doomed = old.slice(Math.max(0, keep - young)).reverse();
  return { doomed: doomed.map(({ summary, outline }) => toDoomed(summary, outline)), gone: [], missing: [] };
}

/** Nothing where it is not known, since the end of the session cannot be read; that is told. */
function lastTimeOf({ summary, outline, isWhole, state, reason }: OutlinedSession): number | undefined {
  // A torn end was never part of the session.
  if (isWhole || state === "torn") return lastActive(summary.header, outline);
  const text = `${summary.id} is left alone, since its age is not known: ${reason}`;
  process.stderr.write(`holdfast: ${printableLine(text)}\n`);
  return undefined;
}
