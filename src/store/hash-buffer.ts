/** Bytes are handed to the hash in pieces of about this size. */
const SIZE = 64 * 1024;
/** Longest string that is written unit by unit; most streamed deltas are shorter. */
const SHORT = 64;
/** Most bytes that one unit of a string takes in JSON: `\u001b`. */
const UNIT_BYTES = 6;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The letters of the short escapes, by their code. */
const ESCAPES = new Uint8Array(0x20);
for (const [letter, code] of Object.entries({ b: 8, t: 9, n: 10, f: 12, r: 13 }))
  ESCAPES[code] = letter.charCodeAt(0);

/**
 * SHA-256 over a long text that is put together from short parts. The parts are written as bytes into one buffer: to
 * join them as strings first, and to hash each by itself, both cost several times what the hash does.
 */
export class HashBuffer {
  readonly #hash = new Bun.CryptoHasher("sha256");
  readonly #bytes = Buffer.allocUnsafeSlow(SIZE);
  #length = 0;

  /** Adds a text. */
  text(text: string): void {
    // No UTF-16 unit takes more than three bytes.
    if (!this.#makeRoom(3 * text.length)) this.#hash.update(text);
    else this.#length += this.#bytes.write(text, this.#length);
  }

  /** Adds bytes. */
  bytes(bytes: Uint8Array): void {
    if (!this.#makeRoom(bytes.length)) this.#hash.update(bytes);
    else {
      this.#bytes.set(bytes, this.#length);
      this.#length += bytes.length;
    }
  }

  /** Adds a string as `JSON.stringify` gives it. */
  json(text: string): void {
    if (text.length > SHORT || !this.#writeShort(text)) this.text(JSON.stringify(text));
  }

  /** Of what was added so far; more may be added afterwards. */
  hex(): string {
    this.#flush();
    return this.#hash.copy().digest("hex");
  }

  /** Nothing is added where it returns false. */
  #writeShort(text: string): boolean {
    this.#makeRoom(UNIT_BYTES * SHORT + 2);
    const bytes = this.#bytes;
    const { length } = text;
    let at = this.#length;
    bytes[at++] = QUOTE;
    for (let k = 0; k < length; k += 1) {
      const unit = text.charCodeAt(k);
      if (unit < 0x80) {
        if (unit === QUOTE || unit === BACKSLASH) bytes[at++] = BACKSLASH;
        else if (unit < 0x20) {
          const letter = ESCAPES[unit] ?? 0;
          if (letter === 0) return false;
          bytes[at++] = BACKSLASH;
          bytes[at++] = letter;
          continue;
        }
        bytes[at++] = unit;
      } else if (unit < 0x800) {
        bytes[at++] = 0xc0 | (unit >> 6);
        bytes[at++] = 0x80 | (unit & 0x3f);
      } else if (unit < 0xd800 || unit > 0xdfff) {
        bytes[at++] = 0xe0 | (unit >> 12);
        bytes[at++] = 0x80 | ((unit >> 6) & 0x3f);
        bytes[at++] = 0x80 | (unit & 0x3f);
      } else return false; // half of a character or of a pair
    }
    bytes[at++] = QUOTE;
    this.#length = at;
    return true;
  }

  /** Whether so many bytes fit, after what is there has gone to the hash if need be. */
  #makeRoom(count: number): boolean {
    if (this.#length + count > SIZE) this.#flush();
    return count <= SIZE;
  }

  #flush(): void {
    this.#hash.update(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
  }
}
