/*
 * How a text reads to the program that it is meant for: a secret stands in it with escapes, or packed. What is found
 * there has its place in the text itself.
 */

/** A text with its escapes undone. */
export interface View {
  readonly text: string;
  /** Where a unit of it, or its end, stands in the text that it was made of. */
  at(unit: number): number;
}

/** Escapes are undone so often: JSON stands in strings of JSON. */
const DEPTH = 2;
const BACKSLASH = /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\s\S]))/g;
const PERCENT = /%([2-7][0-9a-fA-F])/g;
/** What base64 could be, long enough to hold a secret. */
const PACKED = /[A-Za-z0-9+/_-]{20,}={0,2}/g;
/** What no text holds that a person wrote. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const BINARY = /[\u0000-\u0008\u000e-\u001f\u007f]/;
const LETTERS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f" };
const utf8 = new TextDecoder("utf-8", { fatal: true });
const bytes = Buffer.alloc(24);

/** The ways to read a text other than as it stands; none where it has no escapes. */
export function* viewsOf(text: string): Generator<View> {
  let deepest: View | undefined;
  for (let depth = 0; depth < DEPTH; depth += 1) {
    const next = undone(deepest?.text ?? text, BACKSLASH, (match) => {
      const [, four, two, one = ""] = match;
      const code = four ?? two;
      return code === undefined ? (LETTERS[one] ?? one) : String.fromCharCode(Number.parseInt(code, 16));
    });
    if (next === undefined) break;
    deepest = within(next, deepest);
    yield deepest;
  }
  const address = undone(deepest?.text ?? text, PERCENT, ([, code = ""]) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  if (address !== undefined) yield within(address, deepest);
}

/** The pieces of a text that are base64 of another text, with that one. */
export function* packedTexts(text: string): Generator<{ start: number; end: number; text: string }> {
  for (const match of text.matchAll(PACKED)) {
    const [packed] = match;
    const unpacked = unpack(packed);
    if (unpacked !== undefined)
      yield { start: match.index, end: match.index + packed.length, text: unpacked };
  }
}

function unpack(packed: string): string | undefined {
  // Most are names and hashes; their first bytes tell.
  const beginning = packed.slice(0, 24);
  if (isBinary(beginning) || decoded(beginning) === undefined) return undefined;
  return decoded(packed);
}

/** Whether a few bytes surely are no text: the decoder takes longer, and an error of it much longer. */
function isBinary(packed: string): boolean {
  const length = bytes.write(packed, "base64");
  // What comes within a character of several bytes cannot begin one.
  if ((bytes[0] ?? 0) >> 6 === 2) return true;
  for (let k = 0; k < length; k += 1) {
    const byte = bytes[k] ?? 0;
    if (byte === 0x7f || (byte < 0x20 && (byte < 9 || byte > 13))) return true;
    if (byte === 0xc0 || byte === 0xc1 || byte > 0xf4) return true;
  }
  return false;
}

function decoded(packed: string): string | undefined {
  try {
    const text = utf8.decode(Buffer.from(packed, "base64"), { stream: false });
    return BINARY.test(text) ? undefined : text;
  } catch {
    return undefined; // no text
  }
}

function undone(
  text: string,
  escapes: RegExp,
  plainOf: (match: RegExpExecArray) => string,
): View | undefined {
  /** Behind each escape: its place in the new text, and how much further that is in the old one. */
  const places: number[] = [];
  const shifts: number[] = [];
  const parts: string[] = [];
  let length = 0;
  let from = 0;
  for (const match of text.matchAll(escapes)) {
    const part = text.slice(from, match.index) + plainOf(match);
    parts.push(part);
    length += part.length;
    from = match.index + match[0].length;
    places.push(length);
    shifts.push(from - length);
  }
  if (places.length === 0) return undefined;
  parts.push(text.slice(from));
  return { text: parts.join(""), at: (unit) => unit + (shifts[lastAtMost(places, unit)] ?? 0) };
}

/** Index of the last of ascending numbers that is at most `limit`; -1 where there is none. */
function lastAtMost(numbers: readonly number[], limit: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function within(view: View, outer: View | undefined): View {
  return outer === undefined ? view : { text: view.text, at: (unit) => outer.at(view.at(unit)) };
}
