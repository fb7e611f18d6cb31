import { describe, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { compactJsonl } from "../../src/store/jsonl/compactor.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { bringDsh } from "./dsh.ts";
import { copyFiles, dshReadings, expectedReadings, sampleRoot, samplesMissing } from "./samples.ts";

/* A log that Holdfast compacted, dsh loads, and reads from it what it read before. */

const TIMEOUT_MS = 60_000;

const dsh = await bringDsh();
const missing = dsh.missing ?? samplesMissing;

describe.skipIf(missing !== undefined)(
  `compacted logs${missing === undefined ? "" : ` (skipped: ${missing})`}`,
  () => {
    test.each(["zstd", "none", "workload"] as const)(
      "%s: dsh reads what the manifest says of the originals",
      async (name) => {
        await using folder = await TempFolder.create();
        const root = sampleRoot(name);
        const files = root.sessions.map(({ file }) => file);
        await copyFiles(root, files, folder.path);
        const states = new Set<string>();
        {
          await using compactor = await compactJsonl(folder.path, { dryRun: false });
          for (const { id } of root.sessions) states.add((await compactor.compact(id)).state);
        }
        expect([states.has("compacted"), states.has("refused")]).toEqual([true, false]);
        // 1,562,636 bytes before.
        if (name === "workload") {
          expect(files.map((file) => statSync(folder.at(file)).size).every((size) => size < 560_000)).toBe(
            true,
          );
        }
        const [read] = await dsh.read([{ root: folder.path, encoding: root.encoding }]);
        const expected = expectedReadings(root.sessions);
        expect(dshReadings(read, expected)).toEqual(expected);
      },
      TIMEOUT_MS,
    );
  },
);
