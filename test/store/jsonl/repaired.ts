import { readFileSync } from "node:fs";
import type { SessionRecord } from "../../../src/session/records.ts";
import { type Finding, isError } from "../../../src/store/finding.ts";
import { examineJsonl } from "../../../src/store/jsonl/examine.ts";
import { repairJsonl } from "../../../src/store/jsonl/repairer.ts";
import { type QuarantineItem, QuarantineReader } from "../../../src/store/quarantine-reader.ts";
import type { SessionRepair } from "../../../src/store/repairer.ts";
import { verifySessions } from "../../../src/store/verify.ts";
import { drain } from "../../contract/streaming.ts";
import { IMPATIENT } from "./examining.ts";
import type { Place } from "./place.ts";

/* What a repair made of a root, looked at by other code than that which made it. */

export interface Repaired {
  readonly steps: readonly SessionRepair[];
  readonly helpless: readonly Finding[];
}

/** Plans and carries out all repairs of a root. */
export async function repairRoot(root: string, ids?: readonly string[]): Promise<Repaired> {
  await using repairer = await repairJsonl(root);
  const { steps, helpless } = await repairer.plan(ids === undefined ? {} : { ids });
  const own: SessionRepair[] = [];
  for (const step of steps) {
    await repairer.carryOut(step);
    if (step.kind === "session") own.push(step);
  }
  return { steps: own, helpless };
}

/** What an ordinary reader gets of a session, up to its end or its first fault. */
export async function ordinaryReading(
  place: Place,
  id: string,
): Promise<{ readonly records: readonly SessionRecord[]; readonly fault?: unknown; readonly torn: boolean }> {
  await using store = await place.read();
  try {
    const stream = await store.stream(id);
    return { ...(await drain(stream)), torn: stream.torn() };
  } catch (fault) {
    return { records: [], fault, torn: false };
  }
}

/** What `verify` finds wrong with a root by now; nothing after a repair that could help. */
export async function errorsIn(root: string): Promise<Finding[]> {
  await using examiner = await examineJsonl(root, IMPATIENT);
  const findings: Finding[] = [];
  for await (const report of verifySessions(examiner)) {
    if (report.kind === "finding" && isError(report.finding)) findings.push(report.finding);
  }
  return findings;
}

export function piecesOf(path: string): QuarantineItem[] {
  using reader = new QuarantineReader(path);
  return [...reader.items()];
}

/** The texts of the records in a quarantine file. */
export function recordsIn(pieces: readonly QuarantineItem[]): string[] {
  return pieces.flatMap((piece) => (piece.kind === "text" && piece.seq !== undefined ? [piece.text] : []));
}

/** Throws unless each piece is what stands at its place in the original. Returns the bytes that the pieces cover. */
export function coveredBytes(pieces: readonly QuarantineItem[], original: Buffer, isFramed: boolean): number {
  let covered = 0;
  let last = -1;
  for (const piece of pieces) {
    if (piece.kind === "damage" || piece.kind === "row") throw new Error(`a piece of the kind ${piece.kind}`);
    const there = original.subarray(piece.offset, piece.offset + piece.length);
    if (piece.kind === "bytes" && piece.row === undefined && !there.equals(piece.bytes)) {
      throw new Error(`other bytes at ${piece.offset}`);
    }
    if (piece.kind === "text" && !isFramed) {
      const line = there.at(-1) === 0x0a ? `${piece.text}\n` : piece.text;
      if (!there.equals(Buffer.from(line))) throw new Error(`another line at ${piece.offset}`);
    }
    if (piece.offset !== last) covered += piece.length;
    last = piece.offset;
  }
  return covered;
}

export function bytesOf(path: string): Buffer {
  return readFileSync(path);
}

/** Codes of what is wrong with a root. */
export async function codesIn(root: string): Promise<string[]> {
  return (await errorsIn(root)).map(({ code }) => code);
}
