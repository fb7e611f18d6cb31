import { resolve } from "node:path";
import { storeAndIds } from "../../host/store-options.ts";
import { type RawOptions, UsageError } from "../../host/usage.ts";
import { decodeHeader } from "../../session/header.ts";
import type { DecodedRecord, SessionRecord } from "../../session/records.ts";
import { recordTexts } from "../../session/records.ts";
import { isRunType } from "../../session/runs.ts";
import { breathe } from "../../store/breathe.ts";
import { LogDigest } from "../../store/digest.ts";
import { NotFoundError } from "../../store/errors.ts";
import { TORN_END } from "../../store/finding.ts";
import { openStoreReadOnly, storePaths } from "../../store/open-store.ts";
import { resolveStorePath } from "../../store/paths.ts";
import type { SessionPersistence, SessionStream } from "../../store/persistence.ts";
import { PrivateFile } from "../../store/private-file.ts";
import type { StoreName } from "../../store/store-name.ts";
import { EXIT } from "../exit-codes.ts";
import { jsonText } from "../json-text.ts";
import { type Output, printing } from "../output.ts";
import { printableLine } from "../printable.ts";
import { Progress } from "../progress.ts";
import { StopSignals } from "../stop-signals.ts";
import { type ExportFormat, type FormatName, formatOfFile, openFormat } from "./formats/format.ts";
import { RedactedRecords } from "./redact/redacted-records.ts";
import { Redactor } from "./redact/redactor.ts";

const HINT = "`holdfast sessions export --help` says how it is used.";
const PAGE = 2_500;

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

/** What was written of one session, as `--json` prints it. Source: docs/cli.md. */
interface ExportReport {
  readonly id: string;
  readonly events: number;
  readonly digest: string;
  readonly torn: boolean;
  readonly masked?: number;
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
  if (flags.file !== undefined) assertOutside(flags.file, name);
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
  const wanted = flags.all ? await everySession(store) : [...new Set(ids)];
  // Before a file is made: one that is misspelt must leave none.
  for (const id of wanted) await openStream(store, id, name);
  using file = path === undefined ? undefined : new PrivateFile(path, { replace: flags.force });
  const sink = file ?? output;
  const chosen = flags.format ?? (path === undefined ? undefined : formatOfFile(path)) ?? "md";
  const format = await openFormat(chosen);
  // Without a file the output itself shows how far it is, and a signal may end it at once.
  using stop = file === undefined ? undefined : new StopSignals();
  using progress = new Progress();
  const reports: ExportReport[] = [];
  await sink.write(format.begin());
  for (const [k, id] of wanted.entries()) {
    const place = `${k + 1} of ${wanted.length}: ${id}`;
    const onEvents = (events: number) => {
      stop?.signal.throwIfAborted();
      if (file !== undefined) progress.show(`${place}, ${events} events`);
    };
    try {
      reports.push(await writeSession(await openStream(store, id, name), format, sink, redactor, onEvents));
    } catch (error) {
      progress.clear();
      if (stop?.code === undefined) {
        // What precedes the damage is shown.
        await output.flush();
        throw error;
      }
      process.stderr.write("holdfast: stopped; no file was made\n");
      return stop.code;
    }
  }
  await sink.write(format.end());
  progress.clear();
  file?.publish();
  if (flags.json && file !== undefined) {
    const masked = redactor === undefined ? {} : { masked: redactor.masked };
    const { path: written, bytes } = file;
    await output.write(
      `${jsonText({ file: written, format: chosen, bytes, ...masked, sessions: reports })}\n`,
    );
  }
  await output.flush();
  for (const note of notesOn(reports, redactor)) process.stderr.write(`holdfast: ${note}\n`);
  return EXIT.ok;
}

/** @throws CorruptError after what precedes the damage was written */
async function writeSession(
  stream: SessionStream,
  format: ExportFormat,
  sink: TextSink,
  redactor: Redactor | undefined,
  onEvents: (events: number) => void,
): Promise<ExportReport> {
  const before = redactor?.masked ?? 0;
  const headerText = redactor === undefined ? stream.headerText : maskedHeader(stream.headerText, redactor);
  const header = redactor === undefined ? stream.header : decodeHeader(headerText, {});
  await sink.write(format.beginSession({ header, headerText }));
  const digest = new LogDigest();
  const records = redactor === undefined ? undefined : new RedactedRecords(redactor);
  for await (const page of stream.pages) {
    await breathe();
    onEvents(digest.events);
    for (const { record } of shownOf(page, format, digest)) {
      const singles = records === undefined ? singlesOf(record) : records.take(record);
      for (const single of singles) await sink.write(format.event(single));
    }
  }
  for (const single of records?.end() ?? []) await sink.write(format.event(single));
  const masked = redactor === undefined ? {} : { masked: redactor.masked - before };
  const tail = { events: digest.events, digest: digest.hex(), torn: stream.torn(), ...masked };
  await sink.write(format.endSession(tail));
  return { id: stream.header.id, ...tail };
}

/** The records of a page that the format has; all of them count. */
function* shownOf(
  page: readonly DecodedRecord[],
  format: ExportFormat,
  digest: LogDigest,
): Generator<DecodedRecord> {
  for (const decoded of page) {
    digest.add(decoded.record);
    if (format.shows(decoded.record)) yield decoded;
  }
}

function* singlesOf(record: SessionRecord): Generator<SessionRecord> {
  if (!isRunType(record.type)) yield record;
  else
    for (const [k, text] of recordTexts(record).entries())
      yield { seq: record.seq + k, count: 1, type: "assistant/chunk", time: record.time, text };
}

function maskedHeader(headerText: string, redactor: Redactor): string {
  return JSON.stringify(redactor.value(JSON.parse(headerText)));
}

async function openStream(
  store: SessionPersistence,
  id: string,
  { path }: StoreName,
): Promise<SessionStream> {
  try {
    return await store.stream(id);
  } catch (error) {
    throw error instanceof NotFoundError ? new NotFoundError(id, path) : error;
  }
}

/** The oldest first. */
async function everySession(store: SessionPersistence): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    for (const { id } of page.items) ids.push(id);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return ids.reverse();
}

/** @throws UsageError where the file would lie in the store that is read */
function assertOutside(file: string, name: StoreName): void {
  const path = resolveStorePath(resolve(file));
  const isInside = storePaths(name).some((own) => path === own || path.startsWith(`${own}/`));
  if (isInside) throw new UsageError("-o names a file of the store itself", "Name a file outside of it.");
}

function notesOn(reports: readonly ExportReport[], redactor: Redactor | undefined): string[] {
  const notes = reports.flatMap(({ id, torn }) =>
    torn ? [`${printableLine(id)}: the ${TORN_END}; that piece is left out`] : [],
  );
  if (redactor === undefined) return notes;
  const { masked } = redactor;
  return [...notes, `${masked} ${masked === 1 ? "place was" : "places were"} masked`];
}
