import { decodeHeader, type SessionHeader } from "../../../session/header.ts";
import { type DecodedRecord, recordTexts, type SessionRecord } from "../../../session/records.ts";
import { isRunType, memberTexts } from "../../../session/runs.ts";
import { breathe } from "../../../store/breathe.ts";
import { LogDigest } from "../../../store/digest.ts";
import type { SessionStream } from "../../../store/persistence.ts";
import { pagesIn } from "../show/read-session.ts";
import { untilDamage } from "../show/read-shown.ts";
import type { ExportedSession } from "./export-report.ts";
import type { ExportFormat } from "./formats/format.ts";
import { RedactedRecords } from "./redact/redacted-records.ts";
import type { Redactor } from "./redact/redactor.ts";
import type { Survey } from "./survey.ts";

/** Takes text, and waits where it must. */
export interface TextSink {
  write(text: string): Promise<void>;
}

/** How sessions are written. */
export interface Writing {
  readonly format: ExportFormat;
  readonly sink: TextSink;
  /** Absent where nothing is to be masked. */
  readonly redactor: Redactor | undefined;
  /** Told how many events of the session were written. */
  readonly onEvents: (events: number) => void;
}

/**
 * Writes one session, as far as it was surveyed, or to its end.
 * @throws CorruptError after what precedes the damage was written
 */
export async function writeSession(
  stream: SessionStream,
  survey: Survey | undefined,
  { format, sink, redactor, onEvents }: Writing,
): Promise<ExportedSession> {
  redactor?.know(survey?.secrets);
  const before = redactor?.masked ?? 0;
  await sink.write(format.beginSession({ ...maskedHeader(stream, redactor), facts: survey ?? {} }));
  const digest = new LogDigest();
  const records = redactor === undefined ? undefined : new RedactedRecords(redactor);
  const failure = await untilDamage(async () => {
    for await (const page of surveyedPages(stream, survey)) {
      await breathe();
      onEvents(digest.events);
      for (const decoded of shownOf(page, format, digest)) {
        const { record, run } = decoded;
        const singles = records === undefined ? singlesOf(decoded) : records.take(record, run);
        for (const single of singles) await sink.write(format.event(single));
      }
    }
  });
  for (const single of records?.end() ?? []) await sink.write(format.event(single));
  await sink.write(format.rest());
  const damage = failure ?? survey?.damage;
  if (damage !== undefined) throw damage;
  const masked = redactor === undefined ? {} : { masked: redactor.masked - before };
  const torn = survey?.torn ?? stream.torn();
  const tail = { events: digest.events, digest: digest.hex(), torn, ...masked };
  await sink.write(format.endSession(tail));
  return { id: stream.header.id, ...tail };
}

/** The header as it is written. */
export function maskedHeader(
  { header, headerText: stored }: Pick<SessionStream, "header" | "headerText">,
  redactor: Redactor | undefined,
): { readonly header: SessionHeader; readonly headerText: string } {
  if (redactor === undefined) return { header, headerText: stored };
  const headerText = redactor.json(stored);
  return { header: decodeHeader(headerText, {}), headerText };
}

/** What a session that goes on has beyond its survey was not looked at: its secrets are not known. */
function surveyedPages(
  stream: SessionStream,
  survey: Survey | undefined,
): AsyncIterable<readonly DecodedRecord[]> {
  return survey === undefined ? stream.pages : pagesIn(stream, { from: 0, to: survey.events - 1 });
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

function* singlesOf({ record, run }: DecodedRecord): Generator<SessionRecord> {
  if (!isRunType(record.type)) yield record;
  else
    for (const [k, text] of (run === undefined ? recordTexts(record) : memberTexts(run)).entries())
      yield { seq: record.seq + k, count: 1, type: "assistant/chunk", time: record.time, text };
}
