import type { Pause } from "../breathe.ts";
import { UnsupportedFormatError } from "../errors.ts";
import { FrameSearch } from "./frame-search.ts";
import type { LogFile } from "./log-file.ts";
import { type Break, type Unit, unitsOf, walkFrames } from "./units.ts";

/* A log as a sequence of units that goes on behind damage. */

/** A unit, with the number of its first frame; of plain lines there is no number. */
export interface SoundStretch extends Unit {
  readonly row?: number;
}

/** A stretch that yields nothing: one frame where its structure tells where it ends, and else up to the next sound one. */
export interface BadStretch {
  readonly kind: "bad";
  readonly offset: number;
  readonly end: number;
  readonly row?: number;
  /** What stands there, for people. */
  readonly found: string;
  /** Whether the file ends with it, and nothing in it was ever whole: what a crash leaves. */
  readonly isTorn: boolean;
  /** As of a {@link Break}. */
  readonly blocksEnd: number;
}

export type Stretch = SoundStretch | BadStretch;

/** Where reading begins: at a unit, or at bytes that are none. */
export interface StretchStart {
  readonly offset: number;
  /** Number of the frame there, from 1. */
  readonly row: number;
}

/** Bytes read at once. */
const WINDOW = 1024 * 1024;
const NEWLINE = 0x0a;
const TOO_LARGE = "more than this program unfolds at once";

/**
 * Everything from `start` to the end of the file, without a gap. Frames behind a stretch of which the structure is lost
 * are counted as if it were one frame.
 * @param grouped whether small frames that follow each other may come as one unit
 */
export function* stretchesOf(
  file: LogFile,
  { offset, row }: StretchStart,
  grouped = true,
): Generator<Stretch | Pause> {
  const isFramed = file.encoding === "zstd";
  let at = offset;
  let frame = row;
  const search = new FrameSearch(file);
  while (at < file.size) {
    const broken = yield* soundUnits(file, at, frame, grouped);
    if (broken === undefined) return;
    frame += broken.frames;
    at = broken.offset;
    for (const bad of isFramed ? badFrames(file, search, broken) : badLine(file, broken)) {
      if (bad.kind === "pause") {
        yield bad;
        continue;
      }
      yield isFramed ? { ...bad, row: frame } : bad;
      at = bad.end;
      frame += 1;
    }
  }
}

interface Broken extends Omit<Break, "kind"> {
  /** Frames before it. */
  readonly frames: number;
  readonly isTooLarge: boolean;
}

/** Units up to the first thing that is none. */
function* soundUnits(
  file: LogFile,
  from: number,
  row: number,
  grouped: boolean,
): Generator<SoundStretch, Broken | undefined> {
  let at = from;
  let frames = 0;
  try {
    for (const unit of unitsOf(file, from, grouped)) {
      if (unit.kind === "break") return { ...unit, frames, isTooLarge: false };
      yield file.encoding === "zstd" ? { ...unit, row: row + frames } : unit;
      frames += unit.frames;
      at = unit.end;
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof UnsupportedFormatError)) throw error;
    const { offset = at } = error.place;
    if (offset === at) return { offset, frames, blocksEnd: at, found: TOO_LARGE, isTooLarge: true };
  }
  // Frames before the one that is too large were on their way as a group.
  const rest = yield* soundUnits(file, at, row + frames, false);
  return rest === undefined ? undefined : { ...rest, frames: frames + rest.frames };
}

function* badFrames(file: LogFile, search: FrameSearch, broken: Broken): Generator<BadStretch | Pause> {
  const { offset, found, blocksEnd, isTooLarge } = broken;
  const next = yield* search.search(offset + 1);
  if (next === undefined && !isTooLarge) {
    yield { kind: "bad", offset, end: file.size, found, isTorn: true, blocksEnd };
    return;
  }
  const end = typeof next === "number" ? next : file.size;
  let at = offset;
  let what = found;
  for (const frame of framesBefore(file, offset, end)) {
    if (at > offset) what = frame.found;
    yield { kind: "bad", offset: at, end: frame.end, found: what, isTorn: false, blocksEnd: at };
    at = frame.end;
  }
}

/** Frames as their structure tells, none of which is sound, and what follows the last of them. They end with `end`. */
function* framesBefore(
  file: LogFile,
  from: number,
  end: number,
): Generator<{ readonly end: number; readonly found: string }> {
  let at = from;
  let found = TOO_LARGE;
  try {
    for (const { walk, start } of walkFrames(file, from)) {
      found = walk.kind === "bad" ? walk.found : "the beginning of a frame";
      if (walk.kind !== "frame" || at + walk.end - start > end) break;
      at += walk.end - start;
      yield { end: at, found: "content that does not match its checksum" };
      if (at === end) return;
    }
  } catch (error) {
    if (!(error instanceof UnsupportedFormatError)) throw error;
  }
  yield { end, found };
}

/** The line that is too long, or the one that the end of the file cuts off. */
function* badLine(file: LogFile, { offset, found, isTooLarge }: Broken): Generator<BadStretch> {
  const end = isTooLarge ? endOfLine(file, offset) : file.size;
  yield { kind: "bad", offset, end, found, isTorn: !isTooLarge, blocksEnd: offset };
}

/** Offset after the line feed that comes next; the end of the file where there is none. */
export function endOfLine(file: LogFile, offset: number): number {
  for (let at = offset; at < file.size; ) {
    const bytes = file.read(at, WINDOW);
    const newline = bytes.indexOf(NEWLINE);
    if (newline >= 0) return at + newline + 1;
    at += bytes.length;
  }
  return file.size;
}

/** Where the k-th line of a unit lies: its frame, with its number and the line's own place in it; or a plain line itself. */
export interface LinePlace {
  readonly offset: number;
  readonly end: number;
  readonly row?: number;
  /** Lines of the same frame before it. */
  readonly line: number;
}

/** Where the lines of a unit lie. Reads the frames of a group one by one. */
export function linePlaces(file: LogFile, unit: SoundStretch): LinePlace[] {
  const places: LinePlace[] = [];
  if (file.encoding === "none") {
    for (let start = 0; start < unit.content.length; ) {
      const end = unit.content.indexOf(NEWLINE, start) + 1;
      places.push({ offset: unit.offset + start, end: unit.offset + end, line: 0 });
      start = end;
    }
    return places;
  }
  let row = unit.row;
  const frames = unit.frames === 1 ? [unit] : unitsOf(file, unit.offset, false);
  for (const frame of frames) {
    if (frame.kind !== "unit" || frame.offset >= unit.end) break;
    const { offset, end, content } = frame;
    const lines = countLines(content);
    for (let line = 0; line < lines; line += 1) {
      places.push({ offset, end, line, ...(row === undefined ? {} : { row }) });
    }
    if (row !== undefined) row += 1;
  }
  return places;
}

/** Lines of a content; the last may lack its end. */
export function countLines(content: Buffer): number {
  let count = 0;
  for (let at = content.indexOf(NEWLINE); at >= 0; at = content.indexOf(NEWLINE, at + 1)) count += 1;
  return content.length > 0 && content.at(-1) !== NEWLINE ? count + 1 : count;
}
