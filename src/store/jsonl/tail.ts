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

/**
 * Whether what begins at `offset` is only a torn tail: nothing after it can be read as written.
 *
 * Frames: no sound frame begins after it. Plain lines: no later line is an end of a Turn.
 */
export function isTornTail(file: LogFile, offset: number): boolean {
  if (file.encoding === "none") return !hasLaterTurnEnd(file, offset);
  return new FrameSearch(file).next(offset + 1) === undefined;
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
