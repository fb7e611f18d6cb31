import type { LogView } from "../session/log-view.ts";
import { type ByteSource, TextBytes } from "../session/text-bytes.ts";

/** Bytes that are sent at once. */
export const PIECE = 64 * 1024;
/** Bytes of one list that are kept, about. */
const MOST_KEPT = 24 * 1024 * 1024;
/** Room for a character of any length; bytes with less are full. */
const CHARACTER = 4;

/** Items as bytes, one after the other. */
export interface ItemBytes<T> extends ByteSource {
  /** Begins with the next item. The one before must be done. */
  start(item: T): void;
}

/** What a log has in a list that only grows: its records, or the entries of its transcript. */
export interface LoggedList<T> {
  /** Items from seq `from`, which begins one, to the end of `log`. */
  items(log: LogView, from: number): Iterable<T>;
  /** Seq of the first event behind an item. */
  endOf(item: T): number;
  /** For the items from seq `from`; there are some before it, unless it is 0. */
  bytes(from: number): ItemBytes<T>;
  /** Whether an item is not to be written in one go. */
  isLarge(item: T): boolean;
}

/** Items in a row, written. */
interface Block {
  /** Seq of the first event behind it. */
  readonly end: number;
  readonly pieces: ReadonlyArray<Uint8Array<ArrayBuffer>>;
}

/**
 * The beginning of a list, written. Items never change: what was written for one reader serves all others, and those who
 * come when the log has grown.
 */
export class WrittenList<T> {
  readonly #list: LoggedList<T>;
  readonly #blocks: Block[] = [];
  readonly #scratch = new Uint8Array(2 * PIECE);
  #size = 0;
  #readers = 0;

  constructor(list: LoggedList<T>) {
    this.#list = list;
  }

  /** The items of `log`: those that are written, and then what writes the others. */
  *parts(log: LogView): Generator<Uint8Array | ByteSource> {
    let from = 0;
    this.#readers += 1;
    try {
      for (let number = 0; ; number += 1) {
        const block = this.#blocks[number] ?? this.#write(from, log);
        if (block === undefined || block.end > log.length) break;
        yield* block.pieces;
        from = block.end;
      }
    } finally {
      this.#readers -= 1;
    }
    yield new RestBytes(this.#list.items(log, from), this.#list.bytes(from));
  }

  /** Gives back at once what is written; only a collection does, where somebody is in the middle of it. */
  release(): void {
    if (this.#readers > 0) return;
    for (const { pieces } of this.#blocks.splice(0)) for (const { buffer } of pieces) buffer.transfer(0);
    this.#size = 0;
  }

  /** The next block, if there are enough items for one. */
  #write(from: number, log: LogView): Block | undefined {
    if (this.#size >= MOST_KEPT) return undefined;
    const bytes = this.#list.bytes(from);
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    let filled = 0;
    for (const item of this.#list.items(log, from)) {
      if (this.#list.isLarge(item)) return undefined;
      bytes.start(item);
      for (filled = bytes.fill(this.#scratch, filled); !bytes.isDone; ) {
        pieces.push(this.#scratch.slice(0, filled));
        filled = bytes.fill(this.#scratch, 0);
      }
      if (pieces.length === 0 && filled < PIECE) continue;
      pieces.push(this.#scratch.slice(0, filled));
      const block = { end: this.#list.endOf(item), pieces };
      this.#blocks.push(block);
      for (const { length } of pieces) this.#size += length;
      return block;
    }
    return undefined;
  }
}

/** Items that are written for one reader. */
class RestBytes<T> implements ByteSource {
  readonly #items: Iterator<T>;
  readonly #bytes: ItemBytes<T>;
  #isLast = false;

  constructor(items: Iterable<T>, bytes: ItemBytes<T>) {
    this.#items = items[Symbol.iterator]();
    this.#bytes = bytes;
  }

  get isDone(): boolean {
    return this.#isLast && this.#bytes.isDone;
  }

  fill(bytes: Uint8Array, at: number): number {
    let next = at;
    for (;;) {
      if (!this.#bytes.isDone) next = this.#bytes.fill(bytes, next);
      if (this.#isLast || bytes.length - next < CHARACTER) return next;
      const item = this.#items.next();
      if (item.done === true) this.#isLast = true;
      else this.#bytes.start(item.value);
    }
  }
}

/** Objects as JSON, with a comma between two. */
export class JsonBytes<T> implements ItemBytes<T> {
  readonly #text = new TextBytes();
  #separator: string;

  /** `isFirst` says that none stands before. */
  constructor(isFirst: boolean) {
    this.#separator = isFirst ? "" : ",";
  }

  get isDone(): boolean {
    return this.#text.isDone;
  }

  start(item: T): void {
    this.#text.start(this.#separator + JSON.stringify(item));
    this.#separator = ",";
  }

  fill(bytes: Uint8Array, at: number): number {
    return this.#text.fill(bytes, at);
  }
}

/** Puts parts together to pieces of a size at which they are sent. A piece is good until the next one. */
export function* packed(parts: Iterable<Uint8Array | ByteSource>): Generator<Uint8Array> {
  const bytes = new Uint8Array(PIECE);
  let filled = 0;
  for (const part of parts) {
    if (part instanceof Uint8Array) {
      if (filled > 0) yield bytes.subarray(0, filled);
      yield part;
      filled = 0;
    } else {
      for (filled = part.fill(bytes, filled); !part.isDone; filled = part.fill(bytes, 0)) {
        yield bytes.subarray(0, filled);
      }
    }
  }
  if (filled > 0) yield bytes.subarray(0, filled);
}
