/*
 * The text of a streamed block comes again in its `block-end`, in the assistant message, and, of a tool call, in the
 * `tool/call`. What is long is taken out of these texts, and it is kept beside the body which deltas it stands in.
 */

/** Inclusive ranges of the seqs of a block's deltas, whole records each, ascending. */
type DeltaRanges = ReadonlyArray<readonly [number, number]>;

/** A string whose content stands in deltas. */
export interface Quote {
  /** Where it belongs: position in the body, in UTF-16 units, between the two quotes that stand there. */
  readonly at: number;
  /** What {@link addChecksum} makes of the rows of the deltas. */
  readonly checksum: number;
  readonly deltas: DeltaRanges;
}

/** A block as it was streamed. */
export interface StreamedText {
  /** Name of the member that has the text again. */
  readonly key: "text" | "arguments";
  readonly deltas: DeltaRanges;
  /** Its text as it stands between the quotes of a JSON text. */
  readonly inQuotes: string;
  /** What {@link addChecksum} makes of its rows. */
  readonly checksum: number;
}

/**
 * What tells the rows that are quoted from all others: from 0, for each of them 31 times what there is, and its checksum,
 * modulo 2^32.
 */
export function addChecksum(sum: number, checksum: number): number {
  return (Math.imul(sum, 31) + checksum) >>> 0;
}

/** An ordinary pair of surrogates is one character to SQLite. */
const ODD = /[\ud800-\udbff]/;
const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/g;

interface Cut {
  readonly start: number;
  readonly block: StreamedText;
}

/**
 * A text without what stands in deltas too, and where that belongs; nothing where nothing does. What is taken out was found
 * there to the byte, so that it comes out again as it was.
 */
export function cutQuoted(
  text: string,
  blocks: Iterable<StreamedText>,
): { readonly body: string; readonly quoted: readonly Quote[] } | undefined {
  const cuts: Cut[] = [];
  for (const block of blocks) {
    const start = findFree(text, block, cuts);
    if (start !== undefined) cuts.push({ start, block });
  }
  if (cuts.length === 0) return undefined;
  cuts.sort((a, b) => a.start - b.start);
  let body = "";
  let from = 0;
  const quoted = cuts.map(({ start, block: { inQuotes, checksum, deltas } }) => {
    body += text.slice(from, start);
    from = start + inQuotes.length;
    return { at: body.length, checksum, deltas };
  });
  return { body: body + text.slice(from), quoted };
}

/**
 * Where the whole string of such a member begins that was not taken yet: two blocks may say the same. Within a string of a
 * JSON text no such member stands.
 */
function findFree(text: string, { key, inQuotes }: StreamedText, cuts: readonly Cut[]): number | undefined {
  const wanted = `"${key}":"${inQuotes}"`;
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    const start = at + wanted.length - 1 - inQuotes.length;
    if (cuts.every((cut) => cut.start !== start)) return start;
  }
  return undefined;
}

/** The text that {@link cutQuoted} was given. */
export function putQuoted(body: string, quoted: readonly Quote[], parts: readonly string[]): string {
  let text = "";
  let from = 0;
  for (const [k, { at }] of quoted.entries()) {
    text += body.slice(from, at) + (parts[k] ?? "");
    from = at;
  }
  return text + body.slice(from);
}

/** As the column keeps it: `[[offset, checksum, first, last], …]`, with offsets in characters, as SQLite counts them. */
export function formatQuotes(body: string, quoted: readonly Quote[]): number[][] {
  return quoted.flatMap(({ at, checksum, deltas }) => {
    const offset = at - (body.slice(0, at).match(PAIRS)?.length ?? 0);
    return deltas.map(([first, last]) => [offset, checksum, first, last]);
  });
}

/** Reads what {@link formatQuotes} makes, of seqs before `end`; nothing where it does not fit the body. */
export function parseQuotes(value: unknown, body: string, end: number): readonly Quote[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const pairs = ODD.test(body) ? Array.from(body.matchAll(PAIRS), ({ index }) => index) : [];
  let passed = 0;
  const quoted: Array<Quote & { readonly deltas: Array<readonly [number, number]> }> = [];
  let [previous, next] = [0, 0];
  for (const entry of value) {
    if (!isEntry(entry)) return undefined;
    const [offset, checksum, first, last] = entry;
    const isMore = offset === previous;
    if (offset < previous || first < (isMore ? next : 0) || last < first || last >= end) return undefined;
    // From characters to UTF-16 units.
    while ((pairs[passed] ?? Number.POSITIVE_INFINITY) < offset + passed) passed += 1;
    const at = offset + passed;
    if (body[at - 1] !== '"' || body[at] !== '"') return undefined;
    if (!isMore) quoted.push({ at, checksum, deltas: [[first, last]] });
    else if (quoted.at(-1)?.checksum === checksum) quoted.at(-1)?.deltas.push([first, last]);
    else return undefined;
    previous = offset;
    next = last + 1;
  }
  return quoted;
}

type Entry = readonly [offset: number, checksum: number, first: number, last: number];

function isEntry(value: unknown): value is Entry {
  if (!Array.isArray(value) || value.length !== 4) return false;
  for (let k = 0; k < 4; k += 1) if (!Number.isSafeInteger(value[k])) return false;
  return true;
}
