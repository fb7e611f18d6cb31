import { describe, expect, test } from "bun:test";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { bringDsh } from "./dsh.ts";
import {
  blanked,
  copyCuts,
  copyFiles,
  dshReadings,
  expectedReadings,
  type RefusedCut,
  type SampleCut,
  sampleRoot,
  samplesMissing,
} from "./samples.ts";

/*
 * Holds the sample data to dsh itself: the manifests, which other tests trust, say what dsh reads.
 */

const TIMEOUT_MS = 60_000;

const dsh = await bringDsh();
const missing = dsh.missing ?? samplesMissing;

describe.skipIf(missing !== undefined)(
  `the sample data${missing === undefined ? "" : ` (skipped: ${missing})`}`,
  () => {
    test.each(["zstd", "none", "workload"] as const)(
      "%s: dsh lists, reads and refuses what the manifest says",
      async (name) => {
        await using folder = await TempFolder.create();
        const root = sampleRoot(name);
        const files = [...root.sessions, ...root.refused].map(({ file }) => file);
        await copyFiles(root, files, folder.path);
        const [read] = await dsh.read([{ root: folder.path, encoding: root.encoding }]);
        const expected = expectedReadings(root.sessions);
        const refused = root.refused.map(({ id, why }) => [id, { error: why }]);
        expect(dshReadings(read, expected)).toEqual({ ...expected, ...Object.fromEntries(refused) });
      },
      TIMEOUT_MS,
    );

    test.each(["zstd", "none"] as const)(
      "%s: dsh reads from truncated logs what the manifest says",
      async (name) => {
        await using folder = await TempFolder.create();
        const root = sampleRoot(name);
        const roots = await copyCuts<SampleCut | RefusedCut>(root, root.cuts, folder.path);
        const requests = roots.map(({ path, cuts }) => ({
          root: path,
          encoding: root.encoding,
          ids: cuts.map(({ id }) => id),
        }));
        const read = await dsh.read(requests);
        for (const [k, { cuts }] of roots.entries()) {
          for (const { of: _, length, ...cut } of cuts) {
            const found = read[k]?.sessions[cut.id] ?? { error: "nothing" };
            if ("error" in found || "error" in cut) {
              expect<unknown>({ length, id: cut.id, ...found }).toEqual({ length, ...cut });
              continue;
            }
            const { id, messagesSha256 } = cut;
            const { events: stored, closers } = found;
            const digest = messagesSha256 === undefined ? {} : { messagesSha256: found.messagesSha256 };
            expect<unknown>({ length, id, stored, closers: blanked(closers), ...digest }).toEqual({
              length,
              ...cut,
            });
          }
        }
      },
      TIMEOUT_MS,
    );
  },
);
