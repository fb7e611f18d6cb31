import { HoldfastError } from "../errors.ts";
import { decodeFrame, type FrameSize } from "./frame-codec.ts";
import { FRAME_MAGIC, walkFrame } from "./frame-walker.ts";
import type { LogFile } from "./log-file.ts";
import { unitsOf } from "./units.ts";
import { decodeUtf8 } from "./utf8.ts";

/*
 * Torn or corrupt? A torn tail is what a crash or a power cut leaves of a batch that nobody was told is safe; it may be
 * set aside. Anything else that is wrong is corruption: what follows it was safe, and must not be lost in silence.
 * Source: docs/format.md, "Torn and corrupt".
 */

/** Bytes read at once. */
const WINDOW = 1024 * 1024;
/** The last window but one that a frame is looked for in; the next one holds any frame that can be read. */
const MAX_PROOF = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

/**
 * Whether what begins at `offset` is only a torn tail: nothing after it can be read as written.
 *
 * Frames: no sound frame begins after it. Plain lines: no later line is an end of a Turn.
 */
export function isTornTail(file: LogFile, offset: number): boolean {
  return file.encoding === "zstd" ? !hasLaterFrame(file, offset) : !hasLaterTurnEnd(file, offset);
}

function hasLaterFrame(file: LogFile, offset: number): boolean {
  for (let base = offset + 1; base < file.size; ) {
    const bytes = file.read(base, WINDOW);
    for (let at = bytes.indexOf(FRAME_MAGIC); at >= 0; at = bytes.indexOf(FRAME_MAGIC, at + 1)) {
      const walk = walkFrame(bytes, at);
      if (walk.kind === "bad") continue;
      // Only what the window cuts off, and not the file, is read once more.
      const isSound =
        walk.kind === "frame"
          ? isSoundContent(bytes.subarray(at, walk.end), walk)
          : base + bytes.length < file.size && isSoundFrame(file, base + at);
      if (isSound) return true;
    }
    if (bytes.length < FRAME_MAGIC.length || base + bytes.length >= file.size) return false;
    // A magic number may stand across the border.
    base += bytes.length - (FRAME_MAGIC.length - 1);
  }
  return false;
}

function isSoundFrame(file: LogFile, offset: number): boolean {
  for (let length = WINDOW; ; length *= 4) {
    const bytes = file.read(offset, length);
    const walk = walkFrame(bytes, 0);
    if (walk.kind === "bad") return false;
    if (walk.kind === "cut") {
      if (offset + bytes.length >= file.size || length > MAX_PROOF) return false;
      continue;
    }
    return isSoundContent(bytes.subarray(0, walk.end), walk);
  }
}

function isSoundContent(frame: Buffer, size: FrameSize): boolean {
  const decoded = decodeFrame(frame, size);
  return decoded.kind === "content" && decoded.content.at(-1) === NEWLINE;
}

function hasLaterTurnEnd(file: LogFile, offset: number): boolean {
  let isFirst = true;
  for (const unit of unitsOf(file, offset)) {
    if (unit.kind === "break") return false;
    for (let start = 0; start < unit.content.length; ) {
      const end = unit.content.indexOf(NEWLINE, start);
      if (!isFirst && isTurnEnd(unit.content.subarray(start, end))) return true;
      isFirst = false;
      start = end + 1;
    }
  }
  return false;
}

function isTurnEnd(line: Buffer): boolean {
  if (!line.includes('"turn/end"')) return false;
  try {
    const value: unknown = JSON.parse(decodeUtf8(line, {}));
    return typeof value === "object" && value !== null && "type" in value && value.type === "turn/end";
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof HoldfastError) return false;
    throw error;
  }
}
