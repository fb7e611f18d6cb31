/** Bytes that are written when there is room for them, as many at a time as fit. */
export interface ByteSource {
  /** Whether all was written. */
  readonly isDone: boolean;
  /** Writes on from `at`, until all is written or fewer than four bytes are left. Returns where it stopped. */
  fill(bytes: Uint8Array, at: number): number;
}

/** A text as UTF-8. */
export class TextBytes implements ByteSource {
  readonly #encoder = new TextEncoder();
  #text: string;
  #at = 0;

  constructor(text = "") {
    this.#text = text;
  }

  get isDone(): boolean {
    return this.#at === this.#text.length;
  }

  start(text: string): void {
    this.#text = text;
    this.#at = 0;
  }

  fill(bytes: Uint8Array, at: number): number {
    const text = this.#text;
    // As many units as there are bytes: the last one never fits if it is half of a pair. The rest of a long text stays.
    const end = Math.min(text.length, this.#at + bytes.length - at);
    const piece = this.#at === 0 && end === text.length ? text : text.slice(this.#at, end);
    const { read, written } = this.#encoder.encodeInto(piece, bytes.subarray(at));
    this.#at += read;
    return at + written;
  }
}
