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

const ZERO = 0x30;
const NINE = 0x39;
const COMMA = 0x2c;
const decoder = new TextDecoder("latin1");

/** The seqs of ranges with commas between them. A message cites hundreds: a string of its own for each is much garbage. */
function listOf(ranges: Ranges): string {
  const digits = String(ranges.at(-1)?.[1] ?? 0).length;
  const count = ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  const bytes = new Uint8Array(count * (digits + 1));
  let end = 0;
  for (const [first, last] of ranges) {
    let start = end;
    for (const digit of String(first)) bytes[end++] = digit.charCodeAt(0);
    bytes[end++] = COMMA;
    for (let seq = first; seq < last; seq += 1) {
      const previous = start;
      start = end;
      end = writeNext(bytes, previous, start);
    }
  }
  return decoder.decode(bytes.subarray(0, Math.max(0, end - 1)));
}

/** Writes the number that follows the one that stands from `previous` to a comma before `at`, and a comma. */
function writeNext(bytes: Uint8Array, previous: number, at: number): number {
  const last = at - 1;
  let nines = last;
  while (nines > previous && bytes[nines - 1] === NINE) nines -= 1;
  let end = at;
  if (nines === previous) bytes[end++] = ZERO + 1;
  for (let from = previous; from < last; from += 1) {
    const digit = bytes[from] ?? ZERO;
    bytes[end++] = from >= nines ? ZERO : from === nines - 1 ? digit + 1 : digit;
  }
  bytes[end++] = COMMA;
  return end;
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
