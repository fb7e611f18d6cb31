const ESCAPE = "\u001b";
const START = "\u001b[200~";
const END = "\u001b[201~";
/** Keys, were they typed: one of them may end the program, or remove what stands before it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what this is about
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

/**
 * Takes control characters out of what is pasted, which the terminal puts between two marks. Readline would obey them, so that
 * a text with Ctrl-D in it left the chat, and one with colours came out as another one. What is typed stays as it is.
 */
export class PasteFilter {
  #isPasting = false;
  /** What may be the beginning of a mark. */
  #held = "";
  /** How much of that was given on all the same: a lone escape is a key, and not waited for. */
  #given = 0;

  /** What readline may read now, of text as it comes from the terminal. */
  push(text: string): string {
    const isKey = this.#isPasting && text.length === 1 && text !== ESCAPE && text.search(CONTROLS) === 0;
    // Alone, it was typed: the end of the paste got lost.
    if (isKey) {
      this.#isPasting = false;
      this.#held = "";
      return END + text;
    }
    let rest = this.#held + text;
    let out = "";
    for (;;) {
      const mark = this.#isPasting ? END : START;
      const at = rest.indexOf(mark);
      if (at === -1) break;
      out += this.#clean(rest.slice(0, at)) + mark;
      rest = rest.slice(at + mark.length);
      this.#isPasting = !this.#isPasting;
    }
    const held = this.#beginning(rest);
    this.#held = rest.slice(rest.length - held);
    out += this.#clean(rest.slice(0, rest.length - held));
    const fresh = out.slice(this.#given);
    this.#given -= out.length - fresh.length;
    if (this.#isPasting || this.#held !== ESCAPE || this.#given > 0) return fresh;
    this.#given = 1;
    return fresh + ESCAPE;
  }

  #clean(text: string): string {
    return this.#isPasting ? text.replace(CONTROLS, "") : text;
  }

  /** How much of the end of `text` a mark may begin with. */
  #beginning(text: string): number {
    const mark = this.#isPasting ? END : START;
    for (let length = mark.length - 1; length > 0; length -= 1) {
      if (text.endsWith(mark.slice(0, length))) return length;
    }
    return 0;
  }
}
