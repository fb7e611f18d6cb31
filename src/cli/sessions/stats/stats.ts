import { chosenStore, storeAndId } from "../../../host/store-options.ts";
import { type RawOptions, UsageError } from "../../../host/usage.ts";
import { SessionStats } from "../../../session/projections/stats.ts";
import { HoldfastError, NotFoundError } from "../../../store/errors.ts";
import { openStoreReadOnly } from "../../../store/open-store.ts";
import type { SessionPersistence } from "../../../store/persistence.ts";
import { grouped } from "../../counted.ts";
import { EXIT, exitCodeFor } from "../../exit-codes.ts";
import { jsonText } from "../../json-text.ts";
import { localDay, localZone } from "../../local-time.ts";
import { printing } from "../../output.ts";
import { printable } from "../../printable.ts";
import { Progress } from "../../progress.ts";
import { outputColumns } from "../../wrap.ts";
import { isGoneUnread, tellGone } from "../gone.ts";
import { resolveSessionId } from "../session-id.ts";
import { idsOldestFirst } from "../summaries.ts";
import { type Prices, readPrices } from "./prices.ts";
import { statsReport, type Unread } from "./stats-report.ts";
import { statsText } from "./stats-text.ts";

/** Of a long session it is said so often how far its reading is. */
const TOLD_EVENTS = 50_000;
const HINT = "`holdfast sessions stats --help` says how it is used.";

export interface StatsOptions {
  readonly all: boolean;
  readonly json: boolean;
  /** File with prices. */
  readonly prices: string | undefined;
}

/** `holdfast sessions stats`: what one session, or all of a store, hold and used. */
export function stats(
  raw: RawOptions,
  args: readonly [string | undefined, string | undefined],
  options: StatsOptions,
): Promise<number> {
  if (options.all && args[1] !== undefined)
    throw new UsageError("--all and a single session exclude each other", HINT);
  const [first, argument] = options.all ? [undefined, args[0]] : args;
  if (!options.all && first === undefined)
    throw new UsageError("No session is named", `Name one, or say --all. ${HINT}`);
  const { name, id: given } =
    first === undefined
      ? { name: chosenStore(raw, argument), id: undefined }
      : storeAndId(raw, first, argument, ", or say --all");
  const prices: Prices | undefined = options.prices === undefined ? undefined : readPrices(options.prices);
  return printing(async (output) => {
    await using store = await openStoreReadOnly(name, { clock: Date.now });
    const id = given === undefined ? undefined : await resolveSessionId(store, given, name);
    using progress = new Progress();
    // Programs get days that are the same wherever they run.
    const counted = options.json ? new SessionStats() : new SessionStats(localDay);
    const unread: Unread[] = [];
    let sessions = 0;
    let torn = 0;
    let gone = 0;
    for (const next of id === undefined ? await idsOldestFirst(store) : [id]) {
      sessions += 1;
      const place = `session ${grouped(sessions)}: ${next}`;
      if (sessions > 1) progress.show(place);
      try {
        const onEvents = (events: number) => progress.show(`${place}, ${grouped(events)} events`);
        if (await count(store, next, counted, onEvents)) torn += 1;
      } catch (error) {
        if (!(error instanceof HoldfastError)) throw error;
        if (id !== undefined && error instanceof NotFoundError) throw new NotFoundError(id, name.path);
        if (id === undefined && isGoneUnread(error)) {
          gone += 1;
          continue;
        }
        unread.push({ id: next, error });
      }
      counted.nextSession();
    }
    progress.clear();
    const report = statsReport(
      counted,
      { sessions: sessions - gone, torn, unread, ...(id === undefined ? {} : { id }) },
      prices,
    );
    const text = options.json
      ? `${jsonText(report)}\n`
      : statsText(report, { zone: localZone(), width: outputColumns() });
    await output.write(text);
    await output.flush();
    tellGone(gone);
    for (const { error } of unread) process.stderr.write(`holdfast: ${printable(error.explain())}\n`);
    return unread[0] === undefined ? EXIT.ok : exitCodeFor(unread[0].error.code);
  });
}

/** Whether the end of the log is damaged or was never fully written. What precedes damage is counted before it throws. */
async function count(
  store: SessionPersistence,
  id: string,
  counted: SessionStats,
  onEvents: (events: number) => void,
): Promise<boolean> {
  const stream = await store.stream(id);
  let told = 0;
  for await (const page of stream.pages) {
    for (const decoded of page) counted.fold(decoded);
    const seen = page.at(-1)?.record.seq ?? 0;
    if (seen < told + TOLD_EVENTS) continue;
    told = seen;
    onEvents(seen);
  }
  return stream.torn();
}
