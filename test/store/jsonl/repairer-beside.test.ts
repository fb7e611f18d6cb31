import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { FileSystem } from "../../../src/store/file-system.ts";
import { repairJsonl } from "../../../src/store/jsonl/repairer.ts";
import { outcomesOf } from "../../contract/support.ts";
import { systemError, watchedDisk } from "../../fixtures/watched-disk.ts";
import { BATCHES } from "./damage-kinds.ts";
import { buildLog } from "./log-bytes.ts";
import { Place } from "./place.ts";
import { bytesOf, codesIn, repairRoot } from "./repaired.ts";

/* What a repair makes beside a log: whose it is, where it lies, and what it leaves alone. */

const TORN = buildLog("s", "none", BATCHES).bytes.subarray(0, -3);
const LOG = "session.jsonl";

async function repairOn(root: string, disk: FileSystem): Promise<void> {
  await using repairer = await repairJsonl(root, disk);
  for (const step of (await repairer.plan()).steps) await repairer.carryOut(step);
}

describe("a log that a link leads to", () => {
  /** The log lies elsewhere, under another name. */
  function putLink(place: Place): { readonly link: string; readonly real: string } {
    const link = place.put("s", "none", TORN);
    const real = join(place.folder, "elsewhere", "a.log");
    mkdirSync(dirname(real));
    renameSync(link, real);
    symlinkSync("../../../elsewhere/a.log", link);
    return { link, real };
  }

  test("is repaired where it lies, with all that is made beside it; the link stays", async () => {
    using place = new Place();
    const { link, real } = putLink(place);
    const { steps } = await repairRoot(place.root);
    expect(steps).toMatchObject([
      { location: link, backup: `${real}.backup-1`, quarantine: `${real}.quarantine-1` },
    ]);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readdirSync(dirname(link))).toEqual([LOG]);
    expect(readdirSync(dirname(real)).toSorted()).toEqual(["a.log", "a.log.backup-1", "a.log.quarantine-1"]);
    expect(bytesOf(`${real}.backup-1`).equals(TORN)).toBe(true);
    expect(await codesIn(place.root)).toEqual([]);
  });

  test("keeps no draft of a repair that was killed there", async () => {
    using place = new Place();
    const { real } = putLink(place);
    // Nothing can be removed any more either, as after a kill.
    const dead = watchedDisk((operation) => {
      if (operation === "link" || operation === "remove") throw systemError("EIO");
    });
    expect(await outcomesOf([repairOn(place.root, dead)])).toEqual(["storage-failed"]);
    expect(readdirSync(dirname(real)).length).toBe(3);
    await repairRoot(place.root);
    expect(readdirSync(dirname(real)).toSorted()).toEqual(["a.log", "a.log.backup-1", "a.log.quarantine-1"]);
  });
});

describe("names that somebody else gave", () => {
  /** What lies beside a repaired log with these files, by name. Of those that were there nothing may change. */
  async function beside(
    files: Readonly<Record<string, Uint8Array | string>>,
    more: (path: string) => void = () => {},
  ): Promise<readonly string[]> {
    using place = new Place();
    const path = place.put("s", "none", TORN);
    for (const [name, bytes] of Object.entries(files)) place.file(path + name, bytes);
    more(path);
    const { steps } = await repairRoot(place.root);
    for (const [name, bytes] of Object.entries(files)) {
      expect({ name, bytes: readFileSync(path + name) }).toEqual({ name, bytes: Buffer.from(bytes) });
    }
    const [step] = steps;
    if (step === undefined) throw new Error("no step");
    expect(lstatSync(step.backup).isFile()).toBe(true);
    expect(bytesOf(step.backup).equals(TORN)).toBe(true);
    expect(readFileSync(step.quarantine, "utf8")).toContain('{"type":"end"');
    expect(await codesIn(place.root)).toEqual([]);
    return [step.backup, step.quarantine].map((made) => basename(made).slice(LOG.length));
  }

  test("are left to them: the next number is taken", async () => {
    expect(await beside({ ".backup-1": "mine" })).toEqual([".backup-2", ".quarantine-2"]);
    expect(await beside({ ".quarantine-1": "mine" })).toEqual([".backup-2", ".quarantine-2"]);
  });

  test("stand for nothing where they are no numbers of ours, however large", async () => {
    const stamps = { ".backup-20261129221530123": "mine", ".backup-20261129221530124": TORN };
    expect(await beside({ ...stamps, ".quarantine-9007199254740993": "mine" })).toEqual([
      ".backup-1",
      ".quarantine-1",
    ]);
  });

  test("are a backup where the bytes are those of the log, but never the quarantine file of another repair", async () => {
    expect(await beside({ ".backup-1": TORN })).toEqual([".backup-1", ".quarantine-1"]);
    expect(await beside({ ".backup-1": TORN, ".quarantine-1": "mine" })).toEqual([
      ".backup-2",
      ".quarantine-2",
    ]);
  });

  test("are no backup where they are links: one to the log itself would lead to the repaired one", async () => {
    expect(await beside({}, (path) => symlinkSync(LOG, `${path}.backup-1`))).toEqual([
      ".backup-2",
      ".quarantine-2",
    ]);
    expect(await beside({}, (path) => symlinkSync("nowhere", `${path}.quarantine-1`))).toEqual([
      ".backup-2",
      ".quarantine-2",
    ]);
  });

  test("and that come between the plan and its step stop it, and nothing changes", async () => {
    for (const name of [".backup-1", ".quarantine-1"]) {
      using place = new Place();
      const path = place.put("s", "none", TORN);
      await using repairer = await repairJsonl(place.root);
      const [step] = (await repairer.plan()).steps;
      if (step === undefined) throw new Error("no step");
      place.file(path + name, "mine");
      const before = place.contents();
      expect(await outcomesOf([repairer.carryOut(step)])).toEqual(["storage-failed"]);
      expect(place.contents()).toEqual(before);
    }
  });
});

test.skipIf(process.getuid?.() !== 0)(
  "everything belongs to the owner of the log, with its permissions (skipped unless root)",
  async () => {
    for (const hasLinks of [true, false]) {
      using place = new Place();
      const path = place.put("s", "none", TORN);
      chmodSync(path, 0o640);
      chownSync(path, 1234, 5678);
      const disk = watchedDisk((operation) => {
        if (operation === "link" && !hasLinks) throw systemError("EPERM");
      });
      await repairOn(place.root, disk);
      for (const made of [path, `${path}.backup-1`, `${path}.quarantine-1`]) {
        const { uid, gid, mode } = statSync(made);
        expect({ made, uid, gid, mode: mode & 0o777 }).toEqual({ made, uid: 1234, gid: 5678, mode: 0o640 });
      }
    }
  },
);
