import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { z } from "zod";
import { CorruptError, StorageFailedError, toStorageError, UnsupportedFormatError } from "./errors.ts";
import { FINDING_SEVERITY, type Finding, type FindingCode } from "./finding.ts";
import {
  QUARANTINE_TYPE,
  QUARANTINE_VERSION,
  type QuarantineHead,
  type SqlValue,
  type Stretch,
  type TextPiece,
} from "./quarantine.ts";

/* Reads what quarantine.ts writes. */

/** One piece of a quarantine file, or a line of it that is none. */
export type QuarantineItem =
  | (TextPiece & { readonly kind: "text" })
  /** With a `row` they are bytes of a line of that frame, unfolded; else they are bytes of the file. */
  | (Stretch & { readonly kind: "bytes"; readonly row?: number; readonly bytes: Buffer })
  /** A row of a table: all its columns, `rowid` too. */
  | { readonly kind: "row"; readonly values: Readonly<Record<string, SqlValue>> }
  | { readonly kind: "damage"; readonly finding: Finding };

/** Bytes read at once. */
const WINDOW = 1024 * 1024;
/** Longest line: a text of 64 MiB, with six bytes for each of its own. */
const MAX_LINE = 400 * 1024 * 1024;
const NEWLINE = 0x0a;

const natural = z.number().int().nonnegative();
const optional = { row: natural.exactOptional(), seq: natural.exactOptional() };
const headSchema = z.object({
  session: z.string().nullable(),
  source: z.string(),
  reason: z.object({
    code: z.custom<FindingCode>((code) => typeof code === "string" && Object.hasOwn(FINDING_SEVERITY, code)),
    message: z.string(),
    expected: z.string().exactOptional(),
    found: z.string().exactOptional(),
  }),
  cutAt: z.object({ offset: natural.exactOptional(), ...optional }),
});
const textSchema = z.object({ offset: natural, length: natural, ...optional, text: z.string() });
const bytesSchema = z.object({
  offset: natural,
  length: natural,
  row: natural.exactOptional(),
  base64: z.string(),
});
const endSchema = z.object({ type: z.literal("end"), pieces: natural, records: natural, bytes: natural });
const valueSchema = z.union([
  z.null(),
  z.string(),
  z.number(),
  z.object({ base64: z.string() }).transform(({ base64 }) => Buffer.from(base64, "base64")),
  z.object({ integer: z.string().regex(/^-?\d+$/) }).transform(({ integer }) => BigInt(integer)),
  z.object({ real: z.string() }).transform(({ real }) => Number(real)),
]);
const rowSchema = z.record(z.string(), valueSchema);

/** A quarantine file, opened for reading. */
export class QuarantineReader implements Disposable {
  readonly path: string;
  readonly head: QuarantineHead;
  readonly #file: number;
  readonly #bodyOffset: number;

  /**
   * @throws CorruptError where the file is no quarantine file, UnsupportedFormatError where it is one of another version,
   * StorageFailedError where it cannot be read
   */
  constructor(path: string) {
    this.path = path;
    this.#file = openRegular(path);
    try {
      const first = this.#lines(0).next().value;
      this.head = parseHead(first?.kind === "line" ? first.bytes.toString() : "", path);
      this.#bodyOffset = first?.end ?? 0;
    } catch (error) {
      closeSync(this.#file);
      throw error;
    }
  }

  /** Everything in stored order. What is no piece comes as damage, and so does a missing end. */
  *items(): Generator<QuarantineItem> {
    let isEnded = false;
    for (const line of this.#lines(this.#bodyOffset)) {
      const item = line.kind === "line" ? parseLine(line.bytes.toString()) : undefined;
      if (item === "end") isEnded = true;
      else yield item ?? this.#damage("damaged", "A line of the quarantine file is no piece", line.offset);
    }
    if (!isEnded) yield this.#damage("torn-tail", "The quarantine file has no end");
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }

  #damage(code: FindingCode, message: string, offset?: number): QuarantineItem {
    const place = { path: this.path, ...(offset === undefined ? {} : { offset }) };
    return { kind: "damage", finding: { code, message, place } };
  }

