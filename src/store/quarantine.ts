import { type FileSystem, SYSTEM, writeAll } from "./file-system.ts";
import type { Finding } from "./finding.ts";

/*
 * What a repair sets aside, in a file that people and programs can read: lines of JSON. Nothing is lost in it: a text is
 * what was stored, and what is no text stands there as base64. quarantine-reader.ts reads it. Source: docs/format.md,
 * "Quarantine files".
 */

export const QUARANTINE_TYPE = "holdfast-quarantine";
export const QUARANTINE_VERSION = 1;

/** Where the cut begins, as far as it is known: byte offset, number of the frame or row, seq that was to come. */
export interface CutPlace {
  readonly offset?: number;
  readonly row?: number;
  readonly seq?: number;
}

/** The first line of a quarantine file. */
export interface QuarantineHead {
  /** Absent where what is set aside belongs to no session, or to several. */
  readonly session?: string;
  /** File that it was cut from: its name, without its folder. */
  readonly source: string;
  readonly reason: Pick<Finding, "code" | "message" | "expected" | "found">;
  readonly cutAt: CutPlace;
}

/** Where a piece lay in the file: bytes. Lines of one frame have the place of the frame. */
export interface Stretch {
  readonly offset: number;
  readonly length: number;
}

/** One line, without the line feed that ended it. It is a record where `seq`, that of its first event, is known. */
export interface TextPiece extends Stretch {
  /** Number of the frame, from 1. */
  readonly row?: number;
  readonly seq?: number;
  readonly text: string;
}

/** A value as SQLite keeps it; integers that a number cannot hold are bigints. */
export type SqlValue = null | string | number | bigint | Uint8Array;

/** The number of records, pieces and stored bytes that a quarantine file holds. */
export interface QuarantineCount {
  readonly pieces: number;
  readonly records: number;
  readonly bytes: number;
}

/** Bytes that are put into one line: a multiple of three, so that the base64 of lines can be joined. */
const BASE64_PIECE = 48 * 1024;
/** Text that is kept before it is written, in UTF-16 units. */
const BUFFER = 256 * 1024;

/** Writes a quarantine file, piece by piece in the order in which they were stored. */
export class QuarantineWriter implements Disposable {
  readonly path: string;
  readonly #system: FileSystem;
  #file: number | undefined;
  #lines: string[] = [];
  #length = 0;
  #count = { pieces: 0, records: 0, bytes: 0 };

  /** Makes the file, which must not be there. @throws a system error */
  constructor(path: string, head: QuarantineHead, system: FileSystem = SYSTEM) {
    this.path = path;
    this.#system = system;
    this.#file = system.create(path);
    const { session, source, reason, cutAt } = head;
    const { code, message, expected, found } = reason;
    this.#push({
      type: QUARANTINE_TYPE,
      version: QUARANTINE_VERSION,
      session: session ?? null,
      source,
      reason: { code, message, expected, found },
      cutAt,
    });
  }

  get count(): QuarantineCount {
    return { ...this.#count };
  }

  /** @param isNew whether the stretch is another one than the last piece's, so that its bytes count */
  text({ offset, length, row, seq, text }: TextPiece, isNew = true): void {
    this.#push({ offset, length, row, seq, text });
    this.#add(isNew ? length : 0, seq === undefined ? 0 : 1);
  }

  /** Bytes that yield nothing. Long ones take several pieces. */
  bytes(offset: number, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += BASE64_PIECE) {
      const piece = bytes.subarray(at, at + BASE64_PIECE);
      this.#push({ offset: offset + at, length: piece.length, base64: toBase64(piece) });
      this.#add(piece.length, 0);
    }
  }

  /** A line of a frame, unfolded, that is no text. */
  unfolded(
    { offset, length, row }: Stretch & { readonly row?: number },
    bytes: Uint8Array,
    isNew = true,
  ): void {
    for (let at = 0; at < bytes.length; at += BASE64_PIECE) {
      const base64 = toBase64(bytes.subarray(at, at + BASE64_PIECE));
      this.#push({ offset, length, row, base64 });
      this.#add(isNew && at === 0 ? length : 0, 0);
    }
  }

  /** A row of a table, with its rowid. It is a record where it has a `body`. */
  row(rowid: number | bigint, values: Readonly<Record<string, SqlValue>>): void {
    const stored = Object.entries(values).map(([name, value]) => [name, toStored(value)] as const);
    this.#push({ rowid: toStored(rowid), ...Object.fromEntries(stored) });
    this.#add(0, "body" in values ? 1 : 0);
  }

  /** Writes the last line and makes the file durable; its name is durable once its folder is synced. @throws a system error */
  finish(): QuarantineCount {
    this.#push({ type: "end", ...this.#count });
    this.#flush();
    if (this.#file !== undefined) this.#system.fsync(this.#file);
    this[Symbol.dispose]();
    return this.count;
  }

  /** Closes the file. One that was not finished stays for whoever made it to remove. */
  [Symbol.dispose](): void {
    const file = this.#file;
    this.#file = undefined;
    if (file !== undefined) this.#system.close(file);
  }

  #add(bytes: number, records: number): void {
    this.#count.pieces += 1;
    this.#count.records += records;
    this.#count.bytes += bytes;
  }

  #push(line: object): void {
    const text = JSON.stringify(line);
    this.#lines.push(text);
    this.#length += text.length;
    if (this.#length >= BUFFER) this.#flush();
  }

  #flush(): void {
    if (this.#file === undefined) throw new TypeError("the quarantine file is closed");
    const bytes = Buffer.from(`${this.#lines.join("\n")}\n`);
    this.#lines = [];
    this.#length = 0;
    writeAll(this.#system, this.#file, bytes, this.path);
  }
}

/** A value as JSON tells it apart from all others; `fromStored` in quarantine-reader.ts is the way back. */
function toStored(value: SqlValue): unknown {
  if (value instanceof Uint8Array) return { base64: toBase64(value) };
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : { integer: String(value) };
  }
  if (typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0))) {
    return { real: Object.is(value, -0) ? "-0" : String(value) };
  }
  return value;
}

function toBase64({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString("base64");
}
