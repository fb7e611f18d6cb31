import { describe, expect, test } from "bun:test";
import { STORES } from "../fixtures/host-lab.ts";
import { crash } from "./harness.ts";
import { lifeOf, planRun } from "./plan.ts";
import { failureText } from "./report.ts";

// The short form of `bun run crash`, which says how to do a failed run again.
const RUNS = 8;
const SEED = 4;

test.each([...STORES])("a seed gives the same runs again, in %s", (kind) => {
  for (let run = 0; run < 60; run += 1) {
    expect(planRun(kind, 7, run, true)).toEqual(planRun(kind, 7, run, true));
    const { first, end } = lifeOf(kind, 7, run);
    expect(lifeOf(kind, 7, end - 1)).toEqual({ first, end });
    expect(lifeOf(kind, 7, end).first).toBe(end);
  }
  expect(planRun(kind, 7, 0, true)).not.toEqual(planRun(kind, 8, 0, true));
});

describe.skipIf(process.platform === "win32")("Hosts that are killed again and again", () => {
  test.concurrent.each([...STORES])(
    "lose nothing, make nothing up and run nothing twice, their sessions in %s",
    async (kind) => {
      const report = await crash({ kind, seed: SEED, end: RUNS });
      expect(report.failures.map((failure) => failureText(kind, SEED, failure))).toEqual([]);
      expect(report.runs).toBe(RUNS);
      expect(report.turns).toBeGreaterThan(RUNS / 3);
      expect(report.events).toBeGreaterThan(RUNS * 10);
      // A kill may come before what any single run plans.
      expect(report.recoveries + report.retries).toBeGreaterThan(0);
      if (kind === "sqlite") expect(report.quotes).toBeGreaterThan(0);
    },
    120_000,
  );
});
