import { expect, test } from "bun:test";
import fc from "fast-check";
import { arbitrarySession } from "../fixtures/arbitraries.ts";
import { harmedLog, salvaged } from "../fixtures/salvaging.ts";
import { headerText } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { bringDsh } from "./dsh.ts";
import { inTermsOfDsh, isSafeInNode24 } from "./dsh-terms.ts";
import { openRoot, readingOf } from "./rewriting.ts";
import { dshReadings, type Reading } from "./samples.ts";

/* What a salvage makes of damaged logs, dsh loads. */

const TIMEOUT_MS = 60_000;
const SEED = 20_261;
const SESSIONS = 60;

const dsh = await bringDsh();
const skipped = dsh.missing === undefined ? "" : ` (skipped: ${dsh.missing})`;

test.skipIf(dsh.missing !== undefined)(
  `sessions that a salvage made are the same in dsh${skipped}`,
  async () => {
    await using folder = await TempFolder.create();
    const sound = arbitrarySession().filter(isSafeInNode24).map(inTermsOfDsh);
    const logs = fc.sample(harmedLog(sound), { numRuns: SESSIONS, seed: SEED }).map(salvaged);
    const written: Record<string, Reading> = {};
    await using store = await openRoot(folder.at("root"), "zstd");
    for (const [k, { records }] of logs.entries()) {
      const id = `salvaged-${k}`;
      await store.importRecords(headerText(id, { parentSession: "old" }), records);
      written[id] = readingOf(await store.inspect(id));
    }
    const [read] = await dsh.read([{ root: folder.at("root"), encoding: "zstd" }]);
    expect(dshReadings(read, written)).toEqual(written);
    // All of it is put to use: what is lost, what is kept aside, and what is made up.
    const totals = logs.map((log) => log.totals);
    for (const name of ["taken", "aside", "repeated", "missing", "added"] as const) {
      expect(totals.filter((counts) => counts[name] > 0).length, name).toBeGreaterThan(SESSIONS / 10);
    }
  },
  TIMEOUT_MS,
);
