import type { Place } from "../../session/errors.ts";
import type { DecodedRecord, decodeRecord } from "../../session/records.ts";
import type { Pause } from "../breathe.ts";
import { CorruptError, type HoldfastError } from "../errors.ts";
import { decodeLines, isWholeRecord } from "./line-decoder.ts";
import type { LogFile } from "./log-file.ts";
import { salvageLines } from "./salvage.ts";
import { isTornTail } from "./tail.ts";
import type { TornTail } from "./torn-tail.ts";
import { type Break, unitsOf } from "./units.ts";

/** One unit's records, or what the log ends with. */
export type ScanStep =
  | {
      readonly kind: "records";
      readonly offset: number;
      readonly end: number;
      /** Whether they are the whole unit: of a frame with a line that is refused they are a part, which has no end. */
      readonly isWhole: boolean;
      readonly records: readonly DecodedRecord[];
    }
  | { readonly kind: "torn"; readonly tail: TornTail; readonly records: readonly DecodedRecord[] }
  /** It is being looked whether the log ends here. */
  | Pause;

/** Where a scan begins: at a unit of which the first event has the seq `next`. */
export interface ScanStart {
  readonly offset: number;
  readonly next: number;
  /** Number of the frame, from 1; unknown where the scan began in the middle. */
  readonly frame?: number;
  /** How a line is read; {@link decodeRecord} when absent. */
  readonly decode?: typeof decodeRecord;
}

/**
 * Reads the events of a log in order. A torn tail is the last step.
 * @throws CorruptError at damage, after all that precedes it
 */
export function scanLog(file: LogFile, sessionId: string, start: ScanStart): Generator<ScanStep> {
  return scanUnits(file, sessionId, start, true);
}

function* scanUnits(
  file: LogFile,
  sessionId: string,
  start: ScanStart,
  grouped: boolean,
): Generator<ScanStep> {
  let { next, frame } = start;
  for (const unit of unitsOf(file, start.offset, grouped)) {
    const { offset } = unit;
    const row = frame === undefined || file.encoding === "none" ? {} : { row: frame };
    const place: Place = { path: file.path, sessionId, offset, ...row };
    if (unit.kind === "break") {
      yield* endOf(file, unit, next, place);
      return;
    }
    const {
      records,
      next: after,
      fault,
    } = decodeLines(unit.content, next, place, file.encoding, start.decode);
    if (fault !== undefined && unit.frames > 1) {
      // Once more, frame by frame, for the place of the fault.
      yield* scanUnits(
        file,
        sessionId,
        { ...start, offset, next, ...(frame === undefined ? {} : { frame }) },
        false,
      );
      return;
    }
    if (records.length > 0 || fault === undefined) {
      // Of plain lines each one is a unit of its own.
      const isSplit = fault !== undefined && file.encoding === "none";
      const end = isSplit ? offset + fault.start : unit.end;
      yield { kind: "records", offset, end, isWhole: fault === undefined || isSplit, records };
    }
    if (fault !== undefined) {
      const line = unit.content.subarray(fault.start);
      yield* faultIn(file, offset + fault.start, fault.error, isWholeRecord(line, after));
      return;
    }
    next = after;
    if (frame !== undefined) frame += unit.frames;
  }
}

/** A line that is no event, or not the next one. What is whole, by its checksum or its shape, was written like that. */
function* faultIn(
  file: LogFile,
  offset: number,
  error: HoldfastError,
  isWhole: boolean,
): Generator<ScanStep> {
  if (file.encoding === "zstd" || isWhole || !(yield* isTornTail(file, offset))) throw error;
  yield { kind: "torn", tail: { offset, size: file.size, recovered: [] }, records: [] };
}

function* endOf(file: LogFile, found: Break, next: number, place: Place): Generator<ScanStep> {
  const { offset } = found;
  if (!(yield* isTornTail(file, offset))) throw damaged(found, next, place);
  const { records } = found.blocksEnd > offset ? salvageLines(file, found, next, place) : { records: [] };
  const recovered = records.map(({ record }) => record);
  yield { kind: "torn", tail: { offset, size: file.size, recovered }, records };
}

function damaged({ found }: Break, seq: number, place: Place): CorruptError {
  return new CorruptError("The log is damaged, and goes on after the damage", {
    expected: "a whole frame with a matching checksum",
    found,
    place: { ...place, seq },
  });
}
