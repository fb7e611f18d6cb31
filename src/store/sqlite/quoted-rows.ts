import type { Place } from "../../session/errors.ts";
import type { DecodedRecord, SessionRecord } from "../../session/records.ts";
import { isRunType } from "../../session/runs.ts";
import { CorruptError } from "../errors.ts";
import { blockOf, deltaText, inQuotes } from "./delta-text.ts";
import type { Quote } from "./quotes.ts";
import { SplitRecord } from "./row-text.ts";
import type { DecodedRow } from "./rows.ts";
import { isStepBorder, MAX_REACH } from "./streamed-blocks.ts";

/** A record of deltas. `run` saves parsing it again. */
type Delta = Pick<DecodedRecord, "record" | "run">;

/** Reads the records of a session from the one that begins at seq `first` to seq `last`, as far as there are any. */
type LoadRecords = (first: number, last: number) => readonly Delta[];

/** What a quote stands for: the records that it names, and the CRC-32 of what they say. */
interface Found {
  readonly records: readonly SessionRecord[];
  readonly text: string;
  readonly checksum: number;
}

/**
 * Finds what rows quote, as they are read in order. Keeps the deltas of the Step that is read, or the last of them: a
 * row quotes nothing further back.
 */
export class QuotedRows {
  readonly #place: Place;
  readonly #load: LoadRecords | undefined;
  #deltas: Delta[] = [];
  #length = 0;
  /** By the seqs that a quote names. The end of a block and the message behind it name the same. */
  readonly #found = new Map<string, Found>();

  /**
   * @param place of the session
   * @param load for rows that were not given here
   */
  constructor(place: Place, load?: LoadRecords) {
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
    if (isDelta(decoded)) this.#keep(decoded);
    else if (isStepBorder(record.type)) this.#forget();
    return decoded;
  }

  /** What is left of a row of which deltas are not there: the texts that stand in them are empty. */
  partOf(row: DecodedRow): SessionRecord {
    return new SplitRecord(row.decoded.record, row.sources ?? {}, this.#findAll(row).map(recordsOf));
  }

  /** For each quote of a row what belongs there, as it stands between the quotes of a JSON text; nothing where it is lost. */
  textsOf(row: DecodedRow): ReadonlyArray<string | undefined> {
    return this.#findAll(row).map((found) => (found instanceof CorruptError ? undefined : found.text));
  }

  #keep({ record, run }: DecodedRecord): void {
    // Only where a log goes back.
    if (record.seq < (this.#deltas.at(-1)?.record.seq ?? 0)) this.#forget();
    this.#deltas.push(run === undefined ? { record } : { record, run });
    this.#length += record.text.length;
    if (this.#length > MAX_REACH) this.#shorten();
  }

  #shorten(): void {
    let count = 0;
    while (this.#length > MAX_REACH && count < this.#deltas.length - 1) {
      this.#length -= this.#deltas[count]?.record.text.length ?? 0;
      count += 1;
    }
    this.#deltas.splice(0, count);
  }

  #forget(): void {
    this.#deltas = [];
    this.#length = 0;
    this.#found.clear();
  }

  #findAll({ decoded: { record }, sources }: DecodedRow): ReadonlyArray<Found | CorruptError> {
    return (sources?.quoted ?? []).map((quote) => {
      const found = this.#find(quote);
      if (!("expected" in found)) return found;
      const { message, expected, found: instead } = found;
      const place = { ...this.#place, seq: record.seq, eventType: record.type };
      return new CorruptError(message, { expected, found: instead, place });
    });
  }

  #find({ deltas, checksum }: Quote): Found | Fault {
    const key = deltas.join(" ");
    const known = this.#found.get(key) ?? this.#look(deltas);
    if ("expected" in known) return known;
    this.#found.set(key, known);
    if (known.checksum === checksum) return known;
    const found = `checksum ${known.checksum} of the deltas from seq ${known.records[0]?.seq} on`;
    return {
      message: "A row quotes deltas that say something else",
      expected: `checksum ${checksum}`,
      found,
    };
  }

  #look(ranges: Quote["deltas"]): Found | Fault {
    const found: Delta[] = [];
    let block: string | undefined;
    for (const [first, last] of ranges) {
      const deltas = this.#between(first, last);
      const gap = typeof deltas === "string" ? deltas : findGap(deltas, first, last);
      if (gap !== undefined || typeof deltas === "string") return missing(first, last, gap);
      block ??= deltas[0] === undefined ? undefined : blockOf(deltas[0].record);
      const stranger = deltas.find(({ record }) => block === undefined || blockOf(record) !== block);
      if (stranger !== undefined) return missing(first, last, `something else at seq ${stranger.record.seq}`);
      found.push(...deltas);
    }
    const text = inQuotes(found.map(textOf).join(""));
    return { records: found.map(({ record }) => record), text, checksum: Bun.hash.crc32(text) };
  }

  /** Records from one seq to another, as far as there are any, or why they cannot be read. */
  #between(first: number, last: number): readonly Delta[] | string {
    const from = this.#deltas.findLastIndex(({ record }) => record.seq <= first);
    if (this.#deltas[from]?.record.seq !== first) return this.#loaded(first, last);
    const end = this.#deltas.findLastIndex(({ record }) => record.seq <= last);
    return this.#deltas.slice(from, end + 1);
  }

  #loaded(first: number, last: number): readonly Delta[] | string {
    try {
      return this.#load?.(first, last) ?? [];
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
      return `at seq ${error.place.seq}: ${error.what}`;
    }
  }
}

/** Why a quote stands for nothing. */
interface Fault {
  readonly message: string;
  readonly expected: string;
  readonly found: string;
}

function missing(first: number, last: number, found = "none"): Fault {
  const expected = `deltas of one block from seq ${first} to seq ${last}`;
  return { message: "A row quotes deltas that are not there", expected, found };
}

function recordsOf(found: Found | CorruptError): readonly SessionRecord[] {
  return found instanceof CorruptError ? [] : found.records;
}

function textOf({ record, run }: Delta): string {
  return run === undefined ? deltaText(record) : run.texts.join("");
}

function isDelta({ record, event }: DecodedRecord): boolean {
  if (isRunType(record.type)) return true;
  if (record.type !== "assistant/chunk") return false;
  // Most are passed over unread, as starts of blocks are. Long ones were read.
  const chunk: unknown = event === undefined ? undefined : Reflect.get(Object(event.data), "chunk");
  return event === undefined || String(Reflect.get(Object(chunk), "type")).endsWith("-delta");
}

/** Where whole records do not lie one behind the other from seq `first` to seq `last`. */
function findGap(deltas: readonly Delta[], first: number, last: number): string | undefined {
  let next = first;
  for (const { record } of deltas) {
    const { seq, count } = record;
    if (seq !== next) return next > seq ? `seq ${seq} twice` : `none at seq ${next}`;
    next = seq + count;
  }
  if (next === last + 1) return undefined;
  return next <= last ? `none at seq ${next}` : `more up to seq ${next - 1}`;
}
