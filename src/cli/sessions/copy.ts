import { UsageError } from "../../host/usage.ts";
import { copySession } from "../../store/copy.ts";
import { HoldfastError } from "../../store/errors.ts";
import { openStore, openStoreReadOnly } from "../../store/open-store.ts";
import type { SessionPersistence } from "../../store/persistence.ts";
import {
  formatStoreName,
  isSameStore,
  parseStoreName,
  parseWholeStoreName,
  type StoreName,
} from "../../store/store-name.ts";
import { counted } from "../counted.ts";
import { EXIT, exitCodeFor } from "../exit-codes.ts";
import { jsonText } from "../json-text.ts";
import { type Output, printingOn } from "../output.ts";
import { printableLine } from "../printable.ts";
import { Progress } from "../progress.ts";
import { StopSignals } from "../stop-signals.ts";
import { type CopyReport, refusalOf, reportText, summaryText, toReport } from "./copy-report.ts";
import { isGone, tellGone } from "./gone.ts";
import { resolveSessionId } from "./session-id.ts";
import { summaries } from "./summaries.ts";

const HINT = "`holdfast sessions copy --help` says how it is used.";
/** After such an error no other session can be written either. */
const FATAL = new Set(["storage-full", "closed"]);

export interface CopyCommand {
  readonly from: string;
  readonly to: string;
  readonly all: boolean;
  readonly json: boolean;
  /** Of session logs that are made in the target. */
  readonly encoding?: "zstd" | "none";
}

/** A session that was asked for. */
interface Wanted {
  readonly id: string;
  /** Why it cannot be copied, where that is known before. */
  readonly refusal?: CopyReport;
}

/** `holdfast sessions copy`: copies sessions one by one. Fails with the code of the first one that could not be copied. */
export async function copy(ids: readonly string[], command: CopyCommand): Promise<number> {
  if (command.all && ids.length > 0)
    throw new UsageError("--all and single sessions exclude each other", HINT);
  if (!command.all && ids.length === 0)
    throw new UsageError("No session is named", `Name some, or say --all. ${HINT}`);
  const from = parseWholeStoreName(command.from);
  const to = parseStoreName(command.to);
  if (isSameStore(from, to)) throw new UsageError("--from and --to name the same store", HINT);
  // After a second one, too, what is written is whole, and the lock is freed with the process.
  using stop = new StopSignals();
  const code = await printingOn((output) => run(ids, command, { from, to, signal: stop.signal, output }));
  if (stop.code === undefined) return code;
  process.stderr.write("holdfast: stopped; the same command goes on from here\n");
  return stop.code;
}

async function run(
  ids: readonly string[],
  { all, json, encoding }: CopyCommand,
  { from, to, signal, output }: { from: StoreName; to: StoreName; signal: AbortSignal; output: Output },
): Promise<number> {
  await using source = await openStoreReadOnly(from, { clock: Date.now });
  const wanted = all ? await everySession(source) : await namedSessions(source, ids, from);
  // Where nothing can be copied, no store is made for it.
  const isNeeded = wanted.some(({ refusal }) => refusal === undefined);
  await using target = isNeeded
    ? await openStore(to, {
        clock: Date.now,
        chunkWindowMs: 0,
        thread: "process",
        ...(encoding === undefined ? {} : { encoding }),
      })
    : undefined;
  const reports: CopyReport[] = [];
  let gone = 0;
  using progress = new Progress();
  for (const { id, refusal } of wanted) {
    if (signal.aborted) break;
    const place = `${reports.length + gone + 1} of ${wanted.length}: ${id}`;
    progress.show(place);
    const onShare = (share: string) => progress.show(`${place}, ${share}`);
    const report = refusal ?? (await copyOne(source, target, { id, mayBeGone: all }, signal, onShare));
    if (report === undefined) break;
    if (report === "gone") {
      gone += 1;
      continue;
    }
    reports.push(report);
    progress.clear();
    await output.write(json ? `${jsonText(report)}\n` : reportText(report));
    await output.flush();
    if (report.state === "failed" && FATAL.has(report.code)) break;
  }
  if (wanted.length === 0)
    process.stderr.write(`There is no session in ${printableLine(formatStoreName(from))}\n`);
  else if (!json) await output.write(summaryText(reports));
  tellGone(gone);
  const left = wanted.length - reports.length - gone;
  if (left > 0) process.stderr.write(`holdfast: ${left} of ${wanted.length} sessions are left\n`);
  const failed = reports.filter((report) => report.state === "failed");
  const [first] = failed;
  if (first === undefined) return EXIT.ok;
  // Also where nobody looks at the reports.
  const others = failed.length === 1 ? "" : `, and ${counted(failed.length - 1, "other")}`;
  process.stderr.write(`holdfast: ${printableLine(first.id)} was not copied${others}\n`);
  return exitCodeFor(first.code);
}

/** Nothing where it was told to stop; `gone` where it was deleted before anything of it was written. */
async function copyOne(
  source: SessionPersistence,
  target: SessionPersistence | undefined,
  { id, mayBeGone }: { readonly id: string; readonly mayBeGone: boolean },
  signal: AbortSignal,
  onShare: (share: string) => void,
): Promise<CopyReport | "gone" | undefined> {
  if (target === undefined) return undefined;
  let isBegun = false;
  const onProgress = (events: number, total: number) => {
    isBegun = true;
    onShare(`${Math.floor((100 * events) / total)}%`);
  };
  try {
    const result = await copySession(source, target, id, { signal, onProgress });
    const isMissed = mayBeGone && !isBegun && result.state === "failed" && isGone(result.error);
    return isMissed ? "gone" : toReport(result);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** The oldest first, so that the copies are listed in the order of their originals. */
async function everySession(source: SessionPersistence): Promise<Wanted[]> {
  const wanted: Wanted[] = [];
  for await (const summary of summaries(source)) {
    const refusal = refusalOf(summary);
    wanted.push({ id: summary.id, ...(refusal === undefined ? {} : { refusal }) });
  }
  return wanted.reverse();
}

/** The named sessions, each once. */
async function namedSessions(
  source: SessionPersistence,
  ids: readonly string[],
  from: StoreName,
): Promise<Wanted[]> {
  const wanted = new Map<string, Wanted>();
  for (const given of ids) {
    let id = given;
    try {
      id = await resolveSessionId(source, given, from);
      if (wanted.has(id)) continue;
      await source.stream(id);
      wanted.set(id, { id });
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      wanted.set(id, { id, refusal: toReport({ id, state: "failed", error }) });
    }
  }
  return [...wanted.values()];
}
