import { dirname, resolve } from "node:path";
import { storeAndIds } from "../../../host/store-options.ts";
import { type RawOptions, UsageError } from "../../../host/usage.ts";
import { lookAt } from "../../../store/look-at.ts";
import { openStoreReadOnly, storePaths } from "../../../store/open-store.ts";
import { resolveStorePath } from "../../../store/paths.ts";
import type { SessionPersistence } from "../../../store/persistence.ts";
import { PrivateFile } from "../../../store/private-file.ts";
import { formatStoreName, type StoreName } from "../../../store/store-name.ts";
import { jsonText } from "../../json-text.ts";
import { type Output, printing } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { Progress } from "../../progress.ts";
import { StopSignals } from "../../stop-signals.ts";
import { tellGone } from "../gone.ts";
import { resolveSessionId } from "../session-id.ts";
import { idsOldestFirst } from "../summaries.ts";
import { ExportJob } from "./export-job.ts";
import { ExportReport } from "./export-report.ts";
import { type FormatName, formatOfFile, openFormat } from "./formats/format.ts";
import { Redactor } from "./redact/redactor.ts";

const HINT = "`holdfast sessions export --help` says how it is used.";

/** What is said of a file to write that cannot be looked at. */
const UNUSABLE = "The path that -o names cannot be used";

export interface ExportFlags {
  readonly all: boolean;
  /** That of the file's name, or Markdown where it has no ending, when absent. */
  readonly format?: FormatName;
  /** File to write; standard output when absent. */
  readonly file?: string;
  readonly force: boolean;
  /** Whether to mask what looks like a secret. */
  readonly redact: boolean;
  /** Masked as well. */
  readonly patterns: readonly string[];
  readonly json: boolean;
}

/** `holdfast sessions export`: sessions as text, for people or for programs, to standard output or into a new file. */
export function exportSessions(
  raw: RawOptions,
  args: readonly string[],
  flags: ExportFlags,
): Promise<number> {
  const { name, ids } = storeAndIds(raw, args);
  if (flags.all && ids.length > 0) throw new UsageError("--all and single sessions exclude each other", HINT);
  if (!flags.all && ids.length === 0)
    throw new UsageError("No session is named", `Name some, or say --all. ${HINT}`);
  if (flags.json && flags.file === undefined)
    throw new UsageError("--json needs -o: the report would stand within the sessions", HINT);
  const isRedacting = flags.redact || flags.patterns.length > 0;
  const redactor = isRedacting ? new Redactor(flags.patterns) : undefined;
  if (flags.file !== undefined) assertUsable(flags.file, name);
  const chosen = flags.format ?? formatFor(flags.file);
  return printing((output) => run(name, ids, { ...flags, redactor, chosen }, output));
}

async function run(
  name: StoreName,
  ids: readonly string[],
  flags: ExportFlags & { readonly redactor: Redactor | undefined; readonly chosen: FormatName },
  output: Output,
): Promise<number> {
  const { file: path, redactor, chosen } = flags;
  await using store = await openStoreReadOnly(name, { clock: Date.now });
  // Before a file is made: an id that is misspelt must leave none.
  const wanted = flags.all ? await idsOldestFirst(store) : await namedSessions(store, ids, name);
  if (flags.all && wanted.length === 0)
    process.stderr.write(`holdfast: there is no session in ${printableLine(formatStoreName(name))}\n`);
  using file = path === undefined ? undefined : new PrivateFile(path, { replace: flags.force });
  const format = await openFormat(chosen, file === undefined && process.stdout.isTTY === true, (text) =>
    redactor === undefined ? text : redactor.text(text),
  );
  // To a terminal or a pipe, the output itself shows how far it is, and a signal may end it at once.
  using stop = file === undefined ? undefined : new StopSignals();
  using progress = new Progress();
  const report = new ExportReport();
  const job = new ExportJob(store, wanted, {
    format,
    sink: file ?? output,
    redactor,
    report,
    // One among several is whole or left out; of one alone what precedes its damage is shown.
    isAlone: !flags.all && wanted.length === 1,
    isAll: flags.all,
    onEvents: (what) => {
      stop?.signal.throwIfAborted();
      if (what === undefined) progress.clear();
      else progress.show(what);
    },
    isQuiet: file === undefined && !isWrittenDown(),
  });
  try {
    await job.write();
  } catch (error) {
    progress.clear();
    if (stop?.code === undefined) {
      await output.flush();
      throw error;
    }
    process.stderr.write("holdfast: stopped; no file was made\n");
    return stop.code;
  }
  progress.clear();
  if (file !== undefined && report.isHollow) process.stderr.write("holdfast: no file was made\n");
  else if (file !== undefined) file.publish();
  if (file !== undefined && flags.json) {
    const masked = redactor === undefined ? {} : { masked: redactor.masked };
    const { path: written, bytes } = file;
    const { sessions, failed } = report;
    await output.write(
      `${jsonText({ file: written, format: chosen, bytes, ...masked, sessions, failed })}\n`,
    );
  } else if (file !== undefined && path !== undefined && !report.isHollow) {
    await output.write(`${printableLine(report.summary(path, file.bytes))}\n`);
  }
  await output.flush();
  tellGone(report.gone);
  for (const note of report.notes(redactor?.masked)) process.stderr.write(`holdfast: ${note}\n`);
  return report.exitCode;
}

/** The sessions that were named, each once. @throws NotFoundError, AmbiguousIdError */
async function namedSessions(
  store: SessionPersistence,
  ids: readonly string[],
  name: StoreName,
): Promise<string[]> {
  const found = new Set<string>();
  for (const id of ids) found.add(await resolveSessionId(store, id, name));
  return [...found];
}

/** Whether standard output goes into a file. */
function isWrittenDown(): boolean {
  try {
    return lookAt("/dev/stdout") === "file";
  } catch {
    return false; // there is no telling
  }
}

/** @throws UsageError where the name of the file tells another format than there is */
function formatFor(file: string | undefined): FormatName {
  const format = file === undefined ? "md" : formatOfFile(file);
  if (format !== undefined) return format;
  throw new UsageError(
    `-o names a file of a format that sessions are not written in: ${JSON.stringify(file)}`,
    "Let its name end in .md, .html, .json or .jsonl, or say --format.",
  );
}

/** @throws UsageError where the file would lie in the store that is read, or cannot be one */
function assertUsable(file: string, name: StoreName): void {
  if (file === "") throw new UsageError("-o names no file", "Name one, or leave it out.");
  const folder = dirname(resolve(file));
  const around = lookAt(folder, UNUSABLE);
  const shown = JSON.stringify(folder);
  if (around === undefined)
    throw new UsageError(`-o names a file in a folder that is not there: ${shown}`, "Make the folder first.");
  if (around !== "folder")
    throw new UsageError(`-o names a file in what is no folder: ${shown}`, "Name another path.");
  const kind = lookAt(resolve(file), UNUSABLE);
  if (kind === "folder") throw new UsageError("-o names a folder", "Name a file in it.");
  if (file.endsWith("/")) {
    const what = kind === undefined ? "a folder that is not there" : "a file as if it were a folder";
    throw new UsageError(`-o names ${what}`, "Leave the slash at the end out, or name a file in a folder.");
  }
  if (kind === "other")
    throw new UsageError("-o names no file", "Leave it out, and redirect the output there.");
  const path = resolveStorePath(file);
  const isInside = storePaths(name).some((own) => path === own || path.startsWith(`${own}/`));
  if (isInside) throw new UsageError("-o names a file of the store itself", "Name a file outside of it.");
}
