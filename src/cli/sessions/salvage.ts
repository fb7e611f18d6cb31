import { UsageError } from "../../host/usage.ts";
import { NotFoundError } from "../../store/errors.ts";
import type { ExaminedSession } from "../../store/examiner.ts";
import { type SalvageOptions, type SalvageResult, salvageSession } from "../../store/salvage.ts";
import { openSalvageSource, type SalvageSource } from "../../store/salvage-source.ts";
import { isSameStore, parseStoreName, type StoreName } from "../../store/store-name.ts";
import { EXIT, exitCodeFor } from "../exit-codes.ts";
import { jsonText } from "../json-text.ts";
import { type Output, printingOn } from "../output.ts";
import { printableLine } from "../printable.ts";
import { Progress } from "../progress.ts";
import { StopSignals } from "../stop-signals.ts";
import { LazyStore } from "./lazy-store.ts";
import { reportText, type SalvageReport, summaryText, toReport } from "./salvage-report.ts";

const HINT = "`holdfast sessions salvage --help` says how it is used.";
/** After such an error no other session can be written either. */
const FATAL = new Set(["storage-full", "closed"]);

export interface SalvageCommand {
  readonly from: string;
  readonly to: string;
  /** Id of the new session. */
  readonly id?: string;
  /** Sound sessions of a store, too. */
  readonly all: boolean;
  readonly json: boolean;
  /** Of session logs that are made in the target. */
  readonly encoding?: "zstd" | "none";
}

/**
 * `holdfast sessions salvage`: takes what is left of damaged sessions over into new ones. Fails with the code of the
 * first one that failed, or with that of damage where nothing at all is left.
 */
export async function salvage(ids: readonly string[], command: SalvageCommand): Promise<number> {
  if (command.all && ids.length > 0)
    throw new UsageError("--all and single sessions exclude each other", HINT);
  if (command.id === "") throw new UsageError("--id cannot be empty", HINT);
  const to = parseStoreName(command.to);
  assertOther(parseStoreName(command.from), to);
  using stop = new StopSignals();
  const code = await printingOn((output) => run(ids, command, to, stop.signal, output));
  if (stop.code === undefined) return code;
  process.stderr.write("holdfast: stopped; the same command goes on from here\n");
  return stop.code;
}

async function run(
  ids: readonly string[],
  command: SalvageCommand,
  to: StoreName,
  signal: AbortSignal,
  output: Output,
): Promise<number> {
  await using source = await openSalvageSource(command.from);
  // A log stands for its database.
  if (source.store !== undefined) assertOther(source.store, to);
  // Taken down first: the new sessions may come into the same root.
  const sessions = await Array.fromAsync(source.sessions(ids.length === 0 ? undefined : [...new Set(ids)]));
  assertOneForId(command, ids, source, sessions);
  await using target = new LazyStore(to, command.encoding);
  const reports: SalvageReport[] = missingOf(ids, sessions, source).map(toReport);
  using progress = new Progress();
  const print = async (report: SalvageReport) => {
    progress.clear();
    await output.write(command.json ? `${jsonText(report)}\n` : reportText(report));
    await output.flush();
  };
  for (const report of reports) await print(report);
  for (const [index, session] of sessions.entries()) {
    if (signal.aborted) break;
    const place = `${index + 1} of ${sessions.length}: ${session.id}`;
    progress.show(place);
    const result = await salvageOne(session, target, {
      clock: Date.now,
      signal,
      onlyDamaged: source.store !== undefined && ids.length === 0 && !command.all,
      ...(command.id === undefined ? {} : { newId: command.id }),
      onProgress: (state) => progress.show(`${place}, ${shareText(state)}`),
    });
    if (result === undefined) break;
    // That is no failure of this session, and none of the others can be written either.
    if (result.state === "failed" && result.error === target.failure) throw result.error;
    const report = toReport(result);
    reports.push(report);
    await print(report);
    if (report.state === "failed" && FATAL.has(report.code)) break;
  }
  if (signal.aborted) return EXIT.ok;
  if (reports.length === 0) process.stderr.write(`There is no session in ${printableLine(command.from)}\n`);
  else if (!command.json) await output.write(summaryText(reports));
  return exitCode(reports);
}

/** @throws UsageError where a database would be read and written at once */
function assertOther(from: StoreName, to: StoreName): void {
  if (to.kind !== "sqlite" || !isSameStore(from, to)) return;
  throw new UsageError(
    "--from and --to name the same database",
    "Salvage into another one: the damaged one is only read.",
  );
}

/** @throws UsageError where a new id is given and it is not for one session */
function assertOneForId(
  { id }: SalvageCommand,
  ids: readonly string[],
  source: SalvageSource,
  sessions: readonly ExaminedSession[],
): void {
  if (id === undefined || sessions.length <= (source.store === undefined || ids.length === 1 ? 1 : 0)) return;
  throw new UsageError("--id is for one session", `Name the one session that it is for. ${HINT}`);
}

/** Nothing where it was told to stop. */
async function salvageOne(
  session: ExaminedSession,
  target: LazyStore,
  options: SalvageOptions & { readonly signal: AbortSignal },
): Promise<SalvageResult | undefined> {
  try {
    return await salvageSession(session, () => target.open(), options);
  } catch (error) {
    if (options.signal.aborted) return undefined;
    throw error;
  }
}

function missingOf(
  ids: readonly string[],
  sessions: readonly ExaminedSession[],
  { file }: SalvageSource,
): SalvageResult[] {
  const found = new Set(sessions.map(({ id }) => id));
  return [...new Set(ids)]
    .filter((id) => !found.has(id))
    .map((id) => ({ id, state: "failed", error: new NotFoundError(id, file) }));
}

function shareText(state: Parameters<NonNullable<SalvageOptions["onProgress"]>>[0]): string {
  if ("read" in state) return `${state.read} events read`;
  return `${Math.floor((100 * state.written) / state.of)}%`;
}

function exitCode(reports: readonly SalvageReport[]): number {
  const failed = reports.find((report) => report.state === "failed");
  if (failed !== undefined) return exitCodeFor(failed.code);
  const isMade = reports.some(({ state }) => state === "salvaged" || state === "there");
  return !isMade && reports.some(({ state }) => state === "empty") ? EXIT.corrupt : EXIT.ok;
}
