import type { Place } from "../../session/errors.ts";
import { type DecodedRecord, decodeRecord } from "../../session/records.ts";
import { clip } from "../../session/text.ts";
import { CorruptError } from "../errors.ts";
import type { FindingCode } from "../finding.ts";
import { splitLines } from "./line-decoder.ts";
import { tryUtf8 } from "./utf8.ts";

/* The lines of one unit, each for itself: whatever seqs they have, and past those that are no records. */

/** A line, or blank ones in a row, by its place in the unit's content. */
export type CheckedLine = {
  /** How many lines it is. */
  readonly count: number;
  /** Where it begins and ends; its line feed, if it has one, is the last byte. */
  readonly start: number;
  readonly end: number;
} & Decoded;

/** A record, or why a line is none. */
type Decoded =
  | { readonly record: DecodedRecord; readonly fault?: never }
  | { readonly record?: never; readonly fault: LineFault };

export interface LineFault {
  readonly code: Extract<FindingCode, "damaged" | "malformed">;
  readonly what: string;
  readonly expected: string;
  /** Worked out when somebody asks: garbage may be millions of lines. */
  readonly found: () => string;
  /** What the record itself tells of it. */
  readonly place?: Place;
}

const NEWLINE = 0x0a;

/** The records of a content that holds nothing else; nothing when it does. This is how sound logs are read. */
export function tryRecords(content: Buffer): DecodedRecord[] | undefined {
  const texts = content.length === 0 ? undefined : splitLines(content);
  if (texts === undefined) return undefined;
  try {
    return texts.map((text) => decodeRecord(text, {}));
  } catch (error) {
    if (error instanceof CorruptError) return undefined;
    throw error;
  }
}

/** Each line of a content. */
export function* checkLines(content: Buffer): Generator<CheckedLine> {
  for (let start = 0; start < content.length; ) {
    const newline = content.indexOf(NEWLINE, start);
    if (newline === start) {
      const end = endOfBlank(content, start);
      yield { start, end, count: end - start, fault: BLANK };
      start = end;
      continue;
    }
    const end = newline < 0 ? content.length : newline + 1;
    const decoded = newline < 0 ? { fault: PARTIAL } : decode(content.subarray(start, newline));
    yield { start, end, count: 1, ...decoded };
    start = end;
  }
}

/** Where the line feeds that begin at `start` end. */
function endOfBlank(content: Buffer, start: number): number {
  let end = start + 1;
  while (content[end] === NEWLINE) end += 1;
  return end;
}

const BLANK: LineFault = {
  code: "malformed",
  what: "A line is blank",
  expected: "one JSON object",
  found: () => "nothing",
};
const PARTIAL: LineFault = {
  code: "malformed",
  what: "A frame does not end with a whole line",
  expected: "a line feed at its end",
  found: () => "a line without one",
};
const NO_TEXT: LineFault = {
  code: "damaged",
  what: "A line is not UTF-8",
  expected: "valid UTF-8",
  found: () => "other bytes",
};

/** The text of a line, without the line feed that ends it; nothing where it is not UTF-8. */
export function textOfLine(content: Buffer, { start, end, record }: CheckedLine): string | undefined {
  if (record !== undefined) return record.record.text;
  return tryUtf8(content.subarray(start, content[end - 1] === NEWLINE ? end - 1 : end));
}

function decode(line: Buffer): Decoded {
  const text = tryUtf8(line);
  if (text === undefined) return { fault: NO_TEXT };
  // Garbage may be millions of lines, and an error for each takes its time.
  if (!/^[ \t\r]*\{/.test(text)) return { fault: notObject(text) };
  try {
    return { record: decodeRecord(text, {}) };
  } catch (error) {
    if (!(error instanceof CorruptError)) throw error;
    const { what, expected, found, place } = error;
    return { fault: { code: "malformed", what, expected, found: () => found, place } };
  }
}

function notObject(text: string): LineFault {
  const found = () => JSON.stringify(clip(text, 40));
  return { code: "malformed", what: "A record is not a JSON object", expected: "one JSON object", found };
}
