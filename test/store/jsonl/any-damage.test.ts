import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { UnsupportedFormatError } from "../../../src/store/errors.ts";
import { arbitraryDamage, arbitraryLog, damageLog } from "./damaging.ts";
import { examineRoot } from "./examining.ts";
import type { BuiltLog } from "./log-bytes.ts";
import { ENCODINGS, Place, type Place as Root } from "./place.ts";
import {
  bytesOf,
  coveredBytes,
  errorsIn,
  ordinaryReading,
  piecesOf,
  recordsIn,
  repairRoot,
} from "./repaired.ts";

const RUNS = 60;
const TIMEOUT = 60_000;
/** What a wrong letter in a plain line may make of an event, and no cut can help. */
const LASTING = new Set(["unknown-type", "reference", "tool-pairing", "turn-balance"]);

/** Batches of a log of which every byte is there still. */
function wholeBatches({ bytes, offsets, batches }: BuiltLog, damaged: Buffer): string[] {
  return batches.flatMap((texts, k) => {
    const batch = bytes.subarray(offsets[k], offsets[k + 1]);
    return damaged.includes(batch) ? texts : [];
  });
}

/** Lines of plain text that are texts of the log. */
function wholeLines({ batches }: BuiltLog, damaged: Buffer): string[] {
  const lines = new Set(damaged.toString().split("\n").slice(0, -1));
  return batches.flat().filter((text) => lines.has(text));
}

async function checkRepair(place: Root, path: string, damaged: Buffer): Promise<string[]> {
  const before = await ordinaryReading(place, "s");
  const { steps, helpless } = await repairRoot(place.root);
  const [step] = steps;
  if (step === undefined) {
    expect(bytesOf(path).equals(damaged)).toBe(true);
    if (helpless.every(({ code }) => LASTING.has(code)))
      expect([before.fault, before.torn]).toEqual([undefined, false]);
    const [only] = await examineRoot(place.root);
    return [...(only?.texts ?? [])];
  }
  expect([steps.length, step.id]).toEqual([1, "s"]);
  expect(bytesOf(step.backup).equals(damaged)).toBe(true);
  // What no repair helps is found again; nothing else is.
  expect((await errorsIn(place.root)).map(({ code }) => code)).toEqual(helpless.map(({ code }) => code));
  if (path.endsWith(".zstd")) expect(helpless).toEqual([]);
  const after = await ordinaryReading(place, "s");
  expect([after.fault, after.torn]).toEqual([undefined, false]);
  const kept = after.records.map(({ text }) => text);
  if (step.header === "kept" && before.fault !== undefined) {
    expect(kept.slice(0, before.records.length)).toEqual(before.records.map(({ text }) => text));
  }
  const events = after.records.reduce((sum, { count }) => sum + count, 0);
  expect(events).toBe(step.keptEvents + step.closers);
  const pieces = piecesOf(step.quarantine);
  expect(coveredBytes(pieces, damaged, path.endsWith(".zstd"))).toBe(step.cut.bytes);
  await using store = await place.open();
  try {
    expect((await store.load("s")).log.length).toBe(events);
  } catch (error) {
    // A wrong letter in a type, of which no checksum tells, makes an event that nobody knows.
    if (path.endsWith(".zstd") || !(error instanceof UnsupportedFormatError)) throw error;
  }
  return [...kept, ...recordsIn(pieces)];
}

describe.each(ENCODINGS)("any damage, encoding %s", (encoding) => {
  test(
    "is survived by an examiner, which gives out nothing but what was written; a repair loses no sound record",
    async () => {
      using place = new Place();
      await fc.assert(
        fc.asyncProperty(
          arbitraryLog(encoding),
          fc.array(arbitraryDamage(), { minLength: 1, maxLength: 4 }),
          async (log, damages) => {
            place.clear();
            const damaged = damageLog(log, damages);
            const path = place.put("s", encoding, damaged);
            const [examined] = await examineRoot(place.root);
            const found = encoding === "zstd" ? wholeBatches(log, damaged) : wholeLines(log, damaged);
            const written = new Set(
              encoding === "zstd" ? log.batches.flat() : damaged.toString().split("\n"),
            );
            expect(examined?.texts.filter((text) => !written.has(text))).toEqual([]);
            if (examined?.findings.every(({ code }) => code !== "unsupported-version") === true) {
              const given = new Set(examined.texts);
              expect(found.filter((text) => !given.has(text))).toEqual([]);
            }
            const left = new Set(await checkRepair(place, path, damaged));
            expect(found.filter((text) => !left.has(text))).toEqual([]);
          },
        ),
        { numRuns: RUNS },
      );
    },
    TIMEOUT,
  );
});
