import { LogAudit } from "../../session/audit/index.ts";
import { encodeEvent, packBatch } from "../../session/encoding.ts";
import type { Place } from "../../session/errors.ts";
import { SessionProjections } from "../../session/projections/index.ts";
import type { DecodedRecord, SessionRecord } from "../../session/records.ts";
import { closeInterruptedTurn } from "../../session/recovery.ts";
import { Breather, breathe } from "../breathe.ts";
import { CorruptError, type HoldfastError, UnsupportedFormatError } from "../errors.ts";
import { type Finding, type FindingCode, findingOf, TORN_END } from "../finding.ts";
import type { Body } from "./beginning.ts";
import { decodeLines } from "./line-decoder.ts";
import type { LogFile } from "./log-file.ts";
import { type CutStart, firstPiece } from "./rest.ts";
import { countLines, type StretchStart } from "./resync.ts";
import { scanLog } from "./scan.ts";
import { unitsOf, walkFrames } from "./units.ts";

/*
 * Where the sound beginning of a log ends: at the first thing that an ordinary reader stops at (scan.ts, cold-read.ts).
 */

export interface LogCut {
  /** What an ordinary reader stops at; absent where it comes to the end. */
  readonly reason?: Finding;
  /** Events before it, and the time of the first of them in epoch milliseconds. */
  readonly events: number;
  readonly firstTime?: number;
  /** Lines to be kept that share the first frame with the header. */
  readonly lead: readonly SessionRecord[];
  /** Bytes of the body that stay as they are, up to this offset. */
  readonly to: number;
  /** Lines to be kept of what begins there: of a frame that is good up to a line, or of a torn one. */
  readonly partial: readonly SessionRecord[];
  /** Where what is set aside begins. */
  readonly rest: CutStart;
  /** What closes the Turn that is open there; also where nothing is cut. */
  readonly closers: readonly SessionRecord[];
  /** What is wrong with the events before the cut, and keeps nobody from reading on. */
  readonly lasting: readonly Finding[];
  /** Whether there may be more of that. */
  readonly isMoreLasting: boolean;
}

/** What no cut can help. */
const LASTING = new Set<FindingCode>(["unknown-type", "reference", "tool-pairing", "turn-balance"]);
/** So many are told of one log. */
const MOST_LASTING = 1_000;

/** Finds where to cut a log. @throws StorageFailedError when it cannot be read; the reason of `signal` */
export function findCut(
  file: LogFile,
  sessionId: string,
  body: Body,
  onProgress?: (offset: number) => void,
  signal?: AbortSignal,
): Promise<LogCut> {
  return new CutSearch(file, sessionId, body).run(onProgress, signal);
}

/** A unit of which all records are sound. */
interface Step {
  readonly offset: number;
  readonly end: number;
  readonly records: readonly DecodedRecord[];
}

class CutSearch {
  readonly #file: LogFile;
  readonly #sessionId: string;
  readonly #body: Body;
  readonly #projections = new SessionProjections();
  #lead: readonly SessionRecord[] = [];
  #last: Step | undefined;
  #firstTime: number | undefined;
  readonly #audit = new LogAudit();
  readonly #lasting: Finding[] = [];
  /** A frame whose number is known. */
  #counted: StretchStart;

  constructor(file: LogFile, sessionId: string, body: Body) {
    this.#file = file;
    this.#sessionId = sessionId;
    this.#body = body;
    this.#counted = body;
  }

