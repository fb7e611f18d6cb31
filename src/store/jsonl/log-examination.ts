import type { Place } from "../../session/errors.ts";
import type { DecodedRecord } from "../../session/records.ts";
import { type Pause, pause } from "../breathe.ts";
import type { Examined, ExaminedRecords } from "../examiner.ts";
import { type Finding, TORN_END } from "../finding.ts";
import { BadLines } from "./bad-lines.ts";
import type { Body } from "./beginning.ts";
import { checkLines, type LineFault, tryRecords } from "./check-lines.ts";
import { isWholeRecord } from "./line-decoder.ts";
import { LogFile, type LogLocation } from "./log-file.ts";
import { type BadStretch, type LinePlace, linePlaces, type SoundStretch, stretchesOf } from "./resync.ts";
import { salvageContent } from "./salvage.ts";
import { isTornTail } from "./tail.ts";
import { unitsOf } from "./units.ts";

/** Lines of one unit that are looked at before others may have their turn, in bytes. */
const MANY_LINES = 64 * 1024;

/** What the log ends with where its end was never fully written. */
export interface Tail {
  readonly kind: "tail";
  readonly offset: number;
  readonly row: number;
  /** Records that its beginning still yields. */
  readonly salvaged: readonly ExaminedRecords[];
  readonly finding: Finding;
}

type Step = Examined | Tail | Pause;

/** One look at a log that is open: goes through it once, from unit to unit, past what is damaged. */
export class LogExamination {
  readonly #file: LogFile;
  readonly #sessionId: string;
  readonly #isFramed: boolean;
  readonly #badLines: BadLines;
  /** Number of the plain line that comes next. */
  #line = 1;
  /** Seq after the record that was read last. */
  #next = 0;

  constructor(file: LogFile, sessionId: string) {
    this.#file = file;
    this.#sessionId = sessionId;
    this.#isFramed = file.encoding === "zstd";
    this.#badLines = new BadLines();
  }

