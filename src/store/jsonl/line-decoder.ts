import type { Place } from "../../session/errors.ts";
import { type DecodedRecord, decodeRecord } from "../../session/records.ts";
import { assertNext } from "../cold-read.ts";
import { CorruptError, HoldfastError } from "../errors.ts";
import type { Encoding } from "./layout.ts";
import { decodeUtf8, tryUtf8 } from "./utf8.ts";

/* From the content of one unit to its records; line-encoder.ts is the way there. */

const NEWLINE = 0x0a;

/** The records of a unit, up to the first line that is not what must come next. */
export interface DecodedLines {
  readonly records: readonly DecodedRecord[];
  /** Seq after the records. */
  readonly next: number;
  /** Why the line after them is refused, if there is one, and where it begins in the content. */
  readonly fault?: { readonly error: HoldfastError; readonly start: number };
}

/**
 * Decodes the lines of `content`, of which the first event must have the seq `next`.
 * @param decode how a line is read, as long as nothing is wrong
 */
export function decodeLines(
  content: Buffer,
  next: number,
  place: Place,
  encoding: Encoding,
  decode = decodeRecord,
): DecodedLines {
  // A frame of nothing: no batch is empty.
  if (content.length === 0) return { records: [], next, fault: { error: partialLine(place), start: 0 } };
  const texts = splitLines(content);
  if (texts === undefined) return decodeSlowly(content, next, place, encoding);
  const records: DecodedRecord[] = [];
  let seq = next;
  for (const text of texts) {
    try {
      const decoded = decode(text, place);
      if (decoded.record.seq !== seq) return decodeSlowly(content, next, place, encoding);
      records.push(decoded);
      seq += decoded.record.count;
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      // Where a bad line begins, and which seq it should have, is only worked out for that one.
      return decodeSlowly(content, next, place, encoding);
    }
  }
  return { records, next: seq };
}

/** Line by line, so that the first bad one is known by its bytes. */
function decodeSlowly(content: Buffer, next: number, place: Place, encoding: Encoding): DecodedLines {
  const records: DecodedRecord[] = [];
  let seq = next;
  for (let start = 0; start < content.length; ) {
    const newline = content.indexOf(NEWLINE, start);
    const end = newline < 0 ? content.length : newline;
    // A line in a frame has no place of its own in the file; the frame has.
    const at =
      encoding === "none" && place.offset !== undefined ? { ...place, offset: place.offset + start } : place;
    try {
      if (newline < 0) throw partialLine(at);
      const decoded = decodeNext(decodeUtf8(content.subarray(start, end), at), seq, at);
      records.push(decoded);
      seq += decoded.record.count;
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      return { records, next: seq, fault: { error, start } };
    }
    start = end + 1;
  }
  return { records, next: seq };
}

function decodeNext(text: string, next: number, place: Place): DecodedRecord {
  const decoded = decodeRecord(text, { ...place, seq: next });
  assertNext(place.sessionId ?? "", decoded.record, next, place);
  return decoded;
}

/** The lines of a content that is whole lines of valid UTF-8, or nothing. Only `\n` ends a line. */
export function splitLines(content: Buffer): string[] | undefined {
  if (content.at(-1) !== NEWLINE) return undefined;
  const lines = tryUtf8(content)?.split("\n");
  lines?.pop();
  return lines;
}

/** Whether the first line of `content` is a record in its place, well-formed but for its details. */
export function isWholeRecord(content: Buffer, next: number): boolean {
  try {
    const value: unknown = JSON.parse(decodeUtf8(content.subarray(0, content.indexOf(NEWLINE)), {}));
    if (typeof value !== "object" || value === null || !("type" in value)) return false;
    return ("seq" in value && value.seq === next) || ("seq0" in value && value.seq0 === next);
  } catch {
    return false; // not UTF-8, or not JSON
  }
}

function partialLine(place: Place): CorruptError {
  return new CorruptError("A frame does not end with a whole line", {
    expected: "a line feed at its end",
    found: "a line without one",
    place,
  });
}
