import type { DecodedRecord } from "../../session/records.ts";
import { breathe, type Pause, STRETCH } from "../breathe.ts";
import { CorruptError, StorageFailedError } from "../errors.ts";
import { isSameFile, LogFile, toLogError } from "./log-file.ts";
import { type IndexPoint, LogIndex } from "./log-index.ts";
import { type ScanStart, type ScanStep, scanLog } from "./scan.ts";

/** Records that are given out at once, and their text in UTF-16 units; a single record may have more. */
const PAGE_RECORDS = 256;
const PAGE_LENGTH = 1024 * 1024;

/** A log that is to be read to its end. */
export interface LogReading {
  readonly id: string;
  /** Says which log; it need not stay open. */
  readonly file: LogFile;
  readonly bodyOffset: number;
  /** The record that holds this seq is the first that is given out. */
  readonly fromSeq: number;
  /** Where in the log events lie, as far as that is known. */
  readonly known: LogIndex | undefined;
  /** Where to begin, where that is known for certain; then nothing is learnt for an index. */
  readonly start?: ScanStart | undefined;
  readonly onStep: (step: Exclude<ScanStep, Pause>) => void;
  /** Gets what is known when the log was read. */
  readonly onEnd: (index: LogIndex) => void;
}

/**
 * The records of a log in order, a bounded page at a time.
 * @throws CorruptError at damage, after all that precedes it; SessionGoneError where the log was deleted before the first page
 */
export async function* logPages(reading: LogReading): AsyncGenerator<readonly DecodedRecord[]> {
  let hasBegun = false;
  try {
    for await (const page of pagesOf(reading)) {
      hasBegun = true;
      yield page;
    }
  } catch (error) {
    const isGuessed = reading.known?.isGuessed === true;
    if (hasBegun || !isGuessed || !(error instanceof CorruptError)) throw error;
    // A guess may have led into the middle of something.
    yield* pagesOf({ ...reading, known: undefined });
  }
}

async function* pagesOf(reading: LogReading): AsyncGenerator<readonly DecodedRecord[]> {
  const { id, bodyOffset, fromSeq, known, onStep, onEnd } = reading;
  const { path, identity, size } = reading.file;
  using file = reopen(reading);
  if (!isSameFile(file.identity, identity) || file.size < size) {
    throw new StorageFailedError("The log was replaced while it was read", {
      place: { path, sessionId: id },
    });
  }
  const point = known?.find(fromSeq);
  const isRight = known !== undefined && point !== undefined && leads(file, id, point);
  const index = isRight ? known : new LogIndex(identity, bodyOffset);
  const found = isRight
    ? { offset: point.offset, next: point.seq }
    : { offset: bodyOffset, next: 0, frame: 2 };
  const start = reading.start ?? found;
  let page: DecodedRecord[] = [];
  let length = 0;
  let breather = start.offset + STRETCH;
  try {
    for (const step of scanLog(file, id, start)) {
      if (step.kind === "pause") {
        await breathe();
        continue;
      }
      onStep(step);
      if (step.kind === "records") {
        if (step.offset === index.end) addStep(index, step);
        if (step.end >= breather) {
          breather = step.end + STRETCH;
          await breathe();
        }
      }
      for (const decoded of step.records) {
        const { seq, count, text } = decoded.record;
        if (seq + count <= fromSeq) continue;
        page.push(decoded);
        length += text.length;
        if (page.length < PAGE_RECORDS && length < PAGE_LENGTH) continue;
        yield page;
        page = [];
        length = 0;
      }
    }
  } catch (error) {
    if (page.length > 0) yield page;
    throw error;
  }
  if (reading.start === undefined) onEnd(index);
  if (page.length > 0) yield page;
}

function reopen({ id, file: { path, encoding, size } }: LogReading): LogFile {
  try {
    return new LogFile({ path, encoding }, size);
  } catch (error) {
    throw toLogError(error, "The log could not be opened", path, id);
  }
}

/** Takes the unit at the end of an index into it. */
export function addStep(index: LogIndex, step: Extract<ScanStep, { kind: "records" }>): void {
  if (!step.isWhole) return;
  const last = step.records.at(-1)?.record;
  index.add(step.end, last === undefined ? index.next : last.seq + last.count);
}

/** Whether the log has the seq of a point there. */
function leads(file: LogFile, id: string, { offset, seq }: IndexPoint): boolean {
  try {
    for (const step of scanLog(file, id, { offset, next: seq })) {
      if (step.kind !== "pause") return step.kind === "records";
    }
  } catch {
    // Another log than that of the index, or damage, which whoever reads from the beginning is told of.
  }
  return false;
}
