import { MEMBER_PARTS } from "./runs.ts";

const ZERO = 0x30;
/** Milliseconds. Longer gaps are rare. */
const LONG_GAP = 1_000_000;

/**
 * The bytes between the texts of two members of a packed run, each of which would stand alone: the end of the one, a
 * separator of one byte, and the other up to its text. From one member to the next only digits change.
 */
export class MemberBytes {
  readonly #separator: string;
  readonly #encoder = new TextEncoder();
  #bytes = new Uint8Array(0);
  #beforeText = "";
  #seq = 0;
  #time = 0;
  #seqEnd = 0;
  #timeEnd = 0;

  constructor(separator: string) {
    this.#separator = separator;
  }

  /** Before the text of the first member to be written. Good until the next call. */
  first(beforeText: string, seq: number, time: number): Uint8Array {
    const start = `${MEMBER_PARTS.end}${this.#separator}${MEMBER_PARTS.seq}${seq}`;
    const middle = `${start}${MEMBER_PARTS.time}${time}`;
    this.#bytes = this.#encoder.encode(middle + beforeText);
    this.#beforeText = beforeText;
    this.#time = time;
    this.#seq = seq;
    this.#seqEnd = start.length;
    this.#timeEnd = middle.length;
    return this.#bytes;
  }

  /** Before the text of the member that comes next, `gap` milliseconds later. */
  next(gap: number): Uint8Array {
    this.#seq += 1;
    this.#time += gap;
    const bytes = this.#bytes;
    if (gap < 0 || gap > LONG_GAP || !add(bytes, this.#seqEnd, 1) || !add(bytes, this.#timeEnd, gap))
      return this.first(this.#beforeText, this.#seq, this.#time);
    return bytes;
  }
}

/** Adds to the decimal number that ends before `end`. Returns false where the sum has more digits. */
function add(bytes: Uint8Array, end: number, value: number): boolean {
  // Whole numbers of 32 bits are divided quickly.
  let rest = value | 0;
  for (let at = end - 1; rest > 0; at -= 1) {
    const digit = ((bytes[at] ?? 0) - ZERO) | 0;
    if (digit < 0 || digit > 9) return false;
    const sum = (digit + rest) | 0;
    rest = (sum / 10) | 0;
    bytes[at] = ZERO + sum - rest * 10;
  }
  return true;
}
