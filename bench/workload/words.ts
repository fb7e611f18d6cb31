import type { Random } from "../random.ts";

/*
 * Made-up tokens with the statistics of a real model's: punctuation, scraps of words and CJK, few of them very frequent
 * and thousands rare, and phrases that come back, so that they compress as real ones do.
 */

const PROSE_SIGNS =
  ' ¦，¦\\¦`¦-¦.¦（¦。¦t¦**¦"¦：¦、¦\n¦。\n\n¦:\\¦ `¦）\n¦/¦9¦5¦0¦3¦）¦？¦ -¦ →¦|¦ |\n¦——¦ **¦\n\n¦ |¦.ts¦ ✅'.split(
    "¦",
  );
// Each stands for itself inside a JSON string, so that the pieces of the arguments join to valid JSON.
const CODE_SIGNS =
  " ¦\\\\¦ '¦ =¦ -¦-¦ $¦)¦ (¦   ¦'¦,¦ \\\"¦:\\\\¦ {\\n¦|¦ {¦\\n¦ }¦{¦.¦}¦, ¦ &&¦\\\"¦',¦('¦[¦]¦/¦;¦\\n\\n¦);\\n¦0¦1¦2".split(
    "¦",
  );
const SYLLABLES =
  "ka re mo ti lan so per in con de al to ver sa un est pro ri men ta cal fi ex ul no tra".split(" ");

/** A source of tokens and texts. */
export class Speech {
  readonly #random: Random;
  readonly #tokens: readonly string[];
  /** UTF-8 bytes of each token inside a JSON string. */
  readonly #bytes: Uint8Array;
  /** Share of all tokens up to and with each. */
  readonly #cumulative: Float64Array;
  /** What was said last, to be said again in parts. */
  readonly #said: Uint16Array = new Uint16Array(4096);
  #count = 0;
  #copyFrom = 0;
  #copyLeft = 0;

  private constructor(random: Random, signs: readonly string[], size: number, make: () => string) {
    this.#random = random;
    this.#tokens = [...signs, ...Array.from({ length: size - signs.length }, make)];
    this.#bytes = Uint8Array.from(this.#tokens, (token) => Buffer.byteLength(JSON.stringify(token)) - 2);
    const weights = this.#tokens.map((_, rank) => 1 / (rank + 4) ** 1.06);
    const all = weights.reduce((sum, weight) => sum + weight, 0);
    let sum = 0;
    this.#cumulative = Float64Array.from(weights, (weight) => {
      sum += weight / all;
      return sum;
    });
  }

  /** What a model reasons and answers. */
  static prose(random: Random): Speech {
    return new Speech(random, PROSE_SIGNS, 3500, () =>
      token(random, { hanzi: 0.56, spaced: 0.55, lengths: [2, 3, 3, 4, 5, 7] }),
    );
  }

  /** What stands inside the arguments of a call, and what tools give back. */
  static code(random: Random): Speech {
    return new Speech(random, CODE_SIGNS, 1900, () =>
      token(random, { hanzi: 0.08, spaced: 0.5, lengths: [2, 3, 3, 4, 5, 6] }),
    );
  }

  tokens(count: number): string[] {
    return Array.from({ length: count }, () => this.#tokens[this.#next()] ?? "");
  }

  /** A text of about `bytes` bytes of JSON, in lines, many of which resemble the ones before. */
  text(bytes: number): string {
    const lines: Array<readonly [line: string, bytes: number]> = [];
    for (let size = 0; size < bytes; ) {
      const again = lines.length > 3 && this.#random.next() < 0.55 ? this.#random.pick(lines) : undefined;
      const line = again ?? this.#line(Math.min(70, bytes - size));
      lines.push(line);
      size += line[1] + 2;
    }
    return lines.map(([line]) => line).join("\n");
  }

  #line(bytes: number): readonly [line: string, bytes: number] {
    let line = "";
    let size = 0;
    while (size < bytes) {
      const index = this.#next();
      line += this.#tokens[index] ?? "";
      size += this.#bytes[index] ?? 1;
    }
    return [line, size];
  }

  /** The next token: drawn by how frequent it is, or part of a phrase that was said before. */
  #next(): number {
    const { length } = this.#said;
    if (this.#copyLeft === 0 && this.#count >= length && this.#random.next() < 0.06) {
      this.#copyLeft = this.#random.between(4, 14);
      this.#copyFrom = this.#count - this.#random.between(20, length - 20);
    }
    let index: number;
    if (this.#copyLeft > 0) {
      this.#copyLeft -= 1;
      index = this.#said[this.#copyFrom++ % length] ?? 0;
    } else index = this.#draw();
    this.#said[this.#count % length] = index;
    this.#count += 1;
    return index;
  }

  #draw(): number {
    const share = this.#random.next();
    let low = 0;
    let high = this.#cumulative.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#cumulative[middle] ?? 1) < share) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function token(random: Random, kind: { hanzi: number; spaced: number; lengths: readonly number[] }): string {
  if (random.next() < kind.hanzi) {
    const length = random.pick([1, 1, 2, 2, 2, 3]);
    return Array.from({ length }, () => String.fromCharCode(random.between(0x4e00, 0x7fff))).join("");
  }
  const word = Array.from({ length: random.between(2, 4) }, () => random.pick(SYLLABLES)).join("");
  return (random.next() < kind.spaced ? " " : "") + word.slice(0, random.pick(kind.lengths));
}
