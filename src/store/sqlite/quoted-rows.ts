import type { Place } from "../../session/errors.ts";
import type { DecodedRecord, SessionRecord } from "../../session/records.ts";
import { isRunType } from "../../session/runs.ts";
import { CorruptError } from "../errors.ts";
import { blockOf, isInString } from "./delta-text.ts";
import { addChecksum, type Quote } from "./quotes.ts";
import { SplitRecord, streamed } from "./row-text.ts";
import { assertChecksum, type DecodedRow, type RecordRow } from "./rows.ts";
import { isStepBorder, MAX_REACH } from "./streamed-blocks.ts";

/** Reads the rows of a session that begin at seq `first` to seq `last`. */
type LoadRows = (first: number, last: number) => readonly RecordRow[];

/** What a quote stands for, or why it stands for nothing. */
interface Found {
  readonly records: readonly SessionRecord[];
  readonly fault?: { readonly message: string; readonly expected: string; readonly found: string };
}

/**
 * Finds what rows quote, as they are read in order. Keeps the deltas of the Step that is read, or the last of them: a
 * row quotes nothing further back.
 */
export class QuotedRows {
  readonly #place: Place;
  readonly #load: LoadRows | undefined;
  #deltas: DecodedRow[] = [];
  #length = 0;
  #last = 0;
  /** By the first seq that is quoted. The end of a block and the message behind it quote the same. */
  readonly #known = new Map<number, Omit<Quote, "at"> & { readonly found: Found }>();

  /**
   * @param place of the session
   * @param load for rows that were not given here
   */
  constructor(place: Place, load?: LoadRows) {
    this.#place = place;
    this.#load = load;
  }

  /** The record of the row that comes next. @throws CorruptError where deltas that it quotes are not there */
  take(row: DecodedRow): DecodedRecord {
    const decoded = this.tryTake(row);
    if (decoded instanceof CorruptError) throw decoded;
    return decoded;
  }

  /** As {@link take}, with the error given back. */
  tryTake(row: DecodedRow): DecodedRecord | CorruptError {
    const { decoded, sources } = row;
    const { record } = decoded;
    if (sources?.quoted !== undefined) {
      const found = this.#findAll(row);
      const error = found.find((one) => one instanceof CorruptError);
      return error ?? { ...decoded, record: new SplitRecord(record, sources, found.map(recordsOf)) };
    }
    if (isDelta(decoded)) this.#keep(row);
    else if (isStepBorder(record.type)) this.#forget();
    return decoded;
  }

  /** What is left of a row of which deltas are not there: the texts that stand in them are empty. */
  partOf(row: DecodedRow): SessionRecord {
    return new SplitRecord(row.decoded.record, row.sources ?? {}, this.#findAll(row).map(recordsOf));
  }

  /** For each quote of a row what belongs there, as it stands between the quotes of a JSON text; nothing where it is lost. */
  textsOf(row: DecodedRow): ReadonlyArray<string | undefined> {
    return this.#findAll(row).map((found) => (found instanceof CorruptError ? undefined : streamed(found)));
  }

  #keep(row: DecodedRow): void {
    const { seq, text } = row.decoded.record;
    // Only where a log goes back.
    if (seq < this.#last) this.#forget();
    this.#last = seq;
    this.#deltas.push(row);
    this.#length += text.length;
    // Only now and then: to take some from the front moves all others.
    if (this.#length > 2 * MAX_REACH) this.#shorten();
  }

  #shorten(): void {
    let count = 0;
    while (this.#length > MAX_REACH && count < this.#deltas.length - 1) {
      this.#length -= this.#deltas[count]?.decoded.record.text.length ?? 0;
      count += 1;
    }
    this.#deltas.splice(0, count);
  }

  #forget(): void {
    this.#deltas = [];
    this.#length = 0;
    this.#known.clear();
  }

