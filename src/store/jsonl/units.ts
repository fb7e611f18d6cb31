import { UnsupportedFormatError } from "../errors.ts";
import { decodeFrame, MAX_FRAME_BYTES } from "./frame-codec.ts";
import { type Walk, walkBlocks, walkFrame } from "./frame-walker.ts";
import type { LogFile } from "./log-file.ts";

/*
 * A log as a sequence of units: a frame, some small frames, or a stretch of plain lines. A unit's content is whole lines,
 * unless it is one frame that breaks that rule.
 */

export interface Unit {
  readonly kind: "unit";
  readonly offset: number;
  /** Offset after the unit. */
  readonly end: number;
  readonly content: Buffer;
  /** Number of frames, 1 for plain lines. */
  readonly frames: number;
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
/** Plain lines, or small frames unfolded, that are decoded at once, in bytes. */
const UNIT = 64 * 1024;
const NEWLINE = 0x0a;

/**
 * The units of a log from `offset` on, which must be where one begins. A break is the last one.
 * @param grouped whether small frames that follow each other may come as one unit
 */
export function unitsOf(file: LogFile, offset: number, grouped = true): Generator<Unit | Break> {
  return file.encoding === "zstd" ? framesOf(file, offset, grouped ? UNIT : 0) : linesOf(file, offset);
}

/** Unfolds small frames many at a time: a log of a long session has thousands of them. */
function* framesOf(file: LogFile, from: number, most: number): Generator<Unit | Break> {
  let group: WholeFrame[] = [];
  let size = 0;
  for (const frame of walkFrames(file, from)) {
    const { walk, bytes } = frame;
    const isLast = size + (walk.kind === "frame" ? walk.bound : 0) > most || group[0]?.bytes !== bytes;
    if (group.length > 0 && (isLast || walk.kind !== "frame" || !walk.isStated)) {
      if (!(yield* unfoldGroup(file, group))) return;
      group = [];
      size = 0;
    }
    if (walk.kind === "frame" && walk.isStated && walk.bound <= most) {
      group.push({ ...frame, walk });
      size += walk.bound;
    } else if (!(yield* unfoldOne(file, frame))) return;
  }
  yield* unfoldGroup(file, group);
}

/** Returns whether the log goes on after the frames. */
function* unfoldGroup(file: LogFile, group: readonly WholeFrame[]): Generator<Unit | Break, boolean> {
  const unit = group.length > 1 ? tryGroup(group) : undefined;
  if (unit !== undefined) {
    yield unit;
    return true;
  }
  for (const frame of group) if (!(yield* unfoldOne(file, frame))) return false;
  return true;
}

/** All frames in one go; nothing when one of them is not as it should be. */
function tryGroup(group: readonly WholeFrame[]): Unit | undefined {
  const [first] = group;
  const last = group.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const size = group.reduce((sum, { walk }) => sum + walk.bound, 0);
  const decoded = decodeFrame(first.bytes.subarray(first.start, last.walk.end), {
    bound: size,
    least: size,
    isStated: true,
    window: 0,
  });
  if (decoded.kind !== "content" || decoded.content.length !== size) return undefined;
  let at = 0;
  for (const { walk } of group) {
    at += walk.bound;
    if (walk.bound === 0 || decoded.content[at - 1] !== NEWLINE) return undefined;
  }
  const end = last.offset + last.walk.end - last.start;
  return { kind: "unit", offset: first.offset, end, content: decoded.content, frames: group.length };
}

/** Returns whether the log goes on after the frame. */
function* unfoldOne(
  file: LogFile,
  { offset, walk, bytes, start }: WalkedFrame,
): Generator<Unit | Break, boolean> {
  if (walk.kind === "cut") {
    const blocksEnd = offset + walk.blocksEnd - start;
    yield {
      kind: "break",
      offset,
      found: "the end of the file",
      blocksEnd: isSmall(walk) ? blocksEnd : offset,
    };
    return false;
  }
  if (walk.kind === "bad") {
    yield { kind: "break", offset, found: walk.found, blocksEnd: offset };
    return false;
  }
  const decoded = decodeFrame(bytes.subarray(start, walk.end), walk);
  if (decoded.kind === "too-large") throw tooLarge(file.path, offset);
  if (decoded.kind === "damaged") {
    yield { kind: "break", offset, found: decoded.found, blocksEnd: offset };
    return false;
  }
  yield { kind: "unit", offset, end: offset + walk.end - start, content: decoded.content, frames: 1 };
  return true;
}

interface WalkedFrame {
  readonly offset: number;
  readonly walk: Walk;
  /** The bytes that hold the frame, from `start` on. */
  readonly bytes: Buffer;
  readonly start: number;
}

interface WholeFrame extends WalkedFrame {
  readonly walk: Extract<Walk, { kind: "frame" }>;
}

/** Whether looking into a frame that was cut off takes no more memory than a whole one may. */
function isSmall({ needs }: Extract<Walk, { kind: "cut" }>): boolean {
  return needs <= MAX_FRAME_BYTES;
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
      // The window ends, not the file: look again through one that begins here and holds all of the frame.
      const known = bytes.length - start;
      const length = known < WINDOW ? WINDOW : lengthOf(file, offset);
      if (length > MAX_STORED_FRAME) throw tooLarge(file.path, offset);
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

/** Bytes of a long frame, or to the end of the file where that cuts it off; read in small windows. */
function lengthOf(file: LogFile, offset: number): number {
  const head = walkFrame(file.read(offset, WINDOW), 0);
  let at = offset + (head.kind === "cut" ? head.blocksEnd : 0);
  while (at - offset <= MAX_STORED_FRAME) {
    const { blocksEnd, isEnd } = walkBlocks(file.read(at, WINDOW));
    // No block is as long as a window: where none is whole, the file ends.
    if (blocksEnd === 0) return file.size - offset;
    at += blocksEnd;
    if (isEnd) return Math.min(at, file.size) - offset;
  }
  return at - offset;
}

function* linesOf(file: LogFile, from: number): Generator<Unit | Break> {
  let offset = from;
  while (offset < file.size) {
    let bytes = file.read(offset, UNIT);
    let last = bytes.lastIndexOf(NEWLINE);
    if (last < 0 && offset + bytes.length < file.size) {
      bytes = file.read(offset, lineLength(file, offset));
      last = bytes.lastIndexOf(NEWLINE);
    }
    if (last < 0) {
      yield { kind: "break", offset, found: "a line without an end", blocksEnd: offset };
      return;
    }
    const content = bytes.subarray(0, last + 1);
    yield { kind: "unit", offset, end: offset + content.length, content, frames: 1 };
    offset += content.length;
  }
}

/** Bytes of a long line with its end, or to the end of the file; read in small windows. */
function lineLength(file: LogFile, offset: number): number {
  let length = 0;
  while (offset + length < file.size) {
    if (length > MAX_FRAME_BYTES) throw tooLarge(file.path, offset);
    const bytes = file.read(offset + length, WINDOW);
    const newline = bytes.indexOf(NEWLINE);
    if (newline >= 0) return length + newline + 1;
    length += bytes.length;
  }
  return length;
}

export function tooLarge(path: string, offset: number): UnsupportedFormatError {
  return new UnsupportedFormatError(
    `A frame or line of the log is larger than ${MAX_FRAME_BYTES / 1024 / 1024} MiB, which this program does not read`,
    {
      place: { path, offset },
      hint: "No writer of this format makes such logs. The file was left as it is.",
    },
  );
}
