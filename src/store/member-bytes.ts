import { MEMBER_PARTS } from "../session/runs.ts";

const ZERO = 0x30;
/** Numbers from here on are rare, and too long for two steps of 32 bits. */
const HIGHEST = 10 ** 14;
const HALF = 10 ** 7;

/**
 * The bytes between the texts of two members of a packed run, each of which would stand alone: the end of the one, a line
 * feed, and the other up to its text. From one member to the next only digits change.
 */
export class MemberBytes {
  #bytes = Buffer.alloc(0);
  #beforeText = "";
  #seq = new Digits(0, 0);
  #time = new Digits(0, 0);

  /** Before the text of a member of this seq and time. Good until the next call. */
  before(beforeText: string, seq: number, time: number): Buffer {
    const isSame = beforeText === this.#beforeText;
    if (!isSame || !this.#seq.write(this.#bytes, seq) || !this.#time.write(this.#bytes, time)) {
      this.#make(beforeText, seq, time);
    }
    return this.#bytes;
  }

  #make(beforeText: string, seq: number, time: number): void {
    const start = `${MEMBER_PARTS.end}\n${MEMBER_PARTS.seq}${seq}`;
    const middle = `${start}${MEMBER_PARTS.time}${time}`;
    this.#bytes = Buffer.from(middle + beforeText);
    this.#beforeText = beforeText;
    this.#seq = new Digits(start.length, String(seq).length);
    this.#time = new Digits(middle.length, String(time).length);
  }
}

/** Where a number stands in bytes. */
class Digits {
  readonly #end: number;
  readonly #start: number;
  readonly #least: number;
  readonly #most: number;

  constructor(end: number, count: number) {
    this.#end = end;
    this.#start = end - count;
    this.#least = count <= 1 ? 0 : 10 ** (count - 1);
    this.#most = Math.min(HIGHEST, 10 ** count) - 1;
  }

  /** Writes another number, if it has as many digits. */
  write(bytes: Buffer, value: number): boolean {
    if (value < this.#least || value > this.#most) return false;
    const high = Math.floor(value / HALF);
    // Whole numbers of 32 bits are divided quickly.
    let rest = (value - high * HALF) | 0;
    let at = this.#end - 1;
    for (const stop = Math.max(this.#start, this.#end - 7); at >= stop; at -= 1)
      rest = writeLast(bytes, at, rest);
    rest = high | 0;
    for (; at >= this.#start; at -= 1) rest = writeLast(bytes, at, rest);
    return true;
  }
}

/** Writes the last digit of a number, and returns the others. */
function writeLast(bytes: Buffer, at: number, value: number): number {
  const others = (value / 10) | 0;
  bytes[at] = ZERO + value - others * 10;
  return others;
}
