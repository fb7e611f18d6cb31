import { counted, grouped } from "../counted.ts";

/* Shortens texts between characters, and says how much is left out. */

// Made when a text is cut for the first time: loading the tables behind it would slow every start.
let segmenter: Intl.Segmenter | undefined;

/** Text around a place that is looked at for the border of a character, in UTF-16 units. */
const WINDOW = 4_096;

/** Part of a line that is not worth leaving out, in UTF-16 units. */
const LEAST_LEFT_OUT = 80;

/** A text of which the middle is left out. Head, middle and tail together are the text. */
export interface Shortened {
  readonly head: string;
  readonly middle: string;
  readonly tail: string;
}

export interface Most {
  readonly lines: number;
  /** In UTF-16 units. */
  readonly length: number;
}

/** The characters of a text as a person counts them, one after the other. */
export function graphemes(text: string): Iterable<{ readonly segment: string; readonly index: number }> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return segmenter.segment(text);
}

/** The last border between characters that is not behind `at`. */
function borderBefore(text: string, at: number): number {
  return around(text, at)?.start ?? at;
}

/** The first border between characters that is not before `at`. */
export function borderAfter(text: string, at: number): number {
  return around(text, at)?.end ?? at;
}

/** Where the character begins and ends that `at` lies within; nothing where it is a border. */
function around(text: string, at: number): { readonly start: number; readonly end: number } | undefined {
  if (at <= 0 || at >= text.length) return undefined;
  // Between two of these there is always one.
  if (/^[ -~\n]{2}$/.test(text.slice(at - 1, at + 1))) return undefined;
  const from = Math.max(0, at - WINDOW);
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  const found = segmenter.segment(text.slice(from, at + WINDOW)).containing(at - from);
  if (found === undefined || from + found.index === at) return undefined;
  const start = from + found.index;
  return { start, end: start + found.segment.length };
}

/**
 * Leaves out the middle of a text that has too many lines or is too long: two thirds of what is kept are its head.
 * @returns nothing where all of it may stay
 */
export function shortened(text: string, most: Most): Shortened | undefined {
  if (text.length <= most.length && placeOfLine(text, most.lines) === text.length) return undefined;
  const lines = Math.ceil((most.lines * 2) / 3);
  const length = Math.ceil((most.length * 2) / 3);
  const headEnd = borderBefore(text, Math.min(placeOfLine(text, lines), length));
  const tailStart = Math.max(
    headEnd,
    placeOfLineFromEnd(text, most.lines - lines),
    text.length - (most.length - length),
  );
  const tail = borderAfter(text, tailStart);
  // What says that so little is left out would take its place.
  if (tail - headEnd <= LEAST_LEFT_OUT && text.indexOf("\n", headEnd) >= tail - 1) return undefined;
  return { head: text.slice(0, headEnd), middle: text.slice(headEnd, tail), tail: text.slice(tail) };
}

/** Where the line number `count` begins, from 0; the end of the text where there are no more than that. */
function placeOfLine(text: string, count: number): number {
  let at = 0;
  for (let k = 0; k < count; k += 1) {
    const end = text.indexOf("\n", at);
    if (end < 0) return text.length;
    at = end + 1;
  }
  return at;
}

/** Where the last `count` lines begin. */
function placeOfLineFromEnd(text: string, count: number): number {
  if (count === 0) return text.length;
  let at = text.length;
  for (let k = 0; k < count; k += 1) {
    at = at <= 0 ? -1 : text.lastIndexOf("\n", at - 1);
    if (at < 0) return 0;
  }
  return at + 1;
}

/** How much a text holds, as in `12 lines, 3,456 characters`; half a character counts as one. */
export function amountOf(text: string): string {
  const length = counted(characters(text), "character");
  // The last line may have its end or not.
  const breaks = text.split("\n").length - (text.endsWith("\n") ? 2 : 1);
  return breaks === 0 ? length : `${grouped(breaks + 1)} lines, ${length}`;
}

/** Code points: what a person sees as one character may be several. */
export function characters(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}

/** The beginning of a line that fits into so many columns, cut between characters. */
export function fitting(line: string, columns: number): string {
  if (Bun.stringWidth(line) <= columns) return line;
  if (columns <= 0) return "";
  let end = 0;
  let width = 0;
  for (const { segment, index } of graphemes(line)) {
    width += Bun.stringWidth(segment);
    if (width > columns) break;
    end = index + segment.length;
  }
  return line.slice(0, end);
}
