import type { Place } from "../../session/errors.ts";
import { type DecodedRecord, decodeRecord } from "../../session/records.ts";
import { assertNext } from "../cold-read.ts";
import { CorruptError, HoldfastError, StorageFailedError } from "../errors.ts";
import { encodeFrame, MAX_FRAME_BYTES } from "./frame-codec.ts";
import type { Encoding } from "./layout.ts";

/* Lines face records here: one batch to its bytes, and the content of one unit to its records. */

const NEWLINE = 0x0a;
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The stored bytes of lines: one frame, or the lines themselves. @throws StorageFailedError when they are too many */
export function encodeLines(texts: readonly string[], encoding: Encoding, path: string): Buffer {
  const bytes = Buffer.from(`${texts.join("\n")}\n`);
  const lines = texts.every((text) => !text.includes("\n"));
  if (lines && bytes.length <= MAX_FRAME_BYTES) return encoding === "zstd" ? encodeFrame(bytes) : bytes;
  const what = lines ? `More than ${MAX_FRAME_BYTES} bytes in one batch` : "A record that spans lines";
  throw new StorageFailedError(`${what} cannot be stored in a session log`, {
    place: { path },
    hint: "Nothing was written. Use a SQLite store for it, or smaller batches.",
  });
}

/** The records of a unit, up to the first line that is not what must come next. */
export interface DecodedLines {
  readonly records: readonly DecodedRecord[];
  /** Seq after the records. */
  readonly next: number;
  /** Why the line after them is refused, if there is one, and where it begins in the content. */
  readonly fault?: { readonly error: HoldfastError; readonly start: number };
}

/** Decodes the lines of `content`, of which the first event must have the seq `next`. */
export function decodeLines(content: Buffer, next: number, place: Place, encoding: Encoding): DecodedLines {
  // A frame of nothing: no batch is empty.
  if (content.length === 0) return { records: [], next, fault: { error: partialLine(place), start: 0 } };
  const texts = splitLines(content);
  if (texts === undefined) return decodeSlowly(content, next, place, encoding);
  const records: DecodedRecord[] = [];
  let seq = next;
  for (const text of texts) {
    try {
      const decoded = decodeRecord(text, place);
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
  try {
    const lines = strictUtf8.decode(content).split("\n");
    lines.pop();
    return lines;
  } catch {
    return undefined;
  }
}

/** @throws CorruptError */
export function decodeUtf8(bytes: Uint8Array, place: Place): string {
  try {
    return strictUtf8.decode(bytes);
  } catch (cause) {
    throw new CorruptError("A line is not UTF-8", {
      expected: "valid UTF-8",
      found: "other bytes",
      place,
      cause,
    });
  }
}

/** Whether the first line of `content` is a record in its place, well-formed but for its details. */
export function isWholeRecord(content: Buffer, next: number): boolean {
  try {
    const value: unknown = JSON.parse(strictUtf8.decode(content.subarray(0, content.indexOf(NEWLINE))));
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
