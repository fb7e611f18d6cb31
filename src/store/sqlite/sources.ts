/*
 * An assistant message cites every chunk that it was streamed in: hundreds of consecutive seqs, which would take a
 * seventh of the store. They are kept beside the body as ranges, and put back exactly where they were.
 */

const SOURCES = ',"sourceEventSeqs":[';
const SURFACE_OP = ',"surfaceOp":';
/** What follows the sources of an event itself. After a list of that name inside its data there is more to close. */
const ENVELOPE_END = /^,"surfaceOp":(?:"append"|\{[^{}]*\})(?:,"ignorable":(?:true|false))?\}$/;
/** Below this, ranges save nothing. */
const FEWEST = 4;

/** Inclusive ranges, ascending. */
export type Ranges = ReadonlyArray<readonly [number, number]>;

/** A record's text as its row keeps it. */
export interface SplitText {
  readonly body: string;
  /** JSON array of inclusive, ascending ranges, such as `[[3,90],[95,95]]`; null when the body is the whole text. */
  readonly sources: string | null;
}

/** Takes the cited seqs out of a text, where that can be undone to the byte. */
export function splitSources(text: string): SplitText {
  const whole = { body: text, sources: null };
  const start = text.lastIndexOf(SOURCES);
  if (start < 0) return whole;
  const end = text.indexOf("]", start);
  if (!ENVELOPE_END.test(text.slice(end + 1))) return whole;
  const ranges = toRanges(
    text
      .slice(start + SOURCES.length, end)
      .split(",")
      .map(Number),
  );
  if (ranges === undefined) return whole;
  const split = { body: text.slice(0, start) + text.slice(end + 1), sources: JSON.stringify(ranges) };
  return joinSources(split.body, ranges) === text ? split : whole;
}

/** The text that {@link splitSources} was given. */
export function joinSources(body: string, ranges: Ranges): string {
  const at = body.lastIndexOf(SURFACE_OP);
  return `${body.slice(0, at)}${SOURCES}${expandRanges(ranges).join(",")}]${body.slice(at)}`;
}

/** The column `sources`, if it holds ascending ranges of seqs before `end`. */
export function parseRanges(sources: string, end: number): Ranges | undefined {
  const ranges = parseJson(sources);
  if (!Array.isArray(ranges)) return undefined;
  let previous = -1;
  for (const range of ranges) {
    const [first, last] = Array.isArray(range) && range.length === 2 ? range : [];
    if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last)) return undefined;
    if (first <= previous || last < first || last >= end) return undefined;
    previous = last;
  }
  return ranges;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** All seqs of the ranges. */
export function expandRanges(ranges: Ranges): number[] {
  return ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, k) => first + k));
}

/** Only ascending lists: ranges could not tell another order. */
function toRanges(seqs: readonly number[]): Ranges | undefined {
  if (seqs.length < FEWEST) return undefined;
  const ranges: Array<[number, number]> = [];
  for (const seq of seqs) {
    const last = ranges.at(-1);
    if (!Number.isSafeInteger(seq) || seq <= (last?.[1] ?? -1)) return undefined;
    if (last !== undefined && seq === last[1] + 1) last[1] = seq;
    else ranges.push([seq, seq]);
  }
  return ranges;
}
