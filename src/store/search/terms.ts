import { fold } from "../../session/search/fold.ts";

/*
 * What an index of texts is made of: for each three UTF-16 units that stand side by side in a folded text, a number of 20
 * bits, as a word of four letters. Other units may have the same number, which costs a look at a text without a match. A
 * change here needs another name of the tables: what is indexed and what is looked for must agree.
 */

const UNITS = 3;
const BITS = 20;
const RADIX = 32;
const WORD_LENGTH = 4;
/** Each is one more list to go through, and few of them leave few texts. */
const MOST_WANTED = 32;

/** The terms of several texts together. */
export class TermSet {
  readonly #seen = new Uint8Array(1 << BITS);
  #terms: number[] = [];

  /** Takes a text, of which the terms are those of no other one. */
  add(text: string): void {
    const folded = fold(text);
    for (let at = UNITS - 1; at < folded.length; at += 1) {
      const term = termAt(folded, at);
      if (this.#seen[term] === 1) continue;
      this.#seen[term] = 1;
      this.#terms.push(term);
    }
  }

  /** All terms, as words with a space between two; then there are none any more. */
  take(): string {
    const words = this.#terms.map(wordOf).join(" ");
    for (const term of this.#terms) this.#seen[term] = 0;
    this.#terms = [];
    return words;
  }
}

/** Words of terms that all texts have in which this one stands, folded; none where it is too short. */
export function termsOf(folded: string): readonly string[] {
  const terms = new Set<string>();
  for (let at = UNITS - 1; at < folded.length; at += 1) terms.add(wordOf(termAt(folded, at)));
  const all = [...terms];
  const step = Math.max(1, all.length / MOST_WANTED);
  return all.filter((_, k) => Math.floor(k / step) !== Math.floor((k - 1) / step));
}

/** Of the units up to the one at `at`. */
function termAt(text: string, at: number): number {
  let hash =
    Math.imul(text.charCodeAt(at - 2), 0x9e3779b1) ^
    Math.imul(text.charCodeAt(at - 1), 0x85ebca77) ^
    Math.imul(text.charCodeAt(at), 0xc2b2ae3d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> (32 - BITS);
}

function wordOf(term: number): string {
  return term.toString(RADIX).padStart(WORD_LENGTH, "0");
}
