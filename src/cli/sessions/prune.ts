import { chosenStore } from "../../host/store-options.ts";
import { type RawOptions, UsageError } from "../../host/usage.ts";
import { recordEvents, type SessionRecord } from "../../session/records.ts";
import { HoldfastError, NotFoundError } from "../../store/errors.ts";
import type { SessionPersistence, SessionSummary } from "../../store/persistence.ts";
import { printableLine } from "../printable.ts";
import { Progress } from "../progress.ts";
import { previewRemoval, type RemovalFlags, type RemovalPlan, remove } from "./removal.ts";
import { toDoomed } from "./removal-report.ts";
import { summaries } from "./summaries.ts";

export interface PruneFlags extends RemovalFlags {
  /** As it was given: `30d`, `12h`, `2w`. */
  readonly olderThan: string;
  /** Sessions that stay in any case: so many, the last active ones. As it was given. */
  readonly keep?: string;
  readonly dryRun: boolean;
}

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** `holdfast sessions prune`: moves sessions in which nothing has happened for long to the trash, or deletes them for good. */
export async function prune(
  raw: RawOptions,
  argument: string | undefined,
  flags: PruneFlags,
): Promise<number> {
  const name = chosenStore(raw, argument);
  const before = Date.now() - parseAge(flags.olderThan);
  const keep = parseKeep(flags.keep);
  const planner = (store: SessionPersistence, signal: AbortSignal) => planPrune(store, before, keep, signal);
  if (flags.dryRun) return await previewRemoval(name, flags, planner);
  return await remove(name, flags, planner);
}

/** Milliseconds. @throws UsageError */
function parseAge(text: string): number {
  const [, number, unit = ""] = /^(\d{1,6})([hdw])$/.exec(text) ?? [];
  const length = UNITS[unit];
  if (number !== undefined && length !== undefined) return Number(number) * length;
  throw new UsageError(
    `--older-than cannot be ${JSON.stringify(text)}`,
    "Give a number of hours, days or weeks, such as 12h, 30d or 2w.",
  );
}

function parseKeep(text = "0"): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`--keep cannot be ${JSON.stringify(text)}`, "Give a number of sessions, such as 10.");
}

/** The sessions whose last event is older, the oldest first, without those that are kept for their number. */
async function planPrune(
  store: SessionPersistence,
  before: number,
  keep: number,
  signal: AbortSignal,
): Promise<RemovalPlan> {
  using progress = new Progress();
  const old: { readonly summary: SessionSummary; readonly time: number }[] = [];
  let young = 0;
  let seen = 0;
  for await (const summary of summaries(store)) {
    if (signal.aborted) break;
    seen += 1;
    progress.show(`looking, session ${seen}: ${summary.id}`);
    const { header } = summary;
    // No session is older than its header: a fork is as old as itself, not as what it begins with.
    const isYoung = header !== undefined && header.createdAt >= before;
    const last = isYoung ? header.createdAt : await lastEventTime(store, summary);
    if (last === undefined) continue;
    const time = Math.max(last, header?.createdAt ?? 0);
    if (time >= before) young += 1;
    else old.push({ summary, time });
  }
  old.sort((a, b) => b.time - a.time);
  const doomed = old.slice(Math.max(0, keep - young)).reverse();
  return { doomed: doomed.map(({ summary, time }) => toDoomed(summary, time)), missing: [] };
}

/** Nothing where it is not known, since the end of the session cannot be read; that is told. */
async function lastEventTime(
  store: SessionPersistence,
  summary: SessionSummary,
): Promise<number | undefined> {
  const { id, problem } = summary;
  try {
    if (problem !== undefined) return unknownAge(id, problem.reason);
    const stream = await store.stream(id);
    let last: SessionRecord | undefined;
    for await (const page of stream.pages) last = page.at(-1)?.record ?? last;
    return last === undefined ? stream.header.createdAt : recordEvents(last).at(-1)?.time;
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    if (!(error instanceof HoldfastError)) throw error;
    return unknownAge(id, error.message);
  }
}

function unknownAge(id: string, reason: string): undefined {
  process.stderr.write(
    `holdfast: ${printableLine(`${id} is left alone, since its age is not known: ${reason}`)}\n`,
  );
  return undefined;
}
