import type { MarkRequest, StoredSession } from "../backend.ts";
import type { LogFile } from "./log-file.ts";
import type { ScanStart } from "./scan.ts";

/*
 * The end of a log as a mark. A log only grows; whatever writes it anew makes another file, and where one was cut off and has
 * grown again, other bytes stand before the mark.
 */

/** Bytes before a mark that it knows. */
const KNOWN = 64 * 1024;

/** Where a marked reading begins, where that is behind a mark, and what it tells of marks. */
export interface MarkedReading {
  readonly start?: ScanStart;
  readonly session: Required<Pick<StoredSession, "isContinued" | "mark">>;
}

export function readMarked(file: LogFile, { since }: MarkRequest): MarkedReading {
  const proof = proofOf(file, file.size);
  const session = { isContinued: false, mark: (seq: number) => ({ seq, proof }) };
  const offset = since === undefined ? 0 : offsetOf(since.proof);
  // One that did not grow has nothing to go on with: it was changed in another way.
  if (since === undefined || !(offset > 0 && offset < file.size)) return { session };
  if (proofOf(file, offset) !== since.proof) return { session };
  return { start: { offset, next: since.seq }, session: { ...session, isContinued: true } };
}

/** Which file it is, where the mark is in it, and what stands before. */
function proofOf(file: LogFile, offset: number): string {
  const { dev, ino } = file.identity;
  const from = Math.max(0, offset - KNOWN);
  const before = Bun.hash.xxHash64(file.read(from, offset - from));
  return `${offset} ${dev} ${ino} ${file.bornAt} ${before}`;
}

function offsetOf(proof: string): number {
  return Number.parseInt(proof, 10);
}
