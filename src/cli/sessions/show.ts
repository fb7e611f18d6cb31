import { chosenStore } from "../../host/store-options.ts";
import type { RawOptions } from "../../host/usage.ts";
import { recordTexts } from "../../session/records.ts";
import { HoldfastError, NotFoundError } from "../../store/errors.ts";
import { TORN_END } from "../../store/finding.ts";
import { openStoreReadOnly } from "../../store/open-store.ts";
import type { SessionPersistence, SessionStream } from "../../store/persistence.ts";
import type { StoreName } from "../../store/store-name.ts";
import { EXIT, reportError } from "../exit-codes.ts";
import { jsonText } from "../json-text.ts";
import { type Output, printing } from "../output.ts";
import { printableLine } from "../printable.ts";
import { readSession, type SessionReading } from "./read-session.ts";
import { entryText, headText, tailText } from "./transcript-text.ts";

/** `holdfast sessions show`: what was said, one JSON object, or every event as it is stored. */
export function show(
  raw: RawOptions,
  argument: string | undefined,
  id: string,
  form: "text" | "json" | "events",
): Promise<number> {
  const name = chosenStore(raw, argument);
  return printing(async (output) => {
    await using store = await openStoreReadOnly(name, { clock: Date.now });
    const stream = await openStream(store, id, name);
    if (form === "events") return await printEvents(stream, output);
    const reading = await readSession(stream);
    await (form === "json" ? printJson : printText)(reading, output);
    await output.flush();
    for (const note of notesOn(reading)) process.stderr.write(`holdfast: ${note}\n`);
    return reading.damage === undefined ? EXIT.ok : reportError(reading.damage);
  });
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

/** One event a line, in the bytes that are stored. */
async function printEvents(stream: SessionStream, output: Output): Promise<number> {
  try {
    for await (const page of stream.pages) {
      for (const { record } of page) for (const text of recordTexts(record)) await output.write(`${text}\n`);
    }
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    // What precedes the damage is shown.
    await output.flush();
    return reportError(error);
  }
  await output.flush();
  if (stream.torn()) process.stderr.write(`holdfast: ${TORN}\n`);
  return EXIT.ok;
}

/** The shape is in docs/cli.md. The transcript is last and written entry by entry: it may be long. */
async function printJson(reading: SessionReading, output: Output): Promise<void> {
  const { header, events, digest, torn, unknownTypes, closers, usage, damage, transcript } = reading;
  const problem = damage === undefined ? {} : { problem: problemOf(damage) };
  const head = jsonText({ header, events, digest, torn, unknownTypes, closers, ...problem, usage });
  await output.write(`${head.slice(0, -1)},"transcript":[`);
  let separator = "";
  for (const entry of transcript) {
    await output.write(separator + jsonText(entry));
    separator = ",";
  }
  await output.write("]}\n");
}

function problemOf({ code, message, place }: HoldfastError): object {
  return { code, reason: message, place };
}

async function printText(reading: SessionReading, output: Output): Promise<void> {
  await output.write(headText(reading));
  for (const entry of reading.transcript) await output.write(entryText(entry));
  await output.write(tailText(reading));
}

const TORN = `the ${TORN_END}; that piece is left out`;

function notesOn({ torn, unknownTypes, closers }: SessionReading): string[] {
  const notes = unknownTypes.map(
    ({ type, seq }) =>
      `the log holds events of the unknown type ${printableLine(JSON.stringify(type))}, the first at seq ${seq}; ` +
      "this version cannot resume it",
  );
  if (torn) notes.push(TORN);
  if (closers.length > 0) notes.push("the last Turn is open: it is running now, or it was interrupted");
  return notes;
}
