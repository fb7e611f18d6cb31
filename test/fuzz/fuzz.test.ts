import { describe, expect, test } from "bun:test";
import { dshSamples, workloadSample } from "../fixtures/dsh-samples.ts";
import { STORES } from "../fixtures/host-lab.ts";
import { makeCorpus } from "./corpus.ts";
import { failureText } from "./report.ts";
import { fuzz } from "./runner.ts";

// The short form of `bun run fuzz`, which says how to check a failed input again.
const INPUTS = 30;
const SEED = 4;

describe.skipIf(process.platform === "win32")("damaged stores", () => {
  test.concurrent.each([...STORES])(
    "are read, checked, resumed, repaired and salvaged without a crash, a hang or wrong data, as %s",
    async (kind) => {
      const report = await fuzz({ kind, seed: SEED, end: INPUTS });
      expect(report.failures.map((failure) => failureText(kind, SEED, failure))).toEqual([]);
      expect(report.inputs).toBe(INPUTS);
      // Each way that an input can go is gone by many.
      for (const outcome of ["clean", "damaged", "appended", "repaired", "salvaged"] as const) {
        expect([outcome, report.times(outcome) > INPUTS / 10]).toEqual([outcome, true]);
      }
    },
    300_000,
  );
});

// Without the samples inputs are made of the store's own sessions alone.
describe.skipIf(dshSamples("zstd").absent || workloadSample() === undefined)("the samples", () => {
  test.each(["zstd", "none"] as const)("are what inputs are made of as well, as %s", async (kind) => {
    const { logs, workload } = await makeCorpus(kind, SEED);
    const own = logs.filter(({ path }) => path.startsWith("--srv-x--/"));
    expect(own.length).toBeGreaterThan(10);
    expect(logs.length - own.length).toBeGreaterThan(30);
    expect(workload?.original.records.length).toBeGreaterThan(1_000);
  });
});
