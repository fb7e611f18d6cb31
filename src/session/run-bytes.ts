import { MemberBytes } from "./member-bytes.ts";
import type { RunText } from "./run-text.ts";
import { MEMBER_PARTS } from "./runs.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
/** Most bytes that one character takes. */
const LONGEST = 4;

const MEMBER_END = new TextEncoder().encode(MEMBER_PARTS.end);
const NO_RUN: RunText = { text: "", seq0: 0, time0: 0, beforeText: "", gaps: 0, texts: 0 };

/** The members of a packed run as bytes, each as it would stand alone, with a separator between two. */
export class RunBytes {
  readonly #between: MemberBytes;
  readonly #endOfSeparator: number;
  #run = NO_RUN;
  #member = 0;
  #end = 0;
  /** Where the gap to the next member stands. */
  #gapAt = 0;
  /** Where in the run's text to go on. */
  #textAt = 0;
  /** Bytes that come next, from `#headAt` on: those before a member's text, or the end of the last member. */
  #head: Uint8Array = MEMBER_END;
  #headAt = MEMBER_END.length;

  /** `separator` is one character of ASCII. */
  constructor(separator: string) {
    this.#between = new MemberBytes(separator);
    this.#endOfSeparator = MEMBER_END.length + separator.length;
  }

  /** Whether all was written. */
  get isDone(): boolean {
    return this.#member === this.#end && this.#headAt === this.#head.length;
  }

  /** Begins with the members from `from` to `to` (exclusive), at least one; without a separator before the first. */
  start(run: RunText, from: number, to: number): void {
    this.#run = run;
    this.#member = from;
    this.#end = to;
    this.#gapAt = run.gaps;
    this.#textAt = run.texts + 1;
    let time = run.time0;
    for (let member = 0; member < from; member += 1) {
      this.#skipText();
      time += this.#readGap();
    }
    this.#head = this.#between.first(`${run.beforeText}"`, run.seq0 + from, time);
    this.#headAt = this.#endOfSeparator;
  }

  /** Writes on from `at`, until all is written or fewer than four bytes are left. Returns where it stopped. */
  fill(bytes: Uint8Array, at: number): number {
    let next = at;
    for (;;) {
      next = this.#writeHead(bytes, next);
      if (this.#headAt < this.#head.length || this.#member === this.#end) return next;
      next = this.#writeText(bytes, next);
      // Between two texts there is no head left.
      if (this.#headAt === this.#head.length) return next;
    }
  }

  #writeHead(bytes: Uint8Array, at: number): number {
    const head = this.#head;
    if (this.#headAt === 0 && head.length <= bytes.length - at) {
      bytes.set(head, at);
      this.#headAt = head.length;
      return at + head.length;
    }
    const piece = head.subarray(this.#headAt, this.#headAt + bytes.length - at);
    bytes.set(piece, at);
    this.#headAt += piece.length;
    return at + piece.length;
  }

  /** Writes the member's text on, with the quotation mark behind it; then the next head is there. */
  #writeText(bytes: Uint8Array, start: number): number {
    const { text } = this.#run;
    const last = bytes.length - LONGEST;
    let at = start;
    let from = this.#textAt;
    while (at <= last) {
      const unit = text.charCodeAt(from);
      from += 1;
      if (unit < 0x80) {
        bytes[at++] = unit;
        if (unit === QUOTE) {
          this.#textAt = from + 2;
          this.#nextMember();
          return at;
        }
        if (unit === BACKSLASH) {
          bytes[at++] = text.charCodeAt(from);
          from += 1;
        }
      } else if (unit < 0x800) {
        bytes[at++] = 0xc0 | (unit >> 6);
        bytes[at++] = 0x80 | (unit & 0x3f);
      } else if (unit < 0xd800 || unit > 0xdfff) {
        bytes[at++] = 0xe0 | (unit >> 12);
        bytes[at++] = 0x80 | ((unit >> 6) & 0x3f);
        bytes[at++] = 0x80 | (unit & 0x3f);
      } else {
        // The text is well-formed: here is a pair.
        const point = 0x10000 + ((unit & 0x3ff) << 10) + (text.charCodeAt(from) & 0x3ff);
        from += 1;
        bytes[at++] = 0xf0 | (point >> 18);
        bytes[at++] = 0x80 | ((point >> 12) & 0x3f);
        bytes[at++] = 0x80 | ((point >> 6) & 0x3f);
        bytes[at++] = 0x80 | (point & 0x3f);
      }
    }
    this.#textAt = from;
    return at;
  }

  #nextMember(): void {
    this.#member += 1;
    this.#head = this.#member === this.#end ? MEMBER_END : this.#between.next(this.#readGap());
    this.#headAt = 0;
  }

  #readGap(): number {
    const { text } = this.#run;
    let at = this.#gapAt;
    const isNegative = text.charCodeAt(at) === MINUS;
    if (isNegative) at += 1;
    let gap = 0;
    for (; ; at += 1) {
      const digit = text.charCodeAt(at);
      if (digit < ZERO || digit > NINE) break;
      gap = gap * 10 + digit - ZERO;
    }
    this.#gapAt = at + 1;
    return isNegative ? -gap : gap;
  }

  #skipText(): void {
    const { text } = this.#run;
    let at = this.#textAt;
    for (; text.charCodeAt(at) !== QUOTE; at += 1) if (text.charCodeAt(at) === BACKSLASH) at += 1;
    this.#textAt = at + 3;
  }
}
