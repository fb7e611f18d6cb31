import type { Span } from "./mask.ts";
import { formsOf, isRandom, type SecretKind } from "./secret-forms.ts";

/** Values are looked up by so many units at their end, which of a key are random. None is shorter. */
const END = 8;
const BASE = 0x01000193;
const HASHES = 1 << 16;
/** What the first of these units counts in their hash when it leaves them. */
const LEAVING = Array.from({ length: END }).reduce<number>((power) => Math.imul(power, BASE), 1);
/** A log decides how much there is: so many forms of values are kept, of so many units together. */
const MOST_FORMS = 20_000;
const MOST_FINDS = 200_000;
const MOST_LENGTH = 4 * 1024 * 1024;
/** Of those that end alike each is compared with a text that ends so. */
const MOST_ALIKE = 2_000;
/** Of one that is longer only the parts are kept. */
const LONGEST = 4_096;

/**
 * The secrets that were found in a session, to mask them where nothing tells that they are secret. The search takes one
 * look at each unit of a text, however many there are.
 */
export class KnownSecrets {
  readonly #byEnd = new Map<string, Set<string>>();
  /** Which hashes the ends have, so that hardly any other place of a text is looked up. */
  #hashes: Uint8Array | undefined;
  #forms = 0;
  #length = 0;
  #isFull = false;
  /** Seqs of records in whose texts something was found; nothing when they are too many. */
  #finds: Set<number> | undefined = new Set();
  readonly #seen = new Set<string>();

  get isEmpty(): boolean {
    return this.#forms === 0;
  }

  /** Whether there were more than are kept. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** About how many bytes of memory it takes. */
  get size(): number {
    return (this.#hashes?.length ?? 0) + 256 * this.#forms + 2 * this.#length + 32 * (this.#finds?.size ?? 0);
  }

  /** Takes a secret, in the forms in which it may stand elsewhere; passes over one that may be an ordinary word. */
  add(value: string, kind: SecretKind): void {
    // Most stand in a log many times.
    const name = `${kind} ${value}`;
    if (this.#seen.has(name)) return;
    if (this.#seen.size < MOST_FORMS && value.length <= LONGEST) this.#seen.add(name);
    for (const form of formsOf(value, kind)) if (form.length <= LONGEST) this.#keep(form);
  }

  /** Notes that something was found in the texts that begin with this record. */
  noteFind(seq: number): void {
    this.#finds?.add(seq);
    if (this.#finds !== undefined && this.#finds.size > MOST_FINDS) this.#finds = undefined;
  }

  /** Whether nothing was found in them. */
  isClean(seq: number): boolean {
    return this.#finds?.has(seq) === false;
  }

  /** Where they stand in a text, in no order. */
  *find(text: string): Generator<Span> {
    const hashes = this.#hashes;
    if (hashes === undefined || text.length < END) return;
    let hash = 0;
    for (let end = 1; end <= text.length; end += 1) {
      hash = Math.imul(hash, BASE) + text.charCodeAt(end - 1);
      if (end < END) continue;
      if (end > END) hash -= Math.imul(LEAVING, text.charCodeAt(end - 1 - END));
      hash |= 0;
      if (hashes[hash >>> 16] === 0) continue;
      const values = this.#byEnd.get(text.slice(end - END, end));
      if (values === undefined) continue;
      for (const value of values) {
        const start = end - value.length;
        if (start >= 0 && text.startsWith(value, start) && isApart(text, start, end)) yield { start, end };
      }
    }
  }

  #keep(form: string): void {
    const end = form.slice(-END);
    const values = this.#byEnd.get(end) ?? new Set();
    if (values.has(form)) return;
    if (this.#forms >= MOST_FORMS || values.size >= MOST_ALIKE || this.#length + form.length > MOST_LENGTH) {
      this.#isFull = true;
      return;
    }
    values.add(form);
    this.#byEnd.set(end, values);
    this.#forms += 1;
    this.#length += form.length;
    let hash = 0;
    for (let k = 0; k < END; k += 1) hash = (Math.imul(hash, BASE) + end.charCodeAt(k)) | 0;
    this.#hashes ??= new Uint8Array(HASHES);
    this.#hashes[hash >>> 16] = 1;
  }
}

const LETTER = /[\p{L}\p{N}]/u;

/** A short value is one where it is no part of a longer word. */
function isApart(text: string, start: number, end: number): boolean {
  if (isRandom(text.slice(start, end))) return true;
  return !LETTER.test(text.charAt(start - 1)) && !LETTER.test(text.charAt(end));
}
