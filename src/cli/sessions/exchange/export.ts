import { dirname, resolve } from "node:path";
import { storeAndIds } from "../../../host/store-options.ts";
import { type RawOptions, UsageError } from "../../../host/usage.ts";
import { decodeHeader } from "../../../session/header.ts";
import { type DecodedRecord, recordTexts, type SessionRecord } from "../../../session/records.ts";
import { isRunType } from "../../../session/runs.ts";
import { breathe } from "../../../store/breathe.ts";
import { LogDigest } from "../../../store/digest.ts";
import { lookAt } from "../../../store/look-at.ts";
import { openStoreReadOnly, storePaths } from "../../../store/open-store.ts";
import { resolveStorePath } from "../../../store/paths.ts";
import type { SessionPersistence, SessionStream } from "../../../store/persistence.ts";
import { PrivateFile } from "../../../store/private-file.ts";
import { formatStoreName, type StoreName } from "../../../store/store-name.ts";
import { jsonText } from "../../json-text.ts";
import { type Output, printing } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { Progress } from "../../progress.ts";
import { StopSignals } from "../../stop-signals.ts";
import { resolveSessionId } from "../session-id.ts";
import { untilDamage } from "../show/read-shown.ts";
import { summaries } from "../summaries.ts";
import { type ExportedSession, ExportReport } from "./export-report.ts";
import { type ExportFormat, type FormatName, formatOfFile, openFormat } from "./formats/format.ts";
import { RedactedRecords } from "./redact/redacted-records.ts";
import { Redactor } from "./redact/redactor.ts";

const HINT = "`holdfast sessions export --help` says how it is used.";

