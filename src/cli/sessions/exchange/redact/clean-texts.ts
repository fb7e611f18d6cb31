/** Shorter texts are searched sooner than looked up. */
const LEAST = 24;
/** UTF-16 units of texts that are kept. */
const MOST = 8 * 1024 * 1024;

/**
 * Texts in which nothing was found. What a model says stands in a log several times: as it was streamed, in the end of its
 * block, and in its message.
 */
export class CleanTexts {
  readonly #texts = new Set<string>();
  #length = 0;

  has(text: string): boolean {
    return text.length >= LEAST && this.#texts.has(text);
  }

  add(text: string): void {
    if (text.length < LEAST || text.length > MOST / 2) return;
    if (this.#length + text.length > MOST) this.clear();
    this.#texts.add(text);
    this.#length += text.length;
  }

  clear(): void {
    this.#texts.clear();
    this.#length = 0;
  }
}
