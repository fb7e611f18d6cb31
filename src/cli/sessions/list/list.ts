import { chosenStore } from "../../../host/store-options.ts";
import type { RawOptions } from "../../../host/usage.ts";
import { openExaminer } from "../../../store/open-examiner.ts";
import { openStoreReadOnly } from "../../../store/open-store.ts";
import { type OutlineProgress, outlines } from "../../../store/outlines.ts";
import type { SessionSummary } from "../../../store/persistence.ts";
import { formatStoreName, type StoreName } from "../../../store/store-name.ts";
import { verifyStore } from "../../../store/verify.ts";
import { counted, grouped } from "../../counted.ts";
import { EXIT } from "../../exit-codes.ts";
import { jsonText } from "../../json-text.ts";
import { parseLimit } from "../../limit.ts";
import { type Output, printing } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { Progress } from "../../progress.ts";
import { StopSignals } from "../../stop-signals.ts";
import { summaries } from "../summaries.ts";
import { userCache } from "../user-cache.ts";
import { entryJson, type SessionEntry, toEntry } from "./list-entry.ts";
import { type FilterFlags, type ListFilter, parseFilters } from "./list-filters.ts";
import { type ListPage, pageOf, parseCursor } from "./list-page.ts";
import { sessionTable } from "./table.ts";

export interface ListFlags extends FilterFlags {
  /** As it was given. */
  readonly limit?: string | undefined;
  readonly cursor?: string | undefined;
  readonly json: boolean;
  /** Read every session whole, and look at the store below them. */
  readonly check: boolean;
  /** Whether to use the cache. */
  readonly cache: boolean;
}

/** `holdfast sessions list`: the sessions of a store, also the broken ones, the newest activity first. */
export async function list(raw: RawOptions, argument: string | undefined, flags: ListFlags): Promise<number> {
  const name = chosenStore(raw, argument);
  const filter = parseFilters(flags, Date.now());
  const limit = parseLimit(flags.limit, "It says how many sessions are listed.");
  const cursor = flags.cursor === undefined ? undefined : parseCursor(flags.cursor);
  const isPaged = flags.limit !== undefined || cursor !== undefined;
  return await printing(async (output) => {
    // Not with a handler for signals: one call of SQLite may take minutes, in which nobody could listen.
    const isStoreDamaged = flags.check && (await isDamaged(name));
    const found = await collect(name, filter, flags, isStoreDamaged);
    if (typeof found === "number") return found;
    const page = pageOf(found.entries, limit, cursor);
    await (flags.json ? printJson(page, isPaged, output) : printTable(page, output));
    await output.flush();
    for (const note of notesOn(found.seen, page, name, isPaged && !flags.json))
      process.stderr.write(`${note}\n`);
    if (isStoreDamaged) process.stderr.write(`holdfast: ${damageText(name)}\n`);
    return flags.check && (isStoreDamaged || found.corrupt > 0) ? EXIT.corrupt : EXIT.ok;
  });
}

/** `holdfast sessions list --ids`: nothing but the ids, in the order of the store, without reading a session. */
export function listIds(raw: RawOptions, argument: string | undefined): Promise<number> {
  const name = chosenStore(raw, argument);
  return printing(async (output) => {
    await using store = await openStoreReadOnly(name, { clock: Date.now });
    for await (const { id } of summaries(store)) await output.write(`${printableLine(id)}\n`);
    return EXIT.ok;
  });
}

interface Found {
  readonly entries: readonly SessionEntry[];
  /** Sessions that were looked at, whether they fit or not. */
  readonly seen: number;
  /** Those of them that were read and found corrupt. */
  readonly corrupt: number;
}

/** The sessions that fit, in the order of the store; an exit code where it was told to stop. */
async function collect(
  name: StoreName,
  filter: ListFilter,
  flags: ListFlags,
  isStoreDamaged: boolean,
): Promise<Found | number> {
  await using store = await openStoreReadOnly(name, { clock: Date.now });
  using stop = new StopSignals();
  using progress = new Progress();
  const cache = flags.cache ? userCache(name) : undefined;
  const entries: SessionEntry[] = [];
  let seen = 0;
  let corrupt = 0;
  const options = {
    isFresh: flags.check,
    isWanted: (summary: SessionSummary) => {
      seen += 1;
      return filter.isWanted(summary);
    },
    onProgress: (at: OutlineProgress) => progress.show(progressText(at)),
    signal: stop.signal,
    ...(cache === undefined ? {} : { cache }),
  };
  try {
    for await (const session of outlines(store, options)) {
      const entry = toEntry(session, isStoreDamaged);
      if (entry.state === "corrupt") corrupt += 1;
      if (filter.fits(entry)) entries.push(entry);
    }
    return { entries, seen, corrupt };
  } catch (error) {
    if (stop.code === undefined) throw error;
    progress.clear();
    process.stderr.write("holdfast: stopped before the end\n");
    return stop.code;
  }
}

/** Whether the storage below the sessions is damaged, by its own check. */
async function isDamaged(name: StoreName): Promise<boolean> {
  using progress = new Progress();
  progress.show("the store itself");
  await using examiner = await openExaminer(name);
  for await (const report of verifyStore(examiner)) {
    if (report.kind === "finding" && report.finding.code === "store-damaged") return true;
  }
  return false;
}

async function printJson({ entries, total, nextCursor }: ListPage, isPaged: boolean, output: Output) {
  for (const entry of entries) await output.write(`${jsonText(entryJson(entry))}\n`);
  if (isPaged) await output.write(`${jsonText({ page: { total, nextCursor } })}\n`);
}

async function printTable({ entries }: ListPage, output: Output): Promise<void> {
  if (entries.length === 0) return;
  // A terminal that does not know its width says 0.
  const width = process.stdout.isTTY === true ? process.stdout.columns || 80 : undefined;
  for (const line of sessionTable(entries, width)) await output.write(line);
}

function notesOn(
  seen: number,
  { entries, total, nextCursor }: ListPage,
  name: StoreName,
  isPaged: boolean,
): readonly string[] {
  const store = printableLine(formatStoreName(name));
  if (seen === 0) return [`There is no session in ${store}`];
  if (total === 0) return [`None of the ${counted(seen, "session")} in ${store} fits`];
  const next = nextCursor === undefined ? "" : `; the next: --cursor ${nextCursor}`;
  return isPaged ? [`${grouped(entries.length)} of ${counted(total, "session")}${next}`] : [];
}

function damageText(name: StoreName): string {
  return `${printableLine(formatStoreName(name))} itself is damaged; \`holdfast sessions verify\` says where`;
}

function progressText({ id, number, of, events }: OutlineProgress): string {
  const read = events === 0 ? "" : `, ${counted(events, "event")}`;
  return `reading session ${grouped(number)} of ${grouped(of)}${read}: ${id}`;
}
