import type { DecodedRecord } from "../../session/records.ts";
import { breathe, STRETCH } from "../breathe.ts";
import { CorruptError } from "../errors.ts";
import { readHead } from "./head.ts";
import type { LogFile } from "./log-file.ts";
import { LogIndex } from "./log-index.ts";
import { addStep } from "./pages.ts";
import { scanLog } from "./scan.ts";

/** Part of a log that is to be read. */
export interface SuffixRequest {
  /** The record that holds this seq is the first that is given out. */
  readonly fromSeq: number;
  /** Most records. */
  readonly limit: number;
  /** Where in the log events lie, as far as that is known. */
  readonly known: LogIndex | undefined;
}

export interface Suffix {
  readonly records: readonly DecodedRecord[];
  /** What is known now of where events lie. */
  readonly index: LogIndex;
}

/** Some records of a log, without reading what precedes them where that can be found out. @throws CorruptError */
export async function readSuffixOf(id: string, file: LogFile, request: SuffixRequest): Promise<Suffix> {
  const { known } = request;
  if (known === undefined) return await readAt(id, file, request);
  try {
    const suffix = await readAt(id, file, request);
    if (!suffix.isStale) return suffix;
  } catch (error) {
    // A guess may have led into the middle of something.
    if (!(error instanceof CorruptError) || !known.isGuessed) throw error;
  }
  // Another log lies here than the one that the index was made from.
  return await readAt(id, file, { ...request, known: undefined });
}

async function readAt(
  id: string,
  file: LogFile,
  { fromSeq, limit, known }: SuffixRequest,
): Promise<Suffix & { readonly isStale: boolean }> {
  const index = known ?? new LogIndex(file.identity, readHead(file).bodyOffset);
  const records: DecodedRecord[] = [];
  const stale = { records: [], index, isStale: true };
  // Units behind the indexed part are taken into the index on the way.
  // Where nothing follows the indexed part, nothing there would tell whether its end is right: a point before it does.
  const isAtEnd = fromSeq >= index.next && index.end < file.size;
  const point = isAtEnd ? { offset: index.end, seq: index.next } : index.find(fromSeq);
  const { seq } = point;
  const offset = point.offset === 0 ? readHead(file).bodyOffset : point.offset;
  let isFirst = true;
  let breather = offset + STRETCH;
  try {
    for (const step of scanLog(file, id, { offset, next: seq })) {
      if (step.kind === "pause") {
        await breathe();
        continue;
      }
      // A point that leads nowhere looks like the beginning of a torn tail.
      if (isFirst && known !== undefined && step.kind === "torn") return stale;
      isFirst = false;
      if (step.kind === "records" && step.offset === index.end) addStep(index, step);
      for (const decoded of step.records) {
        if (decoded.record.seq + decoded.record.count > fromSeq && records.length < limit)
          records.push(decoded);
      }
      if (records.length >= limit) break;
      if (step.kind === "records" && step.end >= breather) {
        breather = step.end + STRETCH;
        await breathe();
      }
    }
  } catch (error) {
    if (known !== undefined && isFirst) return stale;
    throw error;
  }
  // Not one unit at the point: nothing there says that it is right.
  if (known !== undefined && isFirst && offset > 0 && index.next > 0) return stale;
  return { records, index, isStale: false };
}
