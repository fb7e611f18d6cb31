import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { outcomesOf } from "../../contract/support.ts";
import { Bundle } from "../../fixtures/bundle.ts";
import { faultEnvironment, SHIM } from "../../fixtures/fault-shim.ts";
import { TinyDisk } from "../../fixtures/tiny-disk.ts";
import { compact, deltas, segmentsIn } from "./compacting.ts";
import { type Contents, errorsIn, goOn, long, ordinaryContents } from "./damaged.ts";
import { Place } from "./place.ts";

let program: Bundle;
beforeAll(async () => {
  program = await Bundle.of(
    Bun.fileURLToPath(new URL("../../fixtures/compact-database.ts", import.meta.url)),
  );
});
afterAll(() => program[Symbol.asyncDispose]());

const IDS = ["a", "b"];
/** One in so many file operations is tried. */
const STRIDES = { compact: 71, expand: 151 } as const;

async function filled(place: Place): Promise<Contents> {
  await place.fill({ a: deltas(3_000), b: Array.from({ length: 200 }, (_, n) => long(n, n * 20)) });
  return ordinaryContents(place.path);
}

/** The files of a store, but for those of its lock. */
function filesOf({ folder }: Place) {
  const names = readdirSync(folder).filter((name) => /\.db(-wal)?$/.test(name));
  return names.map((name) => [name, readFileSync(join(folder, name))] as const);
}

function restore({ folder }: Place, files: ReturnType<typeof filesOf>): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
  for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes, { mode: 0o600 });
}

test.skipIf(SHIM === undefined).each(["compact", "expand"] as const)(
  "a process that is to %s, killed at any file operation, leaves every event; the next one finishes it",
  async (how) => {
    using place = new Place();
    const contents = await filled(place);
    if (how === "expand") await compact(place, "compact", {}, IDS);
    const files = filesOf(place);
    let killed = 0;
    const seen = new Set<boolean>();
    for (let at = 3; ; at += STRIDES[how]) {
      restore(place, files);
      const env = faultEnvironment({ below: place.folder, on: "any", at, action: "kill-before" });
      const child = Bun.spawn([process.execPath, program.path, place.path, how, ...IDS], {
        env: { ...process.env, ...env },
      });
      await child.exited;
      expect({ at, contents: await ordinaryContents(place.path) }).toEqual({ at, contents });
      if (child.signalCode === null) break;
      killed += 1;
      expect({ at, errors: await errorsIn(place.path) }).toEqual({ at, errors: [] });
      const results = await compact(place, how, {}, IDS);
      for (const { state } of results) seen.add(state === "unchanged");
      expect(await ordinaryContents(place.path)).toEqual(contents);
    }
    // Killed before and behind the commit of a session.
    expect([killed > 4, [...seen].toSorted()]).toEqual([true, [false, true]]);
  },
  60_000,
);

test.skipIf(!TinyDisk.isAllowed)(
  "on a full disk a compaction fails, every event stays, and it works once there is space",
  async () => {
    using disk = TinyDisk.mount(16) ?? expect.unreachable();
    const place = new Place(disk.folder);
    const contents = await filled(place);
    const outcomes = new Set<string>();
    for (const spare of [8_192, 40_000, 60_000, 100_000, 200_000, 400_000]) {
      disk.fill(spare);
      outcomes.add((await outcomesOf([compact(place, "compact", {}, IDS)]))[0] ?? "");
      disk.free();
      expect(await ordinaryContents(place.path)).toEqual(contents);
      expect(await errorsIn(place.path)).toEqual([]);
    }
    expect(outcomes).toContain("storage-full");
    await compact(place, "compact", {}, IDS);
    expect(segmentsIn(place).length).toBeGreaterThan(1);
    await goOn(place);
    expect(await errorsIn(place.path)).toEqual([]);
  },
  30_000,
);
