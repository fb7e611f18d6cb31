import { UnsupportedFormatError } from "../errors.ts";
import { decodeFrame, MAX_FRAME_BYTES } from "./frame-codec.ts";
import { walkFrame } from "./frame-walker.ts";
import type { LogFile } from "./log-file.ts";

/*
 * A log as a sequence of units: one frame, or a stretch of plain lines. A unit's content is whole lines, unless it is a
 * frame that breaks that rule.
 */

export interface Unit {
  readonly kind: "unit";
  readonly offset: number;
  /** Offset after the unit. */
  readonly end: number;
  readonly content: Buffer;
}

/** Where the structure of the file ends before the file does. */
export interface Break {
  readonly kind: "break";
  readonly offset: number;
  /** What stands there, for people. */
  readonly found: string;
  /** Offset after the last whole block of a frame that the file's end cuts off; `offset` when there is none. */
  readonly blocksEnd: number;
}

/** Bytes read at once. */
const WINDOW = 1024 * 1024;
/** No frame that unfolds to what is allowed is longer than this. */
const MAX_STORED_FRAME = MAX_FRAME_BYTES + MAX_FRAME_BYTES / 64;
/** Plain lines decoded at once, in bytes. */
const LINES = 64 * 1024;
const NEWLINE = 0x0a;

/** The units of a log from `offset` on, which must be where one begins. A break is the last one. */
export function unitsOf(file: LogFile, offset: number): Generator<Unit | Break> {
  return file.encoding === "zstd" ? framesOf(file, offset) : linesOf(file, offset);
}

function* framesOf(file: LogFile, from: number): Generator<Unit | Break> {
  for (const { offset, walk, bytes, start } of walkFrames(file, from)) {
    if (walk.kind === "cut") {
      yield {
        kind: "break",
        offset,
        found: "the end of the file",
        blocksEnd: offset + walk.blocksEnd - start,
      };
      return;
    }
    if (walk.kind === "bad") {
      yield { kind: "break", offset, found: walk.found, blocksEnd: offset };
      return;
    }
    const decoded = decodeFrame(bytes.subarray(start, walk.end), walk.bound);
    if (decoded.kind === "too-large") throw tooLarge(file.path, offset);
    if (decoded.kind === "damaged") {
      yield { kind: "break", offset, found: decoded.found, blocksEnd: offset };
      return;
    }
    yield { kind: "unit", offset, end: offset + walk.end - start, content: decoded.content };
  }
}

interface WalkedFrame {
  readonly offset: number;
  readonly walk: ReturnType<typeof walkFrame>;
  /** The bytes that hold the frame, from `start` on. Good until the next one is asked for. */
  readonly bytes: Buffer;
  readonly start: number;
}

/** The frames of a file without unfolding them. Ends after the first that is not whole. */
export function* walkFrames(file: LogFile, from: number): Generator<WalkedFrame> {
  let base = from;
  let bytes = file.read(base, WINDOW);
  let start = 0;
  while (base + start < file.size) {
    const walk = walkFrame(bytes, start);
    const offset = base + start;
    if (walk.kind === "cut" && base + bytes.length < file.size) {
      // The window ends, not the file: look again through one that begins here and reaches further.
      const length = Math.max(WINDOW, 2 * (bytes.length - start));
      if (bytes.length - start > MAX_STORED_FRAME) throw tooLarge(file.path, offset);
      bytes = file.read(offset, length);
      base = offset;
      start = 0;
      continue;
    }
    yield { offset, walk, bytes, start };
    if (walk.kind !== "frame") return;
    start = walk.end;
  }
}

function* linesOf(file: LogFile, from: number): Generator<Unit | Break> {
  let offset = from;
  while (offset < file.size) {
    let bytes = file.read(offset, LINES);
    let last = bytes.lastIndexOf(NEWLINE);
    while (last < 0 && offset + bytes.length < file.size) {
      if (bytes.length > MAX_FRAME_BYTES) throw tooLarge(file.path, offset);
      bytes = file.read(offset, 2 * bytes.length);
      last = bytes.lastIndexOf(NEWLINE);
    }
    if (last < 0) {
      yield { kind: "break", offset, found: "a line without an end", blocksEnd: offset };
      return;
    }
    const content = bytes.subarray(0, last + 1);
    yield { kind: "unit", offset, end: offset + content.length, content };
    offset += content.length;
  }
}

function tooLarge(path: string, offset: number): UnsupportedFormatError {
  return new UnsupportedFormatError(
    `A frame or line of the log is larger than ${MAX_FRAME_BYTES / 1024 / 1024} MiB, which this program does not read`,
    {
      place: { path, offset },
      hint: "No writer of this format makes such logs. The file was left as it is.",
    },
  );
}