  *#lines(from: number): Generator<Line> {
    let parts: Buffer[] = [];
    let length = 0;
    let start = from;
    for (let at = from; ; ) {
      const bytes = this.#read(at);
      if (bytes.length === 0) break;
      let rest = 0;
      for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, rest)) {
        const isLong = length > MAX_LINE;
        const whole = Buffer.concat([...parts, bytes.subarray(rest, end)]);
        parts = [];
        length = 0;
        rest = end + 1;
        const place = { offset: start, end: at + rest };
        yield isLong ? { kind: "bad", ...place } : { kind: "line", bytes: whole, ...place };
        start = at + rest;
      }
      length += bytes.length - rest;
      if (length <= MAX_LINE) parts.push(bytes.subarray(rest));
      else parts = [];
      at += bytes.length;
    }
    if (length > 0) yield { kind: "bad", offset: start, end: start + length };
  }

  #read(offset: number): Buffer {
    const bytes = Buffer.allocUnsafe(WINDOW);
    try {
      return bytes.subarray(0, readSync(this.#file, bytes, 0, WINDOW, offset));
    } catch (error) {
      throw toStorageError(error, "The quarantine file could not be read", { path: this.path, offset });
    }
  }
}

type Line =
  | { readonly kind: "line"; readonly bytes: Buffer; readonly offset: number; readonly end: number }
  /** Longer than any piece, or without an end. */
  | { readonly kind: "bad"; readonly offset: number; readonly end: number };

/** Whether a file begins like a quarantine file. @throws StorageFailedError */
export function isQuarantine(path: string): boolean {
  const file = openRegular(path);
  try {
    const beginning = Buffer.from(`{"type":"${QUARANTINE_TYPE}",`);
    const bytes = Buffer.alloc(beginning.length);
    readSync(file, bytes, 0, bytes.length, 0);
    return bytes.equals(beginning);
  } catch (error) {
    throw toStorageError(error, "The file could not be read", { path });
  } finally {
    closeSync(file);
  }
}

function openRegular(path: string): number {
  let file: number;
  try {
    // A pipe is looked at, not waited for.
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    throw toStorageError(error, "The file could not be opened", { path });
  }
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new StorageFailedError("This is not a regular file", { place: { path } });
}

function parseHead(text: string, path: string): QuarantineHead {
  const value = tryObject(text);
  const version = value?.["version"];
  if (value?.["type"] === QUARANTINE_TYPE && version !== QUARANTINE_VERSION) {
    throw new UnsupportedFormatError(`The quarantine file has version ${JSON.stringify(version)}`, {
      place: { path },
      hint: `This program reads version ${QUARANTINE_VERSION}. The file was left as it is.`,
    });
  }
  const head = value?.["type"] === QUARANTINE_TYPE ? headSchema.safeParse(value).data : undefined;
  if (head === undefined) {
    throw new CorruptError("This is no quarantine file", {
      expected: `a first line of the type ${QUARANTINE_TYPE}`,
      found: value === undefined ? "something else" : "another line",
      place: { path },
    });
  }
  const { session, ...rest } = head;
  return session === null ? rest : { session, ...rest };
}

function parseLine(text: string): QuarantineItem | "end" | undefined {
  const value = tryObject(text);
  if (value === undefined) return undefined;
  if ("rowid" in value) {
    const values = rowSchema.safeParse(value).data;
    return values === undefined ? undefined : { kind: "row", values };
  }
  if ("text" in value) {
    const piece = textSchema.safeParse(value).data;
    return piece === undefined ? undefined : { kind: "text", ...piece };
  }
  if ("base64" in value) {
    const piece = bytesSchema.safeParse(value).data;
    if (piece === undefined) return undefined;
    const { base64, ...place } = piece;
    return { kind: "bytes", ...place, bytes: Buffer.from(base64, "base64") };
  }
  return endSchema.safeParse(value).success ? "end" : undefined;
}

function tryObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined; // not JSON
  }
}
