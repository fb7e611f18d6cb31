import type { Place } from "../../session/errors.ts";
import type { DecodedRecord, SessionRecord } from "../../session/records.ts";
import { isRunType } from "../../session/runs.ts";
import { CorruptError } from "../errors.ts";
import { blockOf } from "./delta-text.ts";
import type { Quote } from "./quotes.ts";
import { SplitRecord, streamed } from "./row-text.ts";
import type { DecodedRow } from "./rows.ts";
import { isStepBorder, MAX_REACH } from "./streamed-blocks.ts";

/** Reads the records of a session from the one that begins at seq `first` to seq `last`, as far as there are any. */
type LoadRecords = (first: number, last: number) => readonly SessionRecord[];

export interface QuotedRowsOptions {
  /** For rows that were not given here. */
  readonly load?: LoadRecords;
  /** Whether what deltas say is compared with what was quoted: rows of several branches may lie in a damaged database. */
  readonly isCompared?: boolean;
}

/**
 * Finds what rows quote, as they are read in order. Keeps the deltas of the Step that is read, or the last of them: a
 * row quotes nothing further back.
 */
export class QuotedRows {
  readonly #place: Place;
  readonly #load: LoadRecords | undefined;
  readonly #isCompared: boolean;
  #deltas: SessionRecord[] = [];
  #length = 0;

  /** @param place of the session */
  constructor(place: Place, { load, isCompared = false }: QuotedRowsOptions = {}) {
    this.#place = place;
    this.#load = load;
    this.#isCompared = isCompared;
  }

  /** The record of the row that comes next. @throws CorruptError where deltas that it quotes are not there */
  take({ decoded, sources }: DecodedRow): DecodedRecord {
    const { record } = decoded;
    if (sources?.quoted !== undefined) {
      const deltas = sources.quoted.map((quote) => this.#find(quote, record));
      return { ...decoded, record: new SplitRecord(record, sources, deltas) };
    }
    if (isDelta(decoded)) this.#keep(record);
    else if (isStepBorder(record.type)) this.#forget();
    return decoded;
  }

  /** As {@link take}, with the error given back. */
  tryTake(row: DecodedRow): DecodedRecord | CorruptError {
    try {
      return this.take(row);
    } catch (error) {
      if (error instanceof CorruptError) return error;
      throw error;
    }
  }

  /** What is left of a row of which deltas are not there: the texts that stand in them are empty. */
  partOf({ decoded: { record }, sources = {} }: DecodedRow): SessionRecord {
    const deltas = (sources.quoted ?? []).map((quote) => {
      try {
        return this.#find(quote, record);
      } catch (error) {
        if (error instanceof CorruptError) return [];
        throw error;
      }
    });
    return new SplitRecord(record, sources, deltas);
  }

  #keep(record: SessionRecord): void {
    // Only where a log goes back.
    if (record.seq < (this.#deltas.at(-1)?.seq ?? 0)) this.#forget();
    this.#deltas.push(record);
    this.#length += record.text.length;
    if (this.#length > MAX_REACH) this.#shorten();
  }

  #shorten(): void {
    let count = 0;
    while (this.#length > MAX_REACH && count < this.#deltas.length - 1) {
      this.#length -= this.#deltas[count]?.text.length ?? 0;
      count += 1;
    }
    this.#deltas.splice(0, count);
  }

  #forget(): void {
    this.#deltas = [];
    this.#length = 0;
  }

  #find({ deltas, checksum }: Quote, { seq, type }: SessionRecord): readonly SessionRecord[] {
    const found: SessionRecord[] = [];
    let block: string | undefined;
    for (const [first, last] of deltas) {
      const records = this.#between(first, last);
      const fault = findGap(records, first, last);
      block ??= records[0] === undefined ? undefined : blockOf(records[0]);
      const stranger = records.find((record) => blockOf(record) !== block || block === undefined);
      if (fault !== undefined || stranger !== undefined) {
        throw new CorruptError("A row quotes deltas that are not there", {
          expected: `deltas of one block from seq ${first} to seq ${last}`,
          found: fault ?? `something else at seq ${stranger?.seq}`,
          place: { ...this.#place, seq, eventType: type },
        });
      }
      found.push(...records);
    }
    const actual = this.#isCompared ? Bun.hash.crc32(streamed(found)) : checksum;
    if (actual === checksum) return found;
    throw new CorruptError("A row quotes deltas that say something else", {
      expected: `checksum ${checksum}`,
      found: `checksum ${actual} from seq ${found[0]?.seq} on`,
      place: { ...this.#place, seq, eventType: type },
    });
  }

  #between(first: number, last: number): readonly SessionRecord[] {
    const from = this.#deltas.findLastIndex(({ seq }) => seq <= first);
    const start = this.#deltas[from];
    if (start?.seq !== first) return this.#load?.(first, last) ?? [];
    const end = this.#deltas.findLastIndex(({ seq }) => seq <= last);
    return this.#deltas.slice(from, end + 1);
  }
}

function isDelta({ record, event }: DecodedRecord): boolean {
  if (isRunType(record.type)) return true;
  if (record.type !== "assistant/chunk") return false;
  // Most are passed over unread, as starts of blocks are. Long ones were read.
  const chunk: unknown = event === undefined ? undefined : Reflect.get(Object(event.data), "chunk");
  return event === undefined || String(Reflect.get(Object(chunk), "type")).endsWith("-delta");
}

/** Where whole records do not lie one behind the other from seq `first` to seq `last`. */
function findGap(records: readonly SessionRecord[], first: number, last: number): string | undefined {
  let next = first;
  for (const { seq, count } of records) {
    if (seq !== next) return next > seq ? `seq ${seq} twice` : `none at seq ${next}`;
    next = seq + count;
  }
  if (next === last + 1) return undefined;
  return next <= last ? `none at seq ${next}` : `more up to seq ${next - 1}`;
}
