import { graphemes } from "../sessions/shorten.ts";
import { Fences } from "./fences.ts";

/** Columns between two places that a tab leads to. */
const TAB = 8;
/** Characters that begin no line, and those that end none, where a line may be broken without a space. */
const CLOSES = /^[[\p{P}--[\p{Ps}\p{Pi}]]ー々]/v;
const OPENS = /^[\p{Ps}\p{Pi}]/u;
/** UTF-16 units of a word that is held back, for each column of a line. */
const MOST_UNITS = 16;
/** UTF-16 units of a character that is held back, as a person counts characters. */
const MOST_OF_ONE = 256;

/**
 * Breaks the lines of a text between words while it comes in pieces, wherever they are cut. Nothing is taken out or moved:
 * the text is what comes out without the line breaks that were put in. Of what came only the last word is held back, until
 * it ends or is longer than a line, and then its last character, which may go on. The terminal breaks such a word, and lines
 * of code, so that they can be copied. No break is put into a character, as a person counts characters.
 */
export class StreamedWrap {
  readonly #columns: () => number;
  /** Where the next character comes to stand. */
  #column = 0;
  /** A word, or the beginning of one. */
  #held = "";
  /** Whether the beginning of the word was given out: it is longer than a line. */
  #isLong = false;
  /** Whether what was given out of it ends within a character, perhaps. */
  #isCut = false;
  /** Whether the line has nothing but white space yet. */
  #isBlank = true;
  /** Whether a space was given out last. */
  #isSpaced = false;
  readonly #fences = new Fences();

  /** @param columns of the terminal, asked for anew with each piece */
  constructor(columns: () => number) {
    this.#columns = columns;
  }

  /** What can be shown now. */
  push(piece: string): string {
    const columns = this.#columns();
    let shown = "";
    const text = this.#held + piece;
    this.#held = "";
    const tokens = text.match(/[\n\t ]|[^\n\t ]+/g) ?? [];
    for (const [k, token] of tokens.entries()) {
      if (/^[\n\t ]/.test(token)) shown += this.#space(token, columns);
      else shown += this.#words(token, columns, k === tokens.length - 1);
    }
    return shown;
  }

  /** What was held back, when no more will come. */
  end(): string {
    const word = this.#held;
    this.#held = "";
    return word === "" ? "" : this.#word(word, this.#columns());
  }

  #space(character: string, columns: number): string {
    this.#isLong = false;
    this.#isCut = false;
    this.#isSpaced = character === " ";
    if (character === "\n") {
      this.#fences.endLine();
      this.#column = 0;
      this.#isBlank = true;
      return character;
    }
    this.#fences.take(character);
    if (character === "\t") {
      // At the edge a tab does not go on with the next line.
      this.#column = Math.min(this.#column + TAB - (this.#column % TAB), columns - 1);
    } else this.#forward(1, columns);
    return character;
  }

  /** Words without a space between them. The last one is held back where it may go on. */
  #words(text: string, columns: number, mayGoOn: boolean): string {
    const words = this.#isCut ? [text] : wordsOf(text);
    const last = mayGoOn ? words.pop() : undefined;
    let shown = "";
    for (const word of words) {
      shown += this.#word(word, columns);
      this.#isLong = false;
    }
    if (last === undefined) return shown;
    // Marks above and below letters take no columns, and may be many.
    const isLong = last.length >= MOST_UNITS * columns || Bun.stringWidth(last) >= columns;
    const end = this.#isLong || isLong ? this.#endOfGiven(last) : 0;
    if (end > 0) {
      shown += this.#word(last.slice(0, end), columns);
      this.#isLong = true;
    }
    this.#held = last.slice(end);
    return shown;
  }

  /** Up to where the beginning of a long word can be given out: its last character may go on. */
  #endOfGiven(word: string): number {
    // Behind one of these what goes on is found without it.
    if (this.#isCut || /[ -~]$/.test(word)) return word.length;
    let start = 0;
    for (const { index } of graphemes(word)) start = index;
    if (word.length - start <= MOST_OF_ONE) return start;
    this.#isCut = true;
    return word.length;
  }

  /** Leaves the last column for the space that may follow. */
  #word(word: string, columns: number): string {
    const width = Bun.stringWidth(word);
    this.#fences.take(word);
    const mayBreak = !this.#fences.isCode && !this.#isLong && !this.#isBlank;
    const isBroken = mayBreak && this.#column + width >= columns && !(this.#isSpaced && joinsSpace(word));
    this.#isBlank = false;
    this.#isSpaced = false;
    if (isBroken) this.#column = 0;
    this.#forward(width, columns);
    return isBroken ? `\n${word}` : word;
  }

  /** A full line goes on in the next one with the next character only. */
  #forward(width: number, columns: number): void {
    const column = this.#column + width;
    this.#column = column <= columns ? column : ((column - 1) % columns) + 1;
  }
}

/** Whether a word begins with marks that belong to a space before them. */
function joinsSpace(word: string): boolean {
  if (/^[ -~]/.test(word)) return false;
  for (const { segment } of graphemes(` ${word.slice(0, 2)}`)) return segment !== " ";
  return false;
}

/** A text without spaces, apart where a line may be broken: beside characters that take two columns. */
function wordsOf(text: string): string[] {
  if (/^[!-~]*$/.test(text)) return [text];
  const words: string[] = [];
  let before: string | undefined;
  let wasWide = false;
  for (const { segment } of graphemes(text)) {
    const isWide = Bun.stringWidth(segment) > 1;
    const isBorder =
      before !== undefined && (isWide || wasWide) && !CLOSES.test(segment) && !OPENS.test(before);
    if (before === undefined || isBorder) words.push(segment);
    else words[words.length - 1] += segment;
    before = segment;
    wasWide = isWide;
  }
  return words;
}
