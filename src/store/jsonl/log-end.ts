import type { Place } from "../../session/errors.ts";
import { decodeRun, isNatural, isRunType } from "../../session/runs.ts";
import { clip } from "../../session/text.ts";
import { CorruptError, StorageFailedError } from "../errors.ts";
import { TORN_END } from "../finding.ts";
import { decodeFrame } from "./frame-codec.ts";
import { readHead } from "./head.ts";
import { LogFile, type LogLocation } from "./log-file.ts";
import type { LogEnd } from "./open-log.ts";
import { walkFrames } from "./units.ts";
import { decodeUtf8 } from "./utf8.ts";

/* Finds where a log ends without reading what it holds: the frames' structure, or the last line. */

const NEWLINE = 0x0a;
const WINDOW = 64 * 1024;

/**
 * The end of the log, counting its bytes up to `limit`.
 * @throws StorageFailedError when its last batch is torn; CorruptError when it cannot be read
 */
export function findEnd(location: LogLocation, sessionId: string, limit?: number): LogEnd {
  using file = new LogFile(location, limit);
  const line = location.encoding === "zstd" ? lastFramedLine(file) : lastPlainLine(file);
  const place = { path: file.path, sessionId };
  if (line === undefined) return { size: file.size, next: 0 };
  return { size: file.size, next: seqAfter(decodeUtf8(line, place), place) };
}

/** Seq after the record of a line. Only that is looked at: this runs on the storage thread, which loads no schemas. */
function seqAfter(text: string, place: Place): number {
  const row = tryObject(text);
  const type = row?.["type"];
  if (row !== undefined && typeof type === "string") {
    const run = isRunType(type) ? decodeRun(type, row) : undefined;
    if (typeof run === "object") return run.seq0 + run.texts.length;
    const seq = row["seq"];
    if (run === undefined && isNatural(seq)) return seq + 1;
  }
  throw new CorruptError("The last line of the log is not a record", {
    expected: "an event or a packed run",
    found: JSON.stringify(clip(text, 40)),
    place,
  });
}

function tryObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined; // not JSON
  }
}

/** The last line, unless that is the header. */
function lastFramedLine(file: LogFile): Buffer | undefined {
  const { bodyOffset } = readHead(file);
  let content: Buffer | undefined;
  for (const { offset, walk, bytes, start } of walkFrames(file, bodyOffset)) {
    if (walk.kind !== "frame") throw torn(file, offset);
    if (offset + walk.end - start < file.size) continue;
    const decoded = decodeFrame(bytes.subarray(start, walk.end), walk);
    if (decoded.kind !== "content") throw torn(file, offset);
    content = decoded.content;
  }
  if (content === undefined) return undefined;
  const line = content.subarray(content.lastIndexOf(NEWLINE, -2) + 1, -1);
  if (content.at(-1) === NEWLINE) return line;
  throw new CorruptError("The last frame does not end with a whole line", {
    expected: "a line feed at its end",
    found: "a line without one",
    place: { path: file.path },
  });
}

function lastPlainLine(file: LogFile): Buffer | undefined {
  const { bodyOffset } = readHead(file);
  for (let length = WINDOW; ; length *= 4) {
    const from = Math.max(bodyOffset, file.size - length);
    const bytes = file.read(from, length);
    if (bytes.length === 0) return undefined;
    if (bytes.at(-1) !== NEWLINE) throw torn(file, from + bytes.lastIndexOf(NEWLINE) + 1);
    const before = bytes.length === 1 ? -1 : bytes.lastIndexOf(NEWLINE, -2);
    if (before >= 0) return bytes.subarray(before + 1, -1);
    if (from === bodyOffset) return bytes.subarray(0, -1);
  }
}

function torn({ path }: LogFile, offset: number): StorageFailedError {
  return new StorageFailedError(`The ${TORN_END}`, {
    place: { path, offset },
    hint: "Open the session again: that sets the torn tail aside and goes on behind it.",
  });
}
