import { decodeRecord } from "../../session/records.ts";
import { withoutPause } from "../breathe.ts";
import { FrameSearch } from "./frame-search.ts";
import type { LogFile } from "./log-file.ts";
import type { IndexPoint, LogIndex } from "./log-index.ts";
import { isTurnEnd } from "./tail.ts";
import { unitsOf } from "./units.ts";
import { decodeUtf8 } from "./utf8.ts";

/*
 * Finds a place near an event in a log of which nothing is known: every whole unit says which seq it begins with, so that
 * halving the file again and again leads there, without reading what lies between.
 */

/** Bytes that are read through rather than halved once more. */
const LEAST_GAP = 64 * 1024;
const WINDOW = 64 * 1024;
const NEWLINE = 0x0a;
/** Lines that speak of the end of a Turn and are none. */
const MOST_TRIES = 200;
const TURN_END = '"turn/end"';

/** Takes points near the event `seq` into the index of a log. Like all of its points they are hints. */
export function lookNear(file: LogFile, index: LogIndex, seq: number): void {
  // What was read has points enough.
  if (seq < index.next && !index.isGuessed) return;
  let low = index.find(seq);
  let high = index.after(low)?.offset ?? file.size;
  if (high - low.offset <= LEAST_GAP) return;
  high = Math.min(high, reachOf(file, index));
  while (high - low.offset > LEAST_GAP) {
    const middle = Math.floor((low.offset + high) / 2);
    const found = pointFrom(file, middle);
    const isBetween = found !== undefined && found.offset < high && index.insert(found);
    if (isBetween && found.seq <= seq) low = found;
    // Also where no unit begins behind the middle.
    else high = middle;
  }
}

/**
 * Offset up to which a guess cannot lead behind the beginning of a torn tail. Behind that no sound frame begins; of plain
 * lines no Turn ends behind it.
 */
function reachOf(file: LogFile, index: LogIndex): number {
  if (file.encoding === "zstd") return file.size;
  if (index.reach?.size !== file.size) index.reach = { size: file.size, offset: lastTurnEnd(file) };
  return index.reach.offset;
}

/** Where the last line begins that ends a Turn; 0 where none is found. */
function lastTurnEnd(file: LogFile): number {
  let tries = MOST_TRIES;
  // Windows overlap, so that a word that lies across their border is in one of them.
  for (let end = file.size; end > 0; end -= WINDOW - TURN_END.length) {
    const base = Math.max(0, end - WINDOW);
    const bytes = file.read(base, end - base);
    for (
      let at = bytes.lastIndexOf(TURN_END);
      at >= 0;
      at = at === 0 ? -1 : bytes.lastIndexOf(TURN_END, at - 1)
    ) {
      const line = lineAround(file, base + at);
      if (line !== undefined && isTurnEnd(line.content)) return line.offset;
      tries -= 1;
      if (tries < 0) return 0;
    }
  }
  return 0;
}

/** The line that holds a place; nothing where it is far longer than any that ends a Turn. */
function lineAround(
  file: LogFile,
  at: number,
): { readonly offset: number; readonly content: Buffer } | undefined {
  const base = Math.max(0, at - WINDOW);
  const bytes = file.read(base, 2 * WINDOW);
  const start = bytes.lastIndexOf(NEWLINE, at - base) + 1;
  const end = bytes.indexOf(NEWLINE, at - base);
  return start === 0 || end < 0 ? undefined : { offset: base + start, content: bytes.subarray(start, end) };
}

/** The first unit from `offset` on, and the seq that it begins with; nothing where none is found that is whole. */
function pointFrom(file: LogFile, offset: number): IndexPoint | undefined {
  try {
    const start = file.encoding === "zstd" ? frameFrom(file, offset) : lineFrom(file, offset);
    if (start === undefined) return undefined;
    const unit = unitsOf(file, start, false).next().value;
    if (unit?.kind !== "unit") return undefined;
    const line = unit.content.subarray(0, unit.content.indexOf(NEWLINE));
    return { offset: start, seq: decodeRecord(decodeUtf8(line, {}), {}).record.seq };
  } catch {
    return undefined; // damaged, say: whoever reads the log is told
  }
}

function frameFrom(file: LogFile, offset: number): number | undefined {
  const found = withoutPause(new FrameSearch(file).search(offset));
  return found === "unknown" ? undefined : found;
}

/** Where the first line begins behind the one that `offset` lies in. */
function lineFrom(file: LogFile, offset: number): number | undefined {
  for (let at = offset; at < file.size; at += WINDOW) {
    const end = file.read(at, WINDOW).indexOf(NEWLINE);
    if (end >= 0) return at + end + 1;
  }
  return undefined;
}
