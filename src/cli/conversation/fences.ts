/** Of a longer line only the beginning is looked at, in UTF-16 units. */
const MOST = 1_000;
/** What an opening fence may begin with. */
const MAY_OPEN = /^ {0,3}(?:`{0,2}|~{0,2})$/;
/** Behind one of backticks there are no others: those are code within text. */
const OPENS = /^ {0,3}(?<run>`{3,}(?=[^`]*$)|~{3,})/;
/** A closing one has nothing behind it. */
const CLOSES = /^ {0,3}(?<run>`{3,}|~{3,})[\t ]*$/;
const MAY_CLOSE = /^ {0,3}(?:`*|~*)[\t ]*$/;

/**
 * Tells which lines of a Markdown text are code while it comes. As in CommonMark a fence stands at the beginning of a line;
 * one within a line is text. So what was meant to close that one opens a block, and one that is never closed goes to the end
 * of the text. Lists and quotes are not followed into.
 */
export class Fences {
  /** The line so far, as long as it may be a fence. */
  #line: string | undefined = "";
  /** The characters of the fence that the block was opened with. */
  #open: string | undefined;

  /** Whether the line is code, or a fence as far as it came. */
  get isCode(): boolean {
    return this.#open !== undefined || (this.#line !== undefined && OPENS.test(this.#line));
  }

  /** A piece of the line, without its end. */
  take(piece: string): void {
    if (this.#line === undefined) return;
    const line = (this.#line + piece).slice(0, MOST);
    const mayBe = this.#open === undefined ? MAY_OPEN.test(line) || OPENS.test(line) : MAY_CLOSE.test(line);
    this.#line = mayBe ? line : undefined;
  }

  endLine(): void {
    const line = this.#line ?? "";
    this.#line = "";
    if (this.#open === undefined) this.#open = OPENS.exec(line)?.groups?.["run"];
    // One of the same character that is as long, or longer.
    else if (CLOSES.exec(line)?.groups?.["run"]?.startsWith(this.#open)) this.#open = undefined;
  }
}
