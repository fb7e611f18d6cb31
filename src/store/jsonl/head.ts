import { CorruptError } from "../errors.ts";
import { decodeFrame } from "./frame-codec.ts";
import { walkFrame } from "./frame-walker.ts";
import type { Encoding } from "./layout.ts";
import type { LogFile } from "./log-file.ts";
import { tooLarge } from "./units.ts";
import { decodeUtf8 } from "./utf8.ts";

/** The beginning of a log: its first line, which is the header. */
export interface LogHead {
  /** As it is stored. */
  readonly headerText: string;
  /** Where the first record begins. */
  readonly bodyOffset: number;
}

/** A listing reads this much of each log; nearly every header and first record fits in. */
export const GLANCE = 4 * 1024;
/** Longest header line, and longest first record that a listing looks at, in bytes. */
const MAX_LINE = 1024 * 1024;
const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Reads the header line. @throws CorruptError when it was never fully written or is damaged */
export function readHead(file: LogFile): LogHead {
  const place = { path: file.path, offset: 0, row: 1 };
  const few = firstLine(file.read(0, GLANCE), file.encoding);
  const line =
    few.kind === "cut" && file.size > GLANCE ? firstLine(file.read(0, MAX_LINE), file.encoding) : few;
  if (line.kind === "cut" && file.size > MAX_LINE) throw tooLarge(file.path, 0);
  if (line.kind !== "line") {
    throw new CorruptError("The log has no header", {
      expected: "a session header as its first line",
      found: file.size === 0 ? "an empty file" : line.found,
      place,
    });
  }
  // An editor may have put a mark before the first line; it is no part of it.
  const isMarked =
    file.encoding === "none" && line.content.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const content = line.content.subarray(isMarked ? BYTE_ORDER_MARK.length : 0, -1);
  if (content.includes(NEWLINE)) {
    throw new CorruptError("The first frame is not one header line", {
      expected: "one line",
      found: "several lines",
      place,
    });
  }
  return { headerText: decodeUtf8(content, place), bodyOffset: line.end };
}

/** What stands at the beginning of some bytes. */
export type FirstLine =
  | { readonly kind: "line"; readonly content: Buffer; readonly end: number }
  | { readonly kind: "cut" | "bad"; readonly found: string };

/** The first frame, or the first plain line, of these bytes, with the line feed that ends it. */
export function firstLine(bytes: Buffer, encoding: Encoding): FirstLine {
  if (encoding === "none") {
    const end = bytes.indexOf(NEWLINE) + 1;
    if (end === 0) return { kind: "cut", found: "a line without an end" };
    return { kind: "line", content: bytes.subarray(0, end), end };
  }
  const walk = walkFrame(bytes, 0);
  if (walk.kind === "cut") return { kind: "cut", found: "the end of the file" };
  if (walk.kind === "bad") return walk;
  if (walk.bound > MAX_LINE) return { kind: "bad", found: "a line that is too long" };
  const decoded = decodeFrame(bytes.subarray(0, walk.end), walk);
  if (decoded.kind !== "content") return { kind: "bad", found: "content that does not match its checksum" };
  const { content } = decoded;
  if (content.at(-1) !== NEWLINE) return { kind: "bad", found: "a line without an end" };
  return { kind: "line", content, end: walk.end };
}
