import { storeAndIds } from "../../host/store-options.ts";
import { type RawOptions, UsageError } from "../../host/usage.ts";
import type { StoreExaminer } from "../../store/examiner.ts";
import { openExaminer } from "../../store/open-examiner.ts";
import { formatStoreName, type StoreName } from "../../store/store-name.ts";
import { type VerifyProgress, type VerifyReport, verifySessions, verifyStore } from "../../store/verify.ts";
import { counted } from "../counted.ts";
import { EXIT } from "../exit-codes.ts";
import { jsonText } from "../json-text.ts";
import { type Output, printing } from "../output.ts";
import { printableLine } from "../printable.ts";
import { Progress } from "../progress.ts";
import { StopSignals } from "../stop-signals.ts";
import { outputColumns } from "../wrap.ts";
import { onlyIdWith, tellMissing } from "./session-id.ts";
import { reportJson, reportText, VerifySummary } from "./verify-report.ts";

export interface VerifyOptions {
  readonly all: boolean;
  readonly json: boolean;
}

/**
 * `holdfast sessions verify`: checks a store and its sessions, all or those named, and tells what is wrong line by line
 * while it goes on. Reads only.
 */
export function verify(
  raw: RawOptions,
  args: readonly string[],
  { all, json }: VerifyOptions,
): Promise<number> {
  const { name, ids } = storeAndIds(raw, args);
  if (all && ids.length > 0) {
    const hint = "`holdfast sessions verify --help` says how it is used.";
    throw new UsageError("--all and single sessions exclude each other", hint);
  }
  return printing((output) => run(name, ids, json, output));
}

async function run(
  name: StoreName,
  given: readonly string[],
  json: boolean,
  output: Output,
): Promise<number> {
  await using examiner = await openExaminer(name);
  const ids = await resolveIds(examiner, given, name);
  using progress = new Progress();
  const summary = new VerifySummary();
  const print = async (report: VerifyReport) => {
    summary.add(report);
    const text = json ? jsonText(reportJson(report, name)) : reportText(report, name, outputColumns());
    progress.clear();
    if (text !== undefined) await output.write(`${text}\n`);
    await output.flush();
  };
  progress.show("the store itself");
  for await (const report of verifyStore(examiner)) await print(report);
  // Not before: one call of SQLite may take minutes, in which nobody could listen, and a signal ends the process at once.
  using stop = new StopSignals();
  const onProgress = (state: VerifyProgress) => progress.show(progressText(state, summary.sessions + 1));
  const { isStoreDamaged } = summary;
  const options = { onProgress, isStoreDamaged, signal: stop.signal, ...(ids.length === 0 ? {} : { ids }) };
  for await (const report of verifySessions(examiner, options)) await print(report);
  progress.clear();
  if (stop.code !== undefined) {
    process.stderr.write("holdfast: stopped before the end\n");
    return stop.code;
  }
  if (summary.sessions + summary.missing === 0) {
    const where = printableLine(formatStoreName(name));
    const text =
      summary.errors === 0
        ? `There is no session in ${where}`
        : `No session can be found in ${where} as it is; a repair may find some`;
    process.stderr.write(`${text}\n`);
  }
  await output.write(`${json ? jsonText(summary.json()) : summary.text(ids, name)}\n`);
  await output.flush();
  tellMissing(summary.missing, name);
  if (summary.errors > 0) return EXIT.corrupt;
  return summary.missing > 0 ? EXIT.notFound : EXIT.ok;
}

function progressText({ id, events, share }: VerifyProgress, number: number): string {
  const read = counted(events, "event");
  return `session ${number}, ${share === undefined ? read : `${Math.floor(100 * share)}%, ${read}`}: ${id}`;
}

/** The ids that are meant. One that no session has, nor begins with, stays as it is, and is told as missing. */
async function resolveIds(
  examiner: StoreExaminer,
  given: readonly string[],
  name: StoreName,
): Promise<readonly string[]> {
  if (given.length === 0) return given;
  const missing = new Set(given);
  for await (const { id } of examiner.sessions(given)) missing.delete(id);
  if (missing.size === 0) return given;
  const all: { readonly id: string }[] = [];
  for await (const { id } of examiner.sessions()) all.push({ id });
  const ids: string[] = [];
  for (const id of given) {
    const isKnown = !missing.has(id) || !all.some((session) => session.id.startsWith(id));
    ids.push(isKnown ? id : await onlyIdWith(id, all, name));
  }
  return ids;
}
