import type { SessionRecord } from "../../session/records.ts";
import { stringsOf, toOneString } from "./delta-text.ts";
import { cutQuoted, formatQuotes, parseQuotes, putQuoted, type Quote, type StreamedText } from "./quotes.ts";
import { asRanges, cutCited, putCited, type Ranges } from "./sources.ts";

/*
 * How a record's text becomes the columns `body` and `sources` of its row, and back. `sources` says what was taken out
 * of the text: null where nothing was, `[[3,90],…]` for the seqs that a message cites, or
 * `{"cited":[[3,90],…],"quoted":[[offset,checksum,first,last],…]}`, where either may be absent.
 */

/** A record's text as its row keeps it. */
export interface RowText {
  readonly body: string;
  readonly sources: string | null;
}

/** What was taken out of a text. */
export interface Sources {
  readonly cited?: Ranges;
  readonly quoted?: readonly Quote[];
}

/** @param blocks what was streamed before, and may stand in the text again */
export function splitText(text: string, blocks: Iterable<StreamedText> = []): RowText {
  const cut = cutQuoted(text, blocks);
  const whole = cut?.body ?? text;
  const split = cutCited(whole);
  // What is cited stands behind all that is quoted.
  const { body = whole, cited } = (cut?.quoted.at(-1)?.at ?? 0) <= (split?.at ?? 0) ? { ...split } : {};
  if (cut === undefined) return { body, sources: cited === undefined ? null : JSON.stringify(cited) };
  return { body, sources: JSON.stringify({ cited, quoted: formatQuotes(whole, cut.quoted) }) };
}

/** Reads the column `sources` of the row that begins at `seq`; nothing where it does not fit the body. */
export function parseSources(sources: string, body: string, seq: number): Sources | undefined {
  const value = tryParse(sources);
  if (Array.isArray(value)) {
    const cited = asRanges(value, seq);
    return cited === undefined ? undefined : { cited };
  }
  if (typeof value !== "object" || value === null) return undefined;
  for (const key in value) if (key !== "cited" && key !== "quoted") return undefined;
  const { cited: ranges, quoted: entries } = value as Readonly<Record<string, unknown>>;
  const quoted = parseQuotes(entries, body, seq);
  if (quoted === undefined) return undefined;
  if (ranges === undefined) return { quoted };
  const cited = asRanges(ranges, seq);
  return cited === undefined ? undefined : { cited, quoted };
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The text again. @param parts the contents of the quoted strings */
function joinText(body: string, { cited, quoted = [] }: Sources, parts: readonly string[]): string {
  // What is cited stands behind all that is quoted.
  return putQuoted(cited === undefined ? body : putCited(body, cited), quoted, parts);
}

/** The columns with what can be put back in its place. @param parts of each quote; absent where that is not known */
export function putBack(
  body: string,
  { cited, quoted = [] }: Sources,
  parts: ReadonlyArray<string | undefined>,
): RowText {
  const left: Quote[] = [];
  let text = "";
  let from = 0;
  for (const [k, quote] of quoted.entries()) {
    text += body.slice(from, quote.at);
    from = quote.at;
    const part = parts[k];
    if (part === undefined) left.push({ ...quote, at: text.length });
    else text += part;
  }
  text += body.slice(from);
  if (left.length > 0)
    return { body: text, sources: JSON.stringify({ cited, quoted: formatQuotes(text, left) }) };
  return { body: text, sources: cited === undefined ? null : JSON.stringify(cited) };
}

/** A record whose text is put together when it is asked for: few of a long session's ever are. */
export class SplitRecord implements SessionRecord {
  readonly seq: number;
  readonly count: number;
  readonly type: string;
  readonly time: number;
  readonly #body: string;
  readonly #sources: Sources;
  readonly #deltas: ReadonlyArray<readonly SessionRecord[]>;

  /** @param deltas for each quote, the records that it names */
  constructor(
    { seq, count, type, time, text }: SessionRecord,
    sources: Sources,
    deltas: ReadonlyArray<readonly SessionRecord[]> = [],
  ) {
    this.seq = seq;
    this.count = count;
    this.type = type;
    this.time = time;
    this.#body = text;
    this.#sources = sources;
    this.#deltas = deltas;
  }

  get text(): string {
    return joinText(this.#body, this.#sources, this.#deltas.map(streamed));
  }
}

/** Texts that were put together last: whoever reads the ends of blocks reads the message with the same texts next. */
const latest: Array<{ readonly deltas: readonly SessionRecord[]; readonly text: string }> = [];
const MOST_LATEST = 8;
/** Of all of them, in UTF-16 units. */
const MOST_LENGTH = 2 * 1024 * 1024;
let latestLength = 0;

/** What deltas say, as it stands between the quotes of a JSON text. */
export function streamed(deltas: readonly SessionRecord[]): string {
  // Rows that quote the same share the list.
  const known = latest.find((one) => one.deltas === deltas);
  if (known !== undefined) return known.text;
  const text = toOneString(deltas.map(stringsOf).join(""));
  latest.push({ deltas, text });
  latestLength += text.length;
  while (latestLength > MOST_LENGTH || latest.length > MOST_LATEST) {
    latestLength -= latest.shift()?.text.length ?? 0;
  }
  return text;
}
