import type { Match } from "./matcher.ts";

/** A match and what stands around it. Where that is not all of the text, an ellipsis says so. */
export interface Excerpt {
  readonly before: string;
  readonly match: string;
  readonly after: string;
}

/** How much of an excerpt there may be, in units of what measures it. */
export interface Room {
  readonly before: number;
  readonly match: number;
  readonly after: number;
}

type Measure = (character: string) => number;

const ELLIPSIS = "…";
/** Between two of these characters there is always a border, which is quicker to know than to find. */
const PLAIN = /^[ -~]*$/;
/** No character is as long, in UTF-16 units. */
const LONGEST_CHARACTER = 64;

// Made when it is first needed: loading the tables behind it would slow every start.
let characters: Intl.Segmenter | undefined;

/**
 * The text around a match, cut between characters.
 * @param measure the size of a character, 1 of each in ASCII that can be printed; by default each is 1
 */
export function excerptOf(
  text: string,
  { at, length }: Match,
  room: Room,
  measure: Measure = () => 1,
): Excerpt {
  const end = at + length;
  return {
    before: lastOf(text, at, room.before, measure),
    match: firstOf(text, at, end, room.match, measure),
    after: firstOf(text, end, text.length, room.after, measure),
  };
}

/** The beginning of what stands from `from` to `to`. */
function firstOf(text: string, from: number, to: number, room: number, measure: Measure): string {
  const end = Math.min(to, from + unitsFor(room));
  const window = text.slice(from, end);
  if (PLAIN.test(window)) return window.length > room ? window.slice(0, room) + ELLIPSIS : window;
  let left = room;
  for (const { index, segment } of segmentsOf(window)) {
    left -= measure(segment);
    if (left < 0) return text.slice(from, from + index) + ELLIPSIS;
  }
  return window + (end < to ? ELLIPSIS : "");
}

function lastOf(text: string, to: number, room: number, measure: Measure): string {
  const from = Math.max(0, to - unitsFor(room));
  const window = text.slice(from, to);
  if (PLAIN.test(window))
    return window.length > room ? ELLIPSIS + window.slice(window.length - room) : window;
  // The first character of what is looked at may be the rest of one.
  const least = from === 0 ? 0 : LONGEST_CHARACTER;
  let left = room;
  let start = to;
  for (const { index, segment } of [...segmentsOf(window)].reverse()) {
    left -= measure(segment);
    if (left < 0 || index < least) break;
    start = from + index;
  }
  return (start > 0 ? ELLIPSIS : "") + text.slice(start, to);
}

/** How many UTF-16 units are looked at for so much room. */
function unitsFor(room: number): number {
  return 4 * room + 2 * LONGEST_CHARACTER;
}

function segmentsOf(text: string): Iterable<{ readonly index: number; readonly segment: string }> {
  characters ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return characters.segment(text);
}
