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

/** Takes the cited seqs out of a text, where that can be undone to the byte. */
export function cutCited(text: string): { readonly body: string; readonly cited: Ranges } | undefined {
  const start = text.lastIndexOf(SOURCES);
  if (start < 0) return undefined;
  const end = text.indexOf("]", start);
  if (!ENVELOPE_END.test(text.slice(end + 1))) return undefined;
  const cited = toRanges(
    text
      .slice(start + SOURCES.length, end)
      .split(",")
      .map(Number),
  );
  return cited === undefined ? undefined : { body: text.slice(0, start) + text.slice(end + 1), cited };
}

/** The text that {@link cutCited} was given. */
export function putCited(body: string, cited: Ranges): string {
  const at = body.lastIndexOf(SURFACE_OP);
  return `${body.slice(0, at)}${SOURCES}${expandRanges(cited).join(",")}]${body.slice(at)}`;
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
