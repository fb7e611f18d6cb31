import type { Place } from "../../session/errors.ts";
import type { decodeRecord } from "../../session/records.ts";
import { clip } from "../../session/text.ts";
import { CorruptError } from "../errors.ts";
import { recordChecksum, rowChecksum } from "./keys.ts";
import type { RowText } from "./row-text.ts";
import { assertChecksum, type DecodedRow, decodeTexts, type RecordRow } from "./rows.ts";

/*
 * A segment is one row of `records` that stands for many rows which follow each other: the column `frame` holds their
 * texts, packed. Source: docs/format.md, "Segments".
 */

const TYPE = "segment";
/** Text of the rows of one segment, in UTF-16 units. Larger ones pack little better, and all of one is read for its last row. */
export const SEGMENT_LENGTH = 512 * 1024;
/** A row with more text, in UTF-16 units, stays as it is. */
export const MAX_ROW_LENGTH = 16 * 1024 * 1024;
/** Most bytes that a frame may unfold to: such a row is at most three times as long in UTF-8. */
const MAX_BYTES = 64 * 1024 * 1024;
/** 3 packs a sixth worse, 19 a tenth better and ten times as slow. All unfold equally fast. */
const LEVEL = 9;

/** Segments that a reader keeps unfolded. */
const MOST_LATEST = 2;

/** Control characters stand in no JSON text, other than those that break lines. */
const BEGIN = "\x1e";
const SOURCES = "\x1f";
const END = "\n";

/** What the body of a segment says. Its members are named as those of a packed run, so that it can be taken for no event. */
interface Contents {
  readonly count: number;
  readonly rows: number;
  /** Of the texts, in UTF-8. */
  readonly bytes: number;
}

export interface SegmentRow extends RecordRow {
  readonly frame: Uint8Array;
}

export function isSegment(row: RecordRow): row is SegmentRow {
  return row.frame !== undefined && row.frame !== null;
}

/** Packs rows that follow each other, at least one. */
export function packSegment(rows: readonly RecordRow[]): SegmentRow {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) throw new RangeError("a segment needs a row to start with");
  const texts = rows.map(
    ({ body, sources }) => BEGIN + body + (sources === null ? "" : SOURCES + sources) + END,
  );
  const unpacked = Buffer.from(texts.join(""));
  const { seq, time } = first;
  const count = last.seq + last.count - seq;
  const data: Contents = { count, rows: rows.length, bytes: unpacked.length };
  const body = JSON.stringify({ type: TYPE, seq0: seq, time0: time, data });
  const frame = Bun.zstdCompressSync(unpacked, { level: LEVEL });
  const row = { seq, count, type: TYPE, time, body, sources: null, frame };
  return { ...row, checksum: rowChecksum(row) };
}

/** A row in a segment, with the columns that it would have by itself. */
export class PackedRow implements DecodedRow {
  readonly decoded: DecodedRow["decoded"];
  readonly sources?: NonNullable<DecodedRow["sources"]>;
  /** Seq of the segment that it lies in. */
  readonly segment: number;
  readonly #text: RowText;

  constructor(text: RowText, segment: number, place: Place, decode?: typeof decodeRecord) {
    this.segment = segment;
    const { decoded, sources } = decodeTexts(text, place, decode);
    this.#text = text;
    this.decoded = decoded;
    if (sources !== undefined) this.sources = sources;
  }

