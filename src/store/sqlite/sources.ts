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

/** A text without the seqs that it cites, which stood at `at`. */
export interface CitedCut {
  readonly body: string;
  readonly at: number;
  readonly cited: Ranges;
}

/** Takes the cited seqs out of a text, where that can be undone to the byte. */
export function cutCited(text: string): CitedCut | undefined {
  const at = text.lastIndexOf(SOURCES);
  if (at < 0) return undefined;
  const end = text.indexOf("]", at);
  if (!ENVELOPE_END.test(text.slice(end + 1))) return undefined;
  const cited = toRanges(text, at + SOURCES.length, end);
  const body = text.slice(0, at) + text.slice(end + 1);
  // Where they are put back.
  return cited === undefined || body.lastIndexOf(SURFACE_OP) !== at ? undefined : { body, at, cited };
}

/** The text that {@link cutCited} was given. */
export function putCited(body: string, cited: Ranges): string {
  const at = body.lastIndexOf(SURFACE_OP);
  return `${body.slice(0, at)}${SOURCES}${listOf(cited)}]${body.slice(at)}`;
}

function listOf(ranges: Ranges): string {
  let list = "";
  for (const [first, last] of ranges) {
    for (let seq = first; seq <= last; seq += 1) list += list === "" ? seq : `,${seq}`;
  }
  return list;
}

/** A value that holds ascending ranges of seqs before `end`. */
export function asRanges(value: unknown, end: number): Ranges | undefined {
  if (!Array.isArray(value)) return undefined;
  const ranges: Array<readonly [number, number]> = [];
  let previous = -1;
  for (const range of value) {
    const [first, last] = Array.isArray(range) && range.length === 2 ? range : [];
    if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last)) return undefined;
    if (first <= previous || last < first || last >= end) return undefined;
    ranges.push([first, last]);
    previous = last;
  }
  return ranges;
}

/** All seqs of the ranges. */
export function expandRanges(ranges: Ranges): number[] {
  return ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, k) => first + k));
}

const ZERO = 0x30;
const COMMA = 0x2c;
/** Any number of so many digits is exact. */
const MOST_DIGITS = 15;

/**
 * The seqs that stand in a text from `start` to `end`, if they are ascending, since ranges could tell no other order, and
 * written as JSON writes numbers: then the ranges make the same text again.
 */
function toRanges(text: string, start: number, end: number): Ranges | undefined {
  const ranges: Array<[number, number]> = [];
  let range: [number, number] | undefined;
  let count = 0;
  for (let at = start; at < end; at += 1) {
    const from = at;
    let seq = 0;
    for (; at < end; at += 1) {
      const digit = text.charCodeAt(at) - ZERO;
      if (digit < 0 || digit > 9) break;
      seq = seq * 10 + digit;
    }
    const digits = at - from;
    const isNumber = digits > 0 && digits <= MOST_DIGITS && (digits === 1 || text.charCodeAt(from) !== ZERO);
    const isEnd = at === end || (text.charCodeAt(at) === COMMA && at + 1 < end);
    if (!isNumber || !isEnd || seq <= (range?.[1] ?? -1)) return undefined;
    if (range !== undefined && seq === range[1] + 1) range[1] = seq;
    else {
      range = [seq, seq];
      ranges.push(range);
    }
    count += 1;
  }
  return count < FEWEST ? undefined : ranges;
}