  #findAll({
    decoded: { record },
    sources,
  }: DecodedRow): ReadonlyArray<readonly SessionRecord[] | CorruptError> {
    return (sources?.quoted ?? []).map((quote) => {
      const found = this.#find(quote);
      if (found.fault === undefined) return found.records;
      const { message, ...details } = found.fault;
      const place = { ...this.#place, seq: record.seq, eventType: record.type };
      return new CorruptError(message, { ...details, place });
    });
  }

  #find({ deltas, checksum }: Quote): Found {
    const start = deltas[0]?.[0] ?? 0;
    const known = this.#known.get(start);
    if (known?.checksum === checksum && isSame(known.deltas, deltas)) return known.found;
    let found = this.#look(deltas, checksum, this.#deltas);
    // A session that was compacted while it was read has the same deltas in other rows.
    if (found.fault !== undefined && this.#load !== undefined) found = this.#look(deltas, checksum, []);
    this.#known.set(start, { checksum, deltas, found });
    return found;
  }

  #look(ranges: Quote["deltas"], checksum: number, known: readonly DecodedRow[]): Found {
    const records: SessionRecord[] = [];
    let actual = 0;
    let block: string | undefined;
    for (const [first, last] of ranges) {
      const at = indexOf(known, first);
      const deltas = at === undefined ? this.#loaded(first, last) : known;
      if (typeof deltas === "string") return missing(first, last, deltas);
      let next = first;
      for (let k = at ?? 0; next <= last; k += 1) {
        const delta = deltas[k];
        const record = delta?.decoded.record;
        if (delta === undefined || record?.seq !== next) return missing(first, last, `none at seq ${next}`);
        const own = blockOf(record);
        block ??= own;
        if (own === undefined || own !== block) return foreign(block, own, next);
        records.push(record);
        actual = addChecksum(actual, delta.checksum);
        next += record.count;
      }
      if (next > last + 1) return missing(first, last, `a record up to seq ${next - 1}`);
    }
    const from = `from seq ${records[0]?.seq} on`;
    if (actual !== checksum) return otherThan(`checksum ${checksum}`, `checksum ${actual} of those ${from}`);
    // Whoever forges a row can forge a checksum.
    if (isInString(streamed(records))) return { records };
    return otherThan("what stands in a JSON string", `something else in those ${from}`);
  }

  /** Deltas from one seq to another, as far as there are any, or why they cannot be read. */
  #loaded(first: number, last: number): readonly DecodedRow[] | string {
    try {
      const rows = this.#load?.(first, last) ?? [];
      return rows.map((row) => {
        const { seq, count, type, time, body: text, checksum } = row;
        assertChecksum(row, { seq });
        // What is in it was looked at when it was quoted, and is the same if the sum of the checksums is. A look at the
        // text that is made of them is enough.
        return { decoded: { record: { seq, count, type, time, text }, unknownType: false }, checksum };
      });
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
      return `at seq ${error.place.seq}: ${error.what}`;
    }
  }
}

/** Where the deltas that begin at a seq lie among those that are known. */
function indexOf(deltas: readonly DecodedRow[], first: number): number | undefined {
  let [low, high] = [0, deltas.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((deltas[middle]?.decoded.record.seq ?? 0) < first) low = middle + 1;
    else high = middle;
  }
  return deltas[low]?.decoded.record.seq === first ? low : undefined;
}

function isSame(left: Quote["deltas"], right: Quote["deltas"]): boolean {
  return (
    left.length === right.length &&
    left.every(([first, last], k) => first === right[k]?.[0] && last === right[k]?.[1])
  );
}

function otherThan(expected: string, found: string): Found {
  return { records: [], fault: { message: "A row quotes other deltas", expected, found } };
}

function foreign(block: string | undefined, found: string | undefined, seq: number): Found {
  return otherThan(`deltas of ${block ?? "a block"}`, `${found ?? "none"} at seq ${seq}`);
}

function missing(first: number, last: number, found: string): Found {
  const expected = `deltas from seq ${first} to seq ${last}`;
  return { records: [], fault: { message: "A row quotes deltas that are not there", expected, found } };
}

function recordsOf(found: readonly SessionRecord[] | CorruptError): readonly SessionRecord[] {
  return found instanceof CorruptError ? [] : found;
}

function isDelta({ record, event }: DecodedRecord): boolean {
  if (isRunType(record.type)) return true;
  if (record.type !== "assistant/chunk") return false;
  // Most are passed over unread, as starts of blocks are. Long ones were read.
  const chunk: unknown = event === undefined ? undefined : Reflect.get(Object(event.data), "chunk");
  return event === undefined || String(Reflect.get(Object(chunk), "type")).endsWith("-delta");
}
