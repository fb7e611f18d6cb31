import { decodeHeader, type SessionHeader } from "../../session/header.ts";
import type { SessionProblem } from "../backend.ts";
import { CorruptError, HoldfastError } from "../errors.ts";
import { toProblem } from "../reading.ts";
import { decodeFrame } from "./frame-codec.ts";
import { walkFrame } from "./frame-walker.ts";
import { decodeLines, decodeUtf8 } from "./lines.ts";
import { LogFile, type LogLocation } from "./log-file.ts";
import { unitsOf } from "./units.ts";

/** The beginning of a log: its first line, which is the header. */
export interface LogHead {
  /** As it is stored. */
  readonly headerText: string;
  /** Where the first record begins. */
  readonly bodyOffset: number;
}

/** A listing reads this much of each log; nearly every header and first record fits in. */
const GLANCE = 4 * 1024;
const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Reads the header line. @throws CorruptError when it was never fully written or is damaged */
export function readHead(file: LogFile): LogHead {
  const place = { path: file.path, offset: 0, row: 1 };
  const first = unitsOf(file, 0, false).next().value;
  if (first === undefined || first.kind === "break") {
    throw new CorruptError("The log has no header", {
      expected: "a session header as its first line",
      found: first?.found ?? "an empty file",
      place,
    });
  }
  const { content } = first;
  const newline = content.indexOf(NEWLINE);
  if (file.encoding === "zstd") {
    if (newline >= 0 && newline === content.length - 1) {
      return { headerText: decodeUtf8(content.subarray(0, newline), place), bodyOffset: first.end };
    }
    throw new CorruptError("The first frame is not one header line", {
      expected: "one line",
      found: newline < 0 ? "a line without an end" : "several lines",
      place,
    });
  }
  // An editor may have put a mark before the first line; it is no part of it.
  const start = content.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? BYTE_ORDER_MARK.length
    : 0;
  return { headerText: decodeUtf8(content.subarray(start, newline), place), bodyOffset: newline + 1 };
}

/** What a listing learns from the first bytes of a log. */
export interface Glance {
  readonly headerText: string;
  readonly header?: SessionHeader;
  /** Why the header, or the first record, cannot be read. */
  readonly problem?: SessionProblem;
}

/** Looks at header and first record of a log; the first record only where it lies in the bytes read for the header. */
export function glanceAt(location: LogLocation): Glance {
  let headerText = "";
  try {
    using file = new LogFile(location);
    const head = readHead(file);
    headerText = head.headerText;
    const header = decodeHeader(headerText, { path: location.path });
    const problem = firstRecordProblem(file, head, header.id);
    return { headerText, header, ...(problem === undefined ? {} : { problem }) };
  } catch (error) {
    if (error instanceof HoldfastError) return { headerText, problem: toProblem(error) };
    throw error;
  }
}

function firstRecordProblem(
  file: LogFile,
  { bodyOffset }: LogHead,
  sessionId: string,
): SessionProblem | undefined {
  const bytes = file.read(bodyOffset, GLANCE - bodyOffset);
  const content = file.encoding === "zstd" ? firstFrame(bytes) : bytes;
  const newline = content?.indexOf(NEWLINE) ?? -1;
  if (content === undefined || newline < 0) return undefined;
  const place = { path: file.path, sessionId, offset: bodyOffset };
  const { fault } = decodeLines(content.subarray(0, newline + 1), 0, place);
  return fault === undefined ? undefined : toProblem(fault.error);
}

function firstFrame(bytes: Buffer): Buffer | undefined {
  const walk = walkFrame(bytes, 0);
  if (walk.kind !== "frame") return undefined;
  const decoded = decodeFrame(bytes.subarray(0, walk.end), walk.bound);
  return decoded.kind === "content" ? decoded.content : undefined;
}
