import { decodeHeader, type SessionHeader } from "../../session/header.ts";
import { decodeRecord } from "../../session/records.ts";
import { CorruptError, UnsupportedFormatError } from "../errors.ts";
import { type Finding, findingOf } from "../finding.ts";
import { readHead } from "./head.ts";
import type { LogFile } from "./log-file.ts";
import { endOfLine, type Stretch, type StretchStart, stretchesOf } from "./resync.ts";
import { tryUtf8 } from "./utf8.ts";

/* The beginning of a log, whatever state it is in: what is left of its header, and where its records begin. */

export interface Beginning {
  /** The header line as stored, where it can be read as text; a first line that is a record is none. */
  readonly headerText?: string;
  /** Absent where that is no header of version 0. */
  readonly header?: SessionHeader;
  /** What is wrong with the header. */
  readonly finding?: Finding;
  /** Absent where the records are of another version. */
  readonly body?: Body;
}

/** Where the records begin. */
export interface Body extends StretchStart {
  /** Lines that share the first frame with the header. */
  readonly lead: Buffer;
}

const NEWLINE = 0x0a;
const NOTHING = Buffer.alloc(0);

/** Reads the beginning of a log. @throws StorageFailedError when the file cannot be read */
export function readBeginning(file: LogFile): Beginning {
  try {
    const { headerText, bodyOffset } = readHead(file);
    if (isRecord(headerText)) return headless(file);
    return withHeader(file, headerText, { offset: bodyOffset, row: 2, lead: NOTHING });
  } catch (error) {
    if (!(error instanceof CorruptError || error instanceof UnsupportedFormatError)) throw error;
    const { place, message } = error;
    const at = { path: file.path, offset: 0, row: 1, ...place };
    const isCorrupt = error instanceof CorruptError;
    return withoutHead(
      file,
      isCorrupt ? findingOf("header-damaged", error, at) : { code: "header-damaged", message, place: at },
    );
  }
}

function withHeader(file: LogFile, headerText: string, body: Body): Beginning {
  const place = { path: file.path, offset: 0, row: 1 };
  try {
    return { headerText, header: decodeHeader(headerText, place), body };
  } catch (error) {
    if (error instanceof CorruptError) {
      return { headerText, finding: findingOf("header-damaged", error), body };
    }
    if (!(error instanceof UnsupportedFormatError)) throw error;
    const { message } = error;
    return { headerText, finding: { code: "unsupported-version", message, place } };
  }
}

/** A log of which the first line is a record: the header is lost, or this is a piece of a log. */
function headless(file: LogFile): Beginning {
  return {
    finding: {
      code: "header-damaged",
      message: "The log has no header",
      expected: "a session header as its first line",
      found: "a record",
      place: { path: file.path, offset: 0, row: 1 },
    },
    body: { offset: 0, row: 1, lead: NOTHING },
  };
}

/** What follows where no header line can be read. */
function withoutHead(file: LogFile, finding: Finding): Beginning {
  if (file.encoding === "none") {
    return { finding, body: { offset: endOfLine(file, 0), row: 2, lead: NOTHING } };
  }
  const first = firstStretch(file);
  if (first === undefined) return { finding, body: { offset: 0, row: 1, lead: NOTHING } };
  if (first.kind === "bad") return { finding, body: { offset: first.end, row: 2, lead: NOTHING } };
  // A sound frame of several lines, or of half a line.
  const end = first.content.indexOf(NEWLINE) + 1;
  const text = tryUtf8(first.content.subarray(0, Math.max(0, end - 1)));
  if (text === undefined || isRecord(text)) return { ...headless(file), finding };
  const body = { offset: first.end, row: 2, lead: first.content.subarray(end) };
  return { finding, ...withHeader(file, text, body) };
}

function firstStretch(file: LogFile): Stretch | undefined {
  for (const stretch of stretchesOf(file, { offset: 0, row: 1 }, false)) {
    if (stretch.kind !== "pause") return stretch;
  }
  return undefined;
}

function isRecord(text: string): boolean {
  try {
    decodeRecord(text, {});
    return true;
  } catch {
    return false;
  }
}
