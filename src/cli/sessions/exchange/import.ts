import { UsageError } from "../../../host/usage.ts";
import { breathe } from "../../../store/breathe.ts";
import { type CopySource, copySession } from "../../../store/copy.ts";
import { HoldfastError } from "../../../store/errors.ts";
import { examinedSource } from "../../../store/examined-source.ts";
import type { ExaminedSession } from "../../../store/examiner.ts";
import { lookAt } from "../../../store/look-at.ts";
import { storePaths } from "../../../store/open-store.ts";
import { salvageSession } from "../../../store/salvage.ts";
import { isSameStore, parseStoreName, type StoreName } from "../../../store/store-name.ts";
import { EXIT, exitCodeFor } from "../../exit-codes.ts";
import { jsonText } from "../../json-text.ts";
import { type Output, printingOn } from "../../output.ts";
import { Progress } from "../../progress.ts";
import { StopSignals } from "../../stop-signals.ts";
import { LazyStore } from "../lazy-store.ts";
import { readSessions } from "./formats/reader.ts";
import {
  failedReport,
  type ImportReport,
  ImportSummary,
  reportJson,
  reportText,
  toReport,
} from "./import-report.ts";

const HINT = "`holdfast sessions import --help` says how it is used.";
/** After such an error no other session can be written either. */
const FATAL = new Set(["storage-full", "closed"]);

export interface ImportCommand {
  readonly to: string;
  /** Whether what is left of damaged sessions is taken over into new ones. */
  readonly salvage: boolean;
  readonly json: boolean;
  /** Of session logs that are made in the target. */
  readonly encoding?: "zstd" | "none";
}

/**
 * `holdfast sessions import`: takes sessions of files and folders into a store, each event as it is. Fails with the code
 * of the first one that could not be imported.
 */
export async function importSessions(paths: readonly string[], command: ImportCommand): Promise<number> {
  if (paths.length === 0) throw new UsageError("No file or folder is named", HINT);
  const to = parseStoreName(command.to);
  for (const path of paths) {
    if (path === "" || path.includes("\0")) throw new UsageError(`${JSON.stringify(path)} is no path`, HINT);
    if (path === "-") throw new UsageError("Sessions are not read from stdin", "Name a file, or a folder.");
    // What is not there is told of as a file that cannot be read.
    if (lookAt(path, "What is to be imported cannot be read") === undefined) continue;
    // Of the files of a database none may be opened beside it: that drops its lock.
    if (isSameStore({ kind: "jsonl", path }, to) || (to.kind === "sqlite" && isOneOf(path, storePaths(to))))
      throw new UsageError("The store itself would be imported into it", HINT);
  }
  using stop = new StopSignals();
  const code = await printingOn((output) => run(paths, command, to, stop.signal, output));
  if (stop.code === undefined) return code;
  process.stderr.write("holdfast: stopped; the same command goes on from here\n");
  return stop.code;
}

async function run(
  paths: readonly string[],
  command: ImportCommand,
  to: StoreName,
  signal: AbortSignal,
  output: Output,
): Promise<number> {
  await using target = new LazyStore(to, command.encoding);
  const summary = new ImportSummary();
  using progress = new Progress();
  const print = async (report: ImportReport) => {
    summary.add(report);
    progress.clear();
    await output.write(command.json ? `${jsonText(reportJson(report))}\n` : reportText(report));
    await output.flush();
    return report.state === "failed" && FATAL.has(report.code);
  };
  for (const path of paths) {
    let number = 0;
    try {
      for await (const session of readSessions(path, command.to)) {
        if (signal.aborted) return EXIT.ok;
        number += 1;
        const place = `${path}, session ${number}: ${session.id}`;
        progress.show(place);
        const onShare = (share: string) => progress.show(`${place}, ${share}`);
        const report = await importOne(session, path, target, command.salvage, signal, onShare);
        if (report === undefined) return EXIT.ok;
        if (await print(report)) return exitCodeFor(summary.failure ?? "");
      }
    } catch (error) {
      // The target, which nothing can be written to, is no failure of one file.
      if (!(error instanceof HoldfastError) || error === target.failure) throw error;
      await print(failedReport(path, error));
    }
  }
  if (summary.read === 0 && summary.failure === undefined)
    process.stderr.write("There is no session to import\n");
  else await output.write(command.json ? `${jsonText(summary.json())}\n` : summary.text());
  return summary.failure === undefined ? EXIT.ok : exitCodeFor(summary.failure);
}

function isOneOf(path: string, others: readonly string[]): boolean {
  return others.some((other) => isSameStore({ kind: "jsonl", path }, { kind: "jsonl", path: other }));
}

/** Nothing where it was told to stop. */
async function importOne(
  session: ExaminedSession,
  file: string,
  target: LazyStore,
  isSalvaging: boolean,
  signal: AbortSignal,
  onShare: (share: string) => void,
): Promise<ImportReport | undefined> {
  // A log may lie in the folder of another id.
  const id = session.header?.id ?? session.id;
  const { location } = session;
  const source = examinedSource(session);
  try {
    // Where nothing can be imported, no store is made for it.
    const refusal = target.isAsked ? undefined : await refusalOf(source, id);
    const onProgress = (events: number, total: number) => onShare(`${Math.floor((100 * events) / total)}%`);
    const options = { signal, onProgress, mayHaveMore: true };
    const result =
      refusal === undefined
        ? await copySession(source, await target.open(), id, options)
        : ({ id, state: "failed", error: refusal } as const);
    if (result.state !== "failed" || result.error.code !== "corrupt" || !isSalvaging)
      return toReport({ file, location, tail: source.tail }, result);
    const salvaged = await salvageSession(session, () => target.open(), { clock: Date.now, signal });
    return toReport({ file, location }, salvaged);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** Why a session cannot be imported, if so: it is read to its end. */
async function refusalOf(source: CopySource, id: string): Promise<HoldfastError | undefined> {
  try {
    const { pages } = await source.stream(id);
    for await (const _ of pages) await breathe();
    return undefined;
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
}