export interface ExportFlags {
  readonly all: boolean;
  /** That of the file's name, or Markdown, when absent. */
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

/** Takes text, and waits where it must. */
interface TextSink {
  write(text: string): Promise<void>;
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
  return printing((output) => run(name, ids, { ...flags, redactor }, output));
}

async function run(
  name: StoreName,
  ids: readonly string[],
  flags: ExportFlags & { readonly redactor: Redactor | undefined },
  output: Output,
): Promise<number> {
  const { file: path, redactor } = flags;
  await using store = await openStoreReadOnly(name, { clock: Date.now });
  // Before a file is made: an id that is misspelt must leave none.
  const wanted = flags.all ? await everySession(store) : await namedSessions(store, ids, name);
  if (flags.all && wanted.length === 0)
    process.stderr.write(`holdfast: there is no session in ${printableLine(formatStoreName(name))}\n`);
  using file = path === undefined ? undefined : new PrivateFile(path, { replace: flags.force });
  const sink = file ?? output;
  const chosen = flags.format ?? (path === undefined ? undefined : formatOfFile(path)) ?? "md";
  const format = await openFormat(chosen, file === undefined && process.stdout.isTTY === true, (text) =>
    redactor === undefined ? text : redactor.text(text),
  );
  // To a terminal or a pipe, the output itself shows how far it is, and a signal may end it at once.
  using stop = file === undefined ? undefined : new StopSignals();
  using progress = new Progress();
  const isQuiet = file === undefined && !isWrittenDown();
  const report = new ExportReport();
  await sink.write(format.begin());
  for (const [k, id] of wanted.entries()) {
    const onEvents = (events: number) => {
      stop?.signal.throwIfAborted();
      if (!isQuiet) progress.show(`${k + 1} of ${wanted.length}: ${id}, ${events} events`);
    };
    try {
      // One among several is whole or left out; of one alone what precedes its damage is shown.
      if ((flags.all || wanted.length > 1) && !(await isReadable(store, id, report, onEvents))) continue;
      report.sessions.push(await writeSession(await store.stream(id), format, sink, redactor, onEvents));
    } catch (error) {
      progress.clear();
      if (stop?.code === undefined) {
        await output.flush();
        throw error;
      }
      process.stderr.write("holdfast: stopped; no file was made\n");
      return stop.code;
    }
  }
  await sink.write(format.end());
  progress.clear();
  if (report.isHollow && file !== undefined) process.stderr.write("holdfast: no file was made\n");
  else file?.publish();
  if (flags.json && file !== undefined) {
    const masked = redactor === undefined ? {} : { masked: redactor.masked };
    const { path: written, bytes } = file;
    const { sessions, failed } = report;
    await output.write(
      `${jsonText({ file: written, format: chosen, bytes, ...masked, sessions, failed })}\n`,
    );
  }
  await output.flush();
  for (const note of report.notes(redactor?.masked)) process.stderr.write(`holdfast: ${note}\n`);
  return report.exitCode;
}

/** Whether a session can be read to its end. Notes why not. */
async function isReadable(
  store: SessionPersistence,
  id: string,
  report: ExportReport,
  onEvents: (events: number) => void,
): Promise<boolean> {
  try {
    const { pages } = await store.stream(id);
    for await (const _ of pages) {
      await breathe();
      onEvents(0);
    }
    return true;
  } catch (error) {
    report.leaveOut(id, error);
    return false;
  }
}

/** @throws CorruptError after what precedes the damage was written */
async function writeSession(
  stream: SessionStream,
  format: ExportFormat,
  sink: TextSink,
  redactor: Redactor | undefined,
  onEvents: (events: number) => void,
): Promise<ExportedSession> {
  const before = redactor?.masked ?? 0;
  const headerText = redactor?.json(stream.headerText) ?? stream.headerText;
  const header = redactor === undefined ? stream.header : decodeHeader(headerText, {});
  await sink.write(format.beginSession({ header, headerText }));
  const digest = new LogDigest();
  const records = redactor === undefined ? undefined : new RedactedRecords(redactor);
  const damage = await untilDamage(async () => {
    for await (const page of stream.pages) {
      await breathe();
      onEvents(digest.events);
      for (const { record } of shownOf(page, format, digest)) {
        const singles = records === undefined ? singlesOf(record) : records.take(record);
        for (const single of singles) await sink.write(format.event(single));
      }
    }
  });
  for (const single of records?.end() ?? []) await sink.write(format.event(single));
  await sink.write(format.rest());
  if (damage !== undefined) throw damage;
  const masked = redactor === undefined ? {} : { masked: redactor.masked - before };
  const tail = { events: digest.events, digest: digest.hex(), torn: stream.torn(), ...masked };
  await sink.write(format.endSession(tail));
  return { id: stream.header.id, ...tail };
}

/** The records of a page that the format shows by themselves; all of them count. */
function* shownOf(
  page: readonly DecodedRecord[],
  format: ExportFormat,
  digest: LogDigest,
): Generator<DecodedRecord> {
  for (const decoded of page) {
    digest.add(decoded.record);
    if (format.shows(decoded.record)) yield decoded;
    else format.pass(decoded.record);
  }
}

function* singlesOf(record: SessionRecord): Generator<SessionRecord> {
  if (!isRunType(record.type)) yield record;
  else
    for (const [k, text] of recordTexts(record).entries())
      yield { seq: record.seq + k, count: 1, type: "assistant/chunk", time: record.time, text };
}

/** The sessions that were named, each once. @throws NotFoundError, AmbiguousIdError */
async function namedSessions(
  store: SessionPersistence,
  ids: readonly string[],
  { path }: StoreName,
): Promise<string[]> {
  const found = new Set<string>();
  for (const id of ids) found.add(await resolveSessionId(store, id, path));
  return [...found];
}

/** The oldest first. */
async function everySession(store: SessionPersistence): Promise<string[]> {
  // Several files may claim one id.
  const ids = new Set<string>();
  for await (const { id } of summaries(store)) ids.add(id);
  return [...ids].reverse();
}

/** Whether standard output goes into a file. */
function isWrittenDown(): boolean {
  try {
    return lookAt("/dev/stdout") === "file";
  } catch {
    return false; // there is no telling
  }
}

/** @throws UsageError where the file would lie in the store that is read, or cannot be one */
function assertUsable(file: string, name: StoreName): void {
  const path = resolveStorePath(resolve(file));
  const isInside = storePaths(name).some((own) => path === own || path.startsWith(`${own}/`));
  if (isInside) throw new UsageError("-o names a file of the store itself", "Name a file outside of it.");
  const kind = lookAt(file);
  if (kind === "folder") throw new UsageError("-o names a folder", "Name a file in it.");
  if (lookAt(dirname(resolve(file))) === undefined)
    throw new UsageError("-o names a file in a folder that is not there", "Make the folder first.");
  if (kind === "other")
    throw new UsageError("-o names no file", "Leave it out, and redirect the output there.");
}
