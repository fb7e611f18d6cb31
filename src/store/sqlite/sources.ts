/*
 * An assistant message cites every chunk that it was streamed in: hundreds of consecutive seqs, which would take a
 * seventh of the store. They are kept beside the body as ranges, and put back exactly where they were.
 */

const SOURCES = ',"sourceEventSeqs":[';
const SURFACE_OP = ',"surfaceOp":';
/** Below this, ranges save nothing. */
const FEWEST = 4;
/** Longest list that is put back; more would be damage, not an answer's chunks. */
const MOST = 10_000_000;

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
  const ranges = toRanges(text.slice(start + SOURCES.length, end).split(",").map(Number));
  if (ranges === undefined) return whole;
  const split = { body: text.slice(0, start) + text.slice(end + 1), sources: JSON.stringify(ranges) };
  const seqs = expandSources(split.sources);
  return seqs !== undefined && joinSources(split.body, seqs) === text ? split : whole;
}

/** The text that {@link splitSources} was given. */
export function joinSources(body: string, seqs: readonly number[]): string {
  const at = body.lastIndexOf(SURFACE_OP);
  return `${body.slice(0, at)}${SOURCES}${seqs.join(",")}]${body.slice(at)}`;
}

/** The seqs of the column `sources`; nothing when it is not what {@link splitSources} makes. */
export function expandSources(sources: string): number[] | undefined {
  const ranges: unknown = JSON.parse(sources);
  if (!Array.isArray(ranges)) return undefined;
  const seqs: number[] = [];
  for (const range of ranges) {
    const [first, last] = Array.isArray(range) ? range : [];
    if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last)) return undefined;
    if (last < first || last - first > MOST || seqs.length > MOST) return undefined;
    for (let seq = first; seq <= last; seq += 1) seqs.push(seq);
  }
  return seqs;
}

function toRanges(seqs: readonly number[]): Array<[number, number]> | undefined {
  if (seqs.length < FEWEST) return undefined;
  const ranges: Array<[number, number]> = [];
  for (const seq of seqs) {
    if (!Number.isSafeInteger(seq)) return undefined;
    const last = ranges.at(-1);
    if (last !== undefined && seq === last[1] + 1) last[1] = seq;
    else ranges.push([seq, seq]);
  }
  return ranges;
}
