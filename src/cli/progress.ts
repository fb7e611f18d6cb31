import { printableLine } from "./printable.ts";

const CLEAR_LINE = "\r\u001b[K";

/** One line on stderr that says how far a command is, where stderr is a terminal; else nothing at all. */
export class Progress implements Disposable {
  readonly #isShown = process.stderr.isTTY === true;
  #isDirty = false;

  show(text: string): void {
    if (!this.#isShown) return;
    // A terminal that does not know its width says 0.
    const width = (process.stderr.columns || 80) - 1;
    process.stderr.write(CLEAR_LINE + Bun.sliceAnsi(printableLine(text), 0, width));
    this.#isDirty = true;
  }

  /** Takes the line away, so that other output can follow. */
  clear(): void {
    if (this.#isDirty) process.stderr.write(CLEAR_LINE);
    this.#isDirty = false;
  }

  [Symbol.dispose](): void {
    this.clear();
  }
}