  async run(onProgress?: (offset: number) => void, signal?: AbortSignal): Promise<LogCut> {
    const body = this.#body;
    const inLead = body.lead.length === 0 ? undefined : this.#foldLead(body.lead);
    if (inLead !== undefined) return inLead;
    const start = { offset: body.offset, next: this.#projections.seen, frame: body.row };
    const breather = new Breather();
    try {
      for (const step of scanLog(this.#file, this.#sessionId, start)) {
        if (step.kind === "pause") {
          if (!breather.isDue(step.bytes)) continue;
          await breathe();
          signal?.throwIfAborted();
          continue;
        }
        if (step.kind === "torn") return this.#atTail(step.tail.offset, step.records);
        const fault = this.#fold(step.records, (index) => this.#placeIn(step, index));
        if (fault !== undefined) return this.#atSurface(step, fault);
        this.#last = step;
        if (!breather.isDue(step.end - step.offset)) continue;
        onProgress?.(step.end);
        await breathe();
        signal?.throwIfAborted();
      }
    } catch (error) {
      if (!(error instanceof CorruptError || error instanceof UnsupportedFormatError)) throw error;
      return this.#atFault(error);
    }
    return this.#cut({ to: this.#file.size, partial: [], skip: 0 });
  }

  /** Folds records up to the first that does not fit the surface, and says why that one does not. */
  #fold(
    records: readonly DecodedRecord[],
    placeOf: (index: number) => Place,
  ): { readonly index: number; readonly found: string } | undefined {
    for (const [index, decoded] of records.entries()) {
      const found = this.#projections.foldDecoded(decoded);
      if (found !== undefined) return { index, found };
      this.#firstTime ??= decoded.record.time;
      for (const fault of this.#audit.take(decoded, () => placeOf(index))) {
        if (LASTING.has(fault.code) && this.#lasting.length < MOST_LASTING) this.#lasting.push(fault);
      }
    }
    return undefined;
  }

  #foldLead(lead: Buffer): LogCut | undefined {
    const place = { path: this.#file.path, sessionId: this.#sessionId, offset: 0, row: 1 };
    const { records, fault } = decodeLines(lead, 0, place, "zstd");
    const unfit = this.#fold(records, () => place);
    const kept = texts(records.slice(0, unfit?.index));
    this.#lead = kept;
    if (fault === undefined && unfit === undefined) return undefined;
    const rest = { offset: 0, row: 1, skip: 1 + kept.length };
    const reason =
      unfit === undefined && fault !== undefined
        ? this.#reasonOf(fault.error, rest, place)
        : unfitFinding(place, unfit?.found ?? "");
    return { ...this.#cut({ to: this.#body.offset, partial: [], skip: 0, reason }), to: 0, rest };
  }

  #atTail(offset: number, records: readonly DecodedRecord[]): LogCut {
    const place = this.#place(offset);
    const unfit = this.#fold(records, () => place);
    const end = this.#endBefore(offset);
    const partial = [...end.partial, ...texts(records.slice(0, unfit?.index))];
    const length = this.#file.size - offset;
    const reason: Finding = {
      code: "torn-tail",
      message: `The ${TORN_END}`,
      expected:
        this.#file.encoding === "zstd"
          ? "a whole frame with a matching checksum"
          : "a whole line that is a record",
      found: `${length} bytes that are none`,
      place,
    };
    return this.#cut({ ...end, partial, reason });
  }

  #atFault(error: CorruptError | UnsupportedFormatError): LogCut {
    const { offset = this.#last?.end ?? this.#body.offset } = error.place;
    const end = this.#endBefore(offset);
    const place = this.#place(end.to);
    const rest = { offset: end.to, row: place.row ?? 1, skip: end.skip };
    return this.#cut({ ...end, reason: this.#reasonOf(error, rest, { ...place, offset }) });
  }

  /** A record that stands where it should, and changes a message that is not there. */
  #atSurface(step: Step, { index, found }: { readonly index: number; readonly found: string }): LogCut {
    const { records } = step;
    const { offset, first } = this.#unitOf(step, index);
    const partial = texts(records.slice(first, index));
    const reason = unfitFinding(this.#place(offset), found);
    return this.#cut({ to: offset, partial, skip: partial.length, reason });
  }

  #placeIn(step: Step, index: number): Place {
    return this.#place(this.#unitOf(step, index).offset);
  }

  /** The frame or line of a step that holds a record, and the index of the first record of that frame. */
  #unitOf(
    { offset, end, records }: Step,
    index: number,
  ): { readonly offset: number; readonly first: number } {
    if (this.#file.encoding === "none") {
      return { offset: offset + bytesOf(records.slice(0, index)), first: index };
    }
    let first = 0;
    for (const frame of unitsOf(this.#file, offset, false)) {
      if (frame.kind !== "unit" || frame.offset >= end) break;
      const own = countLines(frame.content);
      if (first + own > index) return { offset: frame.offset, first };
      first += own;
    }
    return { offset, first: 0 };
  }

  /** Where what stays as it is ends, and what else stays of the unit that begins there: all before `stop` was read. */
  #endBefore(stop: number): { to: number; partial: SessionRecord[]; skip: number } {
    const last = this.#last;
    if (last === undefined) return { to: this.#body.offset, partial: [], skip: 0 };
    // The unit that holds the fault comes first with the records before it.
    if (stop >= last.end) return { to: last.end, partial: [], skip: 0 };
    if (this.#file.encoding === "none")
      return { to: last.offset + bytesOf(last.records), partial: [], skip: 0 };
    const partial = texts(last.records);
    return { to: last.offset, partial, skip: partial.length };
  }

  /** What the error says, under the code that the first thing which is cut off tells. */
  #reasonOf(error: HoldfastError, rest: CutStart, place: Place): Finding {
    const seq = this.#projections.seen;
    if (!(error instanceof CorruptError)) return { code: "damaged", message: error.message, place };
    const first = firstPiece(this.#file, rest);
    const decoded = first?.kind === "line" ? first.record : undefined;
    if (decoded !== undefined) {
      return findingOf(decoded.record.seq > seq ? "events-missing" : "events-repeated", error, place);
    }
    const isWhole = first?.kind === "line" || (first?.kind === "bytes" && first.isSound === true);
    return findingOf(isWhole ? "malformed" : "damaged", error, place);
  }

  #cut(end: { to: number; partial: readonly SessionRecord[]; skip: number; reason?: Finding }): LogCut {
    const { to, partial, skip, reason } = end;
    const { openWork, seen } = this.#projections;
    const closers = closeInterruptedTurn(openWork, seen);
    const row = reason?.place.row ?? 1;
    return {
      ...(reason === undefined
        ? {}
        : { reason: { ...reason, place: { ...reason.place, seq: reason.place.seq ?? seen } } }),
      events: seen,
      ...(this.#firstTime === undefined ? {} : { firstTime: this.#firstTime }),
      lead: this.#lead,
      to,
      partial,
      rest: { offset: to, row, skip },
      closers: packBatch(closers.map(encodeEvent)),
      lasting: this.#lasting,
      isMoreLasting: this.#lasting.length === MOST_LASTING,
    };
  }

  /** The place of the frame or line at an offset. Frames are counted now, and each once: few logs need it. */
  #place(offset: number): Place {
    const place = { path: this.#file.path, sessionId: this.#sessionId, offset };
    if (this.#file.encoding === "none") return place;
    const from = offset < this.#counted.offset ? this.#body : this.#counted;
    let { row } = from;
    for (const frame of walkFrames(this.#file, from.offset)) {
      if (frame.offset >= offset) break;
      row += 1;
    }
    this.#counted = { offset, row };
    return { ...place, row };
  }
}

function unfitFinding(place: Place, found: string): Finding {
  return {
    code: "reference",
    message: "A message does not fit the surface of the log",
    expected: "a surface operation on what is there",
    found,
    place,
  };
}

function texts(records: readonly DecodedRecord[]): SessionRecord[] {
  return records.map(({ record }) => record);
}

/** Bytes of records as plain lines. */
function bytesOf(records: readonly DecodedRecord[]): number {
  return records.reduce((sum, { record }) => sum + Buffer.byteLength(record.text) + 1, 0);
}
