import type { Random } from "../../bench/random.ts";

/** Pieces that text must survive: halves of characters, separators that are none, and what looks like a record. */
const ODD = [
  "\u{1F600}",
  "\u{1F468}\u200D\u{1F469}\u200D\u{1F467}",
  "\uD83D",
  "\uDE00",
  "\u0000",
  "\u0085",
  "\u2028",
  "\u2029",
  "\r\n",
  "\n",
  "\t",
  "\uFEFF",
  "\\u0000",
  '"',
  "\\",
  "\u{10FFFF}",
  "ﷺ",
  '{"type":"turn/end","seq":7}\n',
  '],"transcript":[',
  "data: [DONE]\n\n",
] as const;

const LETTERS = "abcdefghijklmnopqrstuvwxyz     ";

/** Some text of about this many characters, now and then with odd ones. */
export function someText(random: Random, length: number): string {
  let text = "";
  while (text.length < length) {
    if (random.below(6) === 0) text += random.pick(ODD);
    else for (let k = random.between(1, 12); k > 0; k -= 1) text += random.pick(LETTERS);
  }
  return text;
}

/** A text in pieces of about this size, cut anywhere but within a pair of surrogates. */
export function inPieces(random: Random, text: string, size: number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    let end = at + random.between(1, 2 * size - 1);
    if (/^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(end - 1, end + 1))) end += 1;
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}