  /** Made when it is asked for: the segment's own covers it, and only quotes name it. */
  get checksum(): number {
    return recordChecksum(this.#text);
  }

  get row(): RecordRow {
    const { seq, count, type, time } = this.decoded.record;
    return { seq, count, type, time, ...this.#text, checksum: this.checksum };
  }
}

/** The rows that a segment stands for. */
export class Segment {
  readonly #seq: number;
  readonly #end: number;
  readonly #texts: readonly string[];
  readonly #place: Place;

  /**
   * Unfolds a row, whose place this is.
   * @throws CorruptError where it is not what was written
   */
  constructor(row: SegmentRow, place: Place) {
    assertChecksum(row, place);
    const { seq, count } = row;
    const contents = contentsOf(row);
    if (contents === undefined) throw malformed("the columns that its body tells", clip(row.body, 60), place);
    const text = unfold(row.frame, contents.bytes, place);
    if (!text.startsWith(BEGIN)) throw malformed("rows", JSON.stringify(clip(text, 20)), place);
    this.#texts = text.slice(BEGIN.length).split(BEGIN);
    if (this.#texts.length !== contents.rows)
      throw malformed(`${contents.rows} rows`, `${this.#texts.length} rows`, place);
    this.#seq = seq;
    this.#end = seq + count;
    this.#place = place;
  }

  /**
   * Its rows from the one on that holds the event `from`, in order; all of them when absent, and the last one at least. The
   * rows before are not looked at. @throws CorruptError where one of them is malformed, or does not follow the one before it
   */
  rows(from = this.#seq, decode?: typeof decodeRecord): readonly PackedRow[] {
    const rows: PackedRow[] = [];
    let next = this.#end;
    let k = this.#texts.length;
    while (k > 0 && (next > from || rows.length === 0)) {
      k -= 1;
      const row = new PackedRow(splitTexts(this.#texts[k] ?? ""), this.#seq, this.#place, decode);
      const { seq, count } = row.decoded.record;
      if (seq + count !== next || seq < this.#seq)
        throw malformed(
          `a row that ends before seq ${next}`,
          `seq ${seq} to ${seq + count - 1}`,
          this.#place,
        );
      rows.push(row);
      next = seq;
    }
    if ((k === 0) !== (next === this.#seq))
      throw malformed(`rows from seq ${this.#seq} on`, `rows from seq ${next} on`, this.#place);
    return rows.reverse();
  }
}

/** Segments that were read last: whoever reads the end of a log reads it again, and what is quoted lies close by. */
export class SegmentReader {
  readonly #latest: Array<{ readonly frame: string; readonly segment: Segment }> = [];

  /** As the constructor of {@link Segment}. @param session number of the session that the row belongs to */
  open(row: SegmentRow, session: number, place: Place): Segment {
    const frame = `${session} ${row.seq} ${row.checksum}`;
    const known = this.#latest.find((one) => one.frame === frame)?.segment;
    if (known !== undefined) return known;
    const segment = new Segment(row, place);
    this.#latest.push({ frame, segment });
    if (this.#latest.length > MOST_LATEST) this.#latest.shift();
    return segment;
  }

  /** Rows as they would lie without segments, from the one on that holds the event `from`. Plain ones are not looked at. */
  unpack(rows: readonly RecordRow[], session: number, from: number, place: Place): RecordRow[] {
    return rows.flatMap((row) => {
      if (!isSegment(row)) return row.seq + row.count > from ? row : [];
      const at = { ...place, seq: row.seq };
      return this.open(row, session, at)
        .rows(Math.max(from, row.seq))
        .map((packed) => packed.row);
    });
  }
}

function splitTexts(text: string): RowText {
  const end = text.endsWith(END) ? -END.length : undefined;
  const at = text.lastIndexOf(SOURCES);
  if (at < 0) return { body: text.slice(0, end), sources: null };
  return { body: text.slice(0, at), sources: text.slice(at + SOURCES.length, end) };
}

function contentsOf({ seq, count, type, time, body, sources }: SegmentRow): Contents | undefined {
  const value = tryParse(body);
  const data: unknown = value["data"];
  // Whatever it is, its members may be anything; what is no object has none.
  const { rows, bytes, ...rest } = Object(data) as Readonly<Record<string, unknown>>;
  if (type !== TYPE || value["type"] !== TYPE || sources !== null || value["seq0"] !== seq) return undefined;
  if (value["time0"] !== time || rest["count"] !== count || !isSize(count)) return undefined;
  return isSize(rows) && isSize(bytes) ? { count, rows, bytes } : undefined;
}

function isSize(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}

function tryParse(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

function unfold(frame: Uint8Array, bytes: number, place: Place): string {
  const stated = statedSize(frame);
  if (stated !== bytes || bytes > MAX_BYTES)
    throw malformed(
      `a frame of ${Math.min(bytes, MAX_BYTES)} bytes`,
      `one of ${stated ?? "unknown size"}`,
      place,
    );
  let unpacked: Uint8Array;
  try {
    unpacked = Bun.zstdDecompressSync(frame);
  } catch {
    throw malformed("a frame that can be unfolded", "other bytes", place);
  }
  const text = Buffer.from(unpacked.buffer, unpacked.byteOffset, unpacked.byteLength).toString("utf8");
  if (unpacked.length === bytes) return text;
  throw malformed(`a frame of ${bytes} bytes`, `one of ${unpacked.length}`, place);
}

const MAGIC = 0xfd2fb528;
const DESCRIPTOR_AT = 4;
const SINGLE_SEGMENT = 0b100000;
const DICTIONARY = 0b11;

/** The size that a Zstandard frame says its content has: nothing is unfolded to find out. Source: RFC 8878, 3.1.1.1. */
function statedSize(frame: Uint8Array): number | undefined {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const descriptor = frame[DESCRIPTOR_AT];
  if (descriptor === undefined || view.getUint32(0, true) !== MAGIC || (descriptor & DICTIONARY) !== 0)
    return undefined;
  const isSingle = (descriptor & SINGLE_SEGMENT) !== 0;
  const at = DESCRIPTOR_AT + (isSingle ? 1 : 2);
  const size = descriptor >> 6;
  if (at + 8 > frame.length) return undefined;
  if (size === 0) return isSingle ? view.getUint8(at) : undefined;
  if (size === 1) return view.getUint16(at, true) + 256;
  return size === 2 ? view.getUint32(at, true) : Number(view.getBigUint64(at, true));
}

function malformed(expected: string, found: string, place: Place): CorruptError {
  return new CorruptError("A segment is malformed", { expected, found, place });
}
