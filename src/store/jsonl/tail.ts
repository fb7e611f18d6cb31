import { type Pause, pause } from "../breathe.ts";
import { HoldfastError } from "../errors.ts";
import { FrameSearch } from "./frame-search.ts";
import type { LogFile } from "./log-file.ts";
import { unitsOf } from "./units.ts";
import { decodeUtf8 } from "./utf8.ts";

/*
 * Torn or corrupt? A torn tail is what a crash or a power cut leaves of a batch that nobody was told is safe; it may be
 * set aside. Anything else that is wrong is corruption: what follows it was safe, and must not be lost in silence.
 * Source: docs/format.md, "Torn and corrupt".
 */

const NEWLINE = 0x0a;
const TURN_END = '"turn/end"';

/**
 * Whether what begins at `offset` is only a torn tail: nothing after it can be read as written.
 *
 * Frames: no sound frame begins after it. Plain lines: no later line is an end of a Turn.
 */
export function* isTornTail(file: LogFile, offset: number): Generator<Pause, boolean> {
  if (file.encoding === "none") return !(yield* hasLaterTurnEnd(file, offset));
  return (yield* new FrameSearch(file).search(offset + 1)) === undefined;
}

function* hasLaterTurnEnd(file: LogFile, offset: number): Generator<Pause, boolean> {
  for (const unit of unitsOf(file, offset)) {
    if (unit.kind === "break") return false;
    const { content } = unit;
    // Garbage may be millions of lines: only those are looked at that may be one.
    for (let at = content.indexOf(TURN_END); at >= 0; ) {
      const start = content.lastIndexOf(NEWLINE, at) + 1;
      const end = content.indexOf(NEWLINE, at);
      if (unit.offset + start > offset && isTurnEnd(content.subarray(start, end))) return true;
      at = content.indexOf(TURN_END, end);
    }
    yield pause(content.length);
  }
  return false;
}

/** Whether a line is an event that ends a Turn. */
export function isTurnEnd(line: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(decodeUtf8(line, {}));
    return typeof value === "object" && value !== null && "type" in value && value.type === "turn/end";
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof HoldfastError) return false;
    throw error;
  }
}
