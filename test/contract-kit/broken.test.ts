import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { summarise } from "../../scripts/junit.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { BROKEN, SOUND } from "./broken/index.ts";
import { casesOf, type ReportedCase } from "./junit-cases.ts";

/*
 * Backends that break one rule each are run through the groups of the contract that know the rule. A suite that does
 * not see what is wrong with them would not see it in a backend that somebody means to use, either.
 */

const ROOT = join(import.meta.dir, "../..");

/** What a backend does that does anything at all. */
const EASY = "create and append an append returns the event with its seq and the clock's time, frozen";

function groupOf({ groups }: ReportedCase): string {
  return groups.at(-1) ?? "";
}

let report: readonly ReportedCase[] = [];
let printed = "";

/** What was reported of one backend. */
function casesFor(fault: string): readonly ReportedCase[] {
  return report.filter(({ groups, outcome }) => outcome !== "skipped" && groups.includes(titleOf(fault)));
}

function titleOf(fault: string): string {
  return `persistence contract: ${fault}`;
}

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

beforeAll(async () => {
  await using folder = await TempFolder.create();
  const file = folder.at("junit.xml");
  const patterns = [...SOUND, ...BROKEN].map(({ fault, caughtBy }) => {
    const groups = new Set(caughtBy.map(([group]) => literally(`${titleOf(fault)} ${group} `)));
    return [...groups, literally(`${titleOf(fault)} ${EASY}`)].join("|");
  });
  const command = [process.execPath, "test", "./test/contract-kit/broken-suite.ts"];
  const options = ["--timeout=4000", "--reporter=junit", `--reporter-outfile=${file}`];
  const child = Bun.spawn([...command, ...options, "-t", `^(${patterns.join("|")})`], {
    cwd: ROOT,
    timeout: 80_000,
    stdio: ["ignore", "ignore", "pipe"],
  });
  printed = await child.stderr.text();
  expect(await child.exited).toBe(1);
  const xml = await Bun.file(file).text();
  report = casesOf(xml);
  const count = (outcome: ReportedCase["outcome"]) => report.filter((one) => one.outcome === outcome).length;
  const counts = { passed: count("passed"), failed: count("failed"), skipped: count("skipped") };
  expect(counts).toEqual(summarise(xml));
}, 90_000);

describe("a sound backend", () => {
  for (const { fault, caughtBy } of SOUND) {
    test(`with ${fault} broken passes every case that a broken one fails`, () => {
      const cases = casesFor(fault);
      expect(cases.filter(({ outcome }) => outcome === "failed")).toEqual([]);
      const passed = new Set(cases.map((one) => `${groupOf(one)} > ${one.name}`));
      const needed = new Set(caughtBy.map((path) => path.join(" > ")));
      // What a backend in memory cannot do was skipped, and is there on disk.
      const missing = [...needed].filter((name) => !passed.has(name));
      expect(missing.filter((name) => !/\(needs (crossProcessLock|tear)\)/.test(name))).toEqual([]);
      expect(printed).toContain(`${titleOf(fault)}: ${cases.length} passed, 0 failed\n`);
    });
  }
});

describe("the contract sees when a backend", () => {
  for (const { fault, caughtBy } of BROKEN) {
    test(fault, () => {
      const cases = casesFor(fault);
      const failed = cases.filter(({ outcome }) => outcome === "failed");
      const names = failed.map((one) => `${groupOf(one)} > ${one.name}`);
      expect(names).toEqual(expect.arrayContaining(caughtBy.map((path) => path.join(" > "))));
      // It fails for that rule, and not because it does nothing at all or hangs.
      expect(cases.length).toBeGreaterThan(failed.length);
      expect(failed.filter(({ message }) => /timed out/.test(message))).toEqual([]);
    });
  }
});
