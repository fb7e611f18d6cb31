import { describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import fc from "fast-check";
import { inBatches } from "../fixtures/arbitraries.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { bringDsh, type Encoding } from "./dsh.ts";
import { openRoot, readLog, recover, type StoredLog, writeLog } from "./rewriting.ts";
import {
  blanked,
  copyCuts,
  copyFiles,
  dshReadings,
  expectedReadings,
  type Reading,
  type SampleCut,
  type SampleRoot,
  sampleRoot,
  samplesMissing,
} from "./samples.ts";

/*
 * What Holdfast writes, dsh loads: dsh's own logs go through Holdfast's reader and writer, and dsh must read from the
 * result what it reads from the originals.
 */

const TIMEOUT_MS = 120_000;
const ENCODINGS: readonly Encoding[] = ["zstd", "none"];
/** Longest log that is written with a sync for each of its events. */
const FEW_EVENTS = 40;

const dsh = await bringDsh();
const missing = dsh.missing ?? samplesMissing;

/** Sizes of batches, to be used in rotation; the same each time. */
function randomSizes(max: number): readonly number[] {
  return fc.sample(fc.integer({ min: 1, max }), { numRuns: 50, seed: 20_260 });
}

/** Reads the samples with Holdfast, from copies in the encoding that they lie in. */
async function readSamples(root: SampleRoot, path: string): Promise<readonly StoredLog[]> {
  await copyFiles(
    root,
    root.sessions.map(({ file }) => file),
    path,
  );
  await using store = await openRoot(path, root.encoding);
  return await Promise.all(root.sessions.map(({ id }) => readLog(store, id)));
}

async function writeLogs(
  path: string,
  encoding: Encoding,
  logs: readonly StoredLog[],
  sizes: readonly number[],
): Promise<void> {
  await using store = await openRoot(path, encoding);
  await Promise.all(logs.map((log) => writeLog(store, log, inBatches(log.events, sizes))));
}

async function fileNames(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

describe.skipIf(missing !== undefined)(
  `dsh's logs, rewritten by Holdfast${missing === undefined ? "" : ` (skipped: ${missing})`}`,
  () => {
    test.each(ENCODINGS)(
      "%s: dsh reads the same from them, however they were batched",
      async (encoding) => {
        await using folder = await TempFolder.create();
        const samples = sampleRoot(encoding);
        const logs = await readSamples(samples, folder.at("samples"));
        const few = logs.filter(({ events }) => events.length <= FEW_EVENTS);
        const plans = [
          { name: "alone", logs: few, sizes: [1] },
          { name: "random", logs, sizes: randomSizes(60) },
          { name: "whole", logs, sizes: [Number.MAX_SAFE_INTEGER] },
        ];
        // Older shapes are copied, all else is appended anew; both are written one by one, too.
        expect(new Set(few.map(({ isOlder }) => isOlder)).size).toBe(2);
        for (const plan of plans) await writeLogs(folder.at(plan.name), encoding, plan.logs, plan.sizes);

        const read = await dsh.read(plans.map(({ name }) => ({ root: folder.at(name), encoding })));
        for (const [k, plan] of plans.entries()) {
          const ids = new Set(plan.logs.map(({ header }) => header.id));
          const expected = expectedReadings(samples.sessions.filter(({ id }) => ids.has(id)));
          expect({ [plan.name]: dshReadings(read[k], expected) }).toEqual({ [plan.name]: expected });
        }
      },
      TIMEOUT_MS,
    );

    test.each(ENCODINGS)(
      "%s: dsh reads the same from a long one, and the closed Turn after recovery",
      async (encoding) => {
        await using folder = await TempFolder.create();
        const workload = sampleRoot("workload");
        const [log] = await readSamples(workload, folder.at("samples"));
        if (log === undefined) throw new Error("the workload is empty");
        const random = folder.at("random");
        // As one frame, which plain lines have none of.
        const whole = encoding === "zstd" ? [folder.at("whole")] : [];
        for (const root of whole) await writeLogs(root, encoding, [log], [Number.MAX_SAFE_INTEGER]);
        await writeLogs(random, encoding, [log], randomSizes(2000));
        const [recovered] = await recover(random, encoding, [log.header.id]);
        const expected = expectedReadings(workload.sessions);
        expect({ [log.header.id]: recovered?.before }).toMatchObject(expected);
        expect(recovered?.after).toMatchObject({ events: 87_211, closers: [] });

        const [readAfter, ...read] = await dsh.read([random, ...whole].map((root) => ({ root, encoding })));
        expect(read.map((root) => dshReadings(root, expected))).toEqual(whole.map(() => expected));
        const after: Record<string, Reading> =
          recovered === undefined ? {} : { [log.header.id]: recovered.after };
        expect(dshReadings(readAfter, after)).toEqual(after);
      },
      TIMEOUT_MS,
    );

    test.each(ENCODINGS)(
      "%s: dsh reads truncated logs that Holdfast repaired, with nothing lost and nothing to close",
      async (encoding) => {
        await using folder = await TempFolder.create();
        const samples = sampleRoot(encoding);
        const cuts = samples.cuts.filter((cut): cut is SampleCut => !("error" in cut));
        const roots = await copyCuts(samples, cuts, folder.path);
        const repaired: Array<Record<string, Reading>> = [];
        for (const { path, cuts: held } of roots) {
          const ids = held.map(({ id }) => id);
          const readings = await recover(path, encoding, ids);
          repaired.push(Object.fromEntries(readings.map(({ after }, k) => [ids[k], after])));
          for (const [k, { stored, closers, messagesSha256 }] of held.entries()) {
            const { before, after } = readings[k] ?? {};
            expect(before?.events).toBe(stored);
            expect<unknown>(before?.closers).toEqual(blanked(closers));
            expect([after?.events, after?.closers]).toEqual([stored + closers.length, []]);
            if (messagesSha256 !== undefined) expect(after?.messagesSha256).toBe(messagesSha256);
          }
        }
        // What was torn off lies beside the logs, where dsh must not mind it.
        const logNames = ["session.jsonl", "session.jsonl.zstd"];
        const names = await Promise.all(roots.map(({ path }) => fileNames(path)));
        expect(names.flat().filter((name) => !logNames.includes(name))).not.toBeEmpty();
        const read = await dsh.read(roots.map(({ path }) => ({ root: path, encoding })));
        expect(read.map((root, k) => dshReadings(root, repaired[k] ?? {}))).toEqual(repaired);
      },
      TIMEOUT_MS,
    );
  },
);