  /** Everything from `body` on. A tail is the last step. */
  *steps({ offset, row, lead }: Body): Generator<Step> {
    this.#line = row;
    if (lead.length > 0) {
      yield* this.#lines({ kind: "unit", offset: 0, end: offset, content: lead, frames: 1, row: 1 });
    }
    for (const stretch of stretchesOf(this.#file, { offset, row })) {
      if (stretch.kind === "pause") yield stretch;
      else if (stretch.kind === "unit") yield* this.#unit(stretch);
      else if (stretch.isTorn) return yield* this.#end(stretch);
      else {
        yield* this.#badLines.flush();
        yield { kind: "damage", finding: this.#damaged(stretch) };
        this.#line += 1;
      }
    }
    yield* this.#end(undefined);
  }

  *#unit(unit: SoundStretch): Generator<Step> {
    const records = tryRecords(unit.content);
    if (records === undefined) {
      yield* this.#oneByOne(unit);
      return;
    }
    yield* this.#badLines.flush();
    yield this.#records(unit, records);
    this.#line += records.length;
    yield pause(Math.max(unit.content.length, unit.end - unit.offset));
  }

  /** Frame by frame, so that each line's place is known. */
  *#oneByOne(unit: SoundStretch): Generator<Step> {
    if (unit.frames === 1) {
      yield* this.#lines(unit);
      return;
    }
    let { row } = unit;
    for (const frame of unitsOf(this.#file, unit.offset, false)) {
      if (frame.kind !== "unit" || frame.offset >= unit.end) return;
      yield* this.#lines(row === undefined ? frame : { ...frame, row });
      if (row !== undefined) row += 1;
    }
  }

  /** Line by line. */
  *#lines(unit: SoundStretch): Generator<Step> {
    let records: DecodedRecord[] = [];
    let places: Place[] = [];
    let index = 0;
    let done = 0;
    for (const { start, end, count, record, fault } of checkLines(unit.content)) {
      const at = index + 1;
      if (end - done >= MANY_LINES) {
        yield pause(end - done);
        done = end;
      }
      const row = this.#line;
      this.#line += count;
      index += count;
      if (record !== undefined) {
        yield* this.#badLines.flush();
        records.push(record);
        places.push(this.#placeIn(unit, start, row));
        this.#next = record.record.seq + record.record.count;
        continue;
      }
      if (records.length > 0) yield this.#known(records, places);
      records = [];
      places = [];
      const finding = () => this.#faulty(fault, this.#placeIn(unit, start, row), at);
      // What a checksum confirms is no torn tail, whether it is whole or not.
      const isWhole = () => !this.#isFramed && isWholeRecord(unit.content.subarray(start, end), this.#next);
      this.#badLines.add(finding, isWhole);
    }
    if (unit.content.length === 0) {
      const message = "A frame holds nothing";
      this.#badLines.add(
        () => ({ code: "malformed", message, place: this.#place(unit.offset, unit.row) }),
        () => false,
      );
    }
    yield pause(unit.content.length - done);
    if (records.length > 0) yield this.#known(records, places);
    // Of plain lines it is only known at the end whether they are a torn tail.
    if (this.#isFramed) yield* this.#badLines.flush();
  }

  /** @param line its number in the unit */
  #faulty({ code, what, expected, found, place: more }: LineFault, place: Place, line: number): Finding {
    const message = this.#isFramed ? `${what}, in line ${line} of its frame` : what;
    return { code, message, expected, found: found(), place: { ...place, ...more } };
  }

  /** The end of the log: whether it is torn, and from where on. */
  *#end(stretch: BadStretch | undefined): Generator<Step> {
    const first = this.#badLines.first;
    if (first !== undefined) {
      const { offset = 0, row = 0 } = first.finding.place;
      if (!first.isWhole && (yield* isTornTail(this.#file, offset))) {
        yield this.#tail(offset, row, first.finding.message, []);
        return;
      }
      yield* this.#badLines.flush();
    }
    if (stretch === undefined) return;
    const { offset, row = this.#line, found } = stretch;
    yield this.#tail(offset, row, found, this.#salvaged(stretch, row));
  }

  #salvaged(stretch: BadStretch, row: number): ExaminedRecords[] {
    const records: DecodedRecord[] = [];
    // A line that does not decode ends what can be trusted; there is no checksum to go by.
    for (const { record } of checkLines(salvageContent(this.#file, stretch))) {
      if (record === undefined) break;
      records.push(record);
    }
    const place = this.#place(stretch.offset, row);
    return records.length === 0
      ? []
      : [
          this.#known(
            records,
            records.map(() => place),
          ),
        ];
  }

  #tail(offset: number, row: number, found: string, salvaged: readonly ExaminedRecords[]): Tail {
    const finding: Finding = {
      code: "torn-tail",
      message: `The ${TORN_END}`,
      expected: this.#isFramed ? "a whole frame with a matching checksum" : "a whole line that is a record",
      found: `${found}, in the last ${this.#file.size - offset} bytes`,
      place: this.#place(offset, row),
    };
    return { kind: "tail", offset, row, salvaged, finding };
  }

  #damaged({ offset, end, row = this.#line, found }: BadStretch): Finding {
    return {
      code: "damaged",
      message: this.#isFramed ? "A frame of the log is damaged" : "A line of the log cannot be read",
      expected: this.#isFramed ? "a whole frame with a matching checksum" : "a line of at most 64 MiB",
      found: `${found}, in ${end - offset} bytes`,
      place: this.#place(offset, row),
    };
  }

  #place(offset: number, row: number | undefined): Place {
    const place = { path: this.#file.path, sessionId: this.#sessionId, offset };
    return row === undefined ? place : { ...place, row };
  }

  /** Of a line of a unit: that of its frame, or its own. */
  #placeIn({ offset, row }: SoundStretch, start: number, line: number): Place {
    return this.#isFramed ? this.#place(offset, row) : this.#place(offset + start, line);
  }

  /** Records of which the places are known. */
  #known(records: readonly DecodedRecord[], places: readonly Place[]): ExaminedRecords {
    return { kind: "records", records, placeOf: (k) => withSeq(places[k] ?? {}, records[k]) };
  }

  /** Records that are all the lines of a unit. Where they lie is worked out when somebody asks. */
  #records(unit: SoundStretch, records: readonly DecodedRecord[]): ExaminedRecords {
    const last = records.at(-1)?.record;
    if (last !== undefined) this.#next = last.seq + last.count;
    const { path, encoding } = this.#file;
    const line = this.#line;
    let places: readonly LinePlace[] | undefined;
    const placeOf = (k: number): Place => {
      places ??= tryPlaces({ path, encoding }, unit);
      const { offset = unit.offset, row = this.#isFramed ? unit.row : line + k } = places[k] ?? {};
      return withSeq(this.#place(offset, row), records[k]);
    };
    return { kind: "records", records, placeOf };
  }
}

function withSeq(place: Place, decoded: DecodedRecord | undefined): Place {
  return decoded === undefined ? place : { ...place, seq: decoded.record.seq };
}

/** Nothing where the log went away meanwhile. */
function tryPlaces(location: LogLocation, unit: SoundStretch): readonly LinePlace[] {
  try {
    using file = new LogFile(location, unit.end);
    return linePlaces(file, unit);
  } catch {
    return [];
  }
}
