import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { FileSystem } from "../../../src/store/file-system.ts";
import { repairJsonl } from "../../../src/store/jsonl/repairer.ts";
import { outcomesOf } from "../../contract/support.ts";
import { Disk, FileNode, FolderNode } from "../../fixtures/power-cut/disk.ts";
import { lay } from "../../fixtures/power-cut/gather.ts";
import { Recorder } from "../../fixtures/power-cut/recorder.ts";
import { keyOf, type State, statesOf } from "../../fixtures/power-cut/states.ts";
import { TinyDisk } from "../../fixtures/tiny-disk.ts";
import { systemError, watchedDisk } from "../../fixtures/watched-disk.ts";
import { BATCHES } from "./damage-kinds.ts";
import { encodeBatch, headerText, randomBytes, seeded, titleText } from "./log-bytes.ts";
import { ENCODINGS, LOG_NAMES, Place } from "./place.ts";
import { bytesOf, codesIn, ordinaryReading, repairRoot } from "./repaired.ts";

const CHILD = Bun.fileURLToPath(new URL("../../fixtures/repair-until-killed.ts", import.meta.url));
const TIMEOUT = 30_000;

/** A log that is damaged after its second batch. */
function damagedLog(encoding: (typeof ENCODINGS)[number]): Buffer {
  const parts = BATCHES.map((texts) => encodeBatch(texts, encoding));
  const [first = Buffer.alloc(0), second = Buffer.alloc(0), ...others] = parts;
  const garbage = encoding === "zstd" ? Buffer.from("garbage") : Buffer.from("garbage\n");
  return Buffer.concat([encodeBatch([headerText("s")], encoding), first, second, garbage, ...others]);
}

async function repairOn(root: string, disk: FileSystem): Promise<void> {
  await using repairer = await repairJsonl(root, disk);
  for (const step of (await repairer.plan()).steps) await repairer.carryOut(step);
}

describe.each(ENCODINGS)("a repair, encoding %s", (encoding) => {
  const original = damagedLog(encoding);

  /** What a repair makes of the log. */
  const repaired = async () => {
    using place = new Place();
    const path = place.put("s", encoding, original);
    await repairRoot(place.root);
    return { bytes: bytesOf(path), contents: place.contents() };
  };

  test("that is killed at any operation leaves the original or the repaired log whole; the next one finishes it", async () => {
    const goal = await repaired();
    let whole = 0;
    for (let dies = 0; ; dies += 1) {
      using place = new Place();
      const path = place.put("s", encoding, original);
      let done = 0;
      const disk = watchedDisk(() => {
        done += 1;
        if (done > dies) throw systemError("EIO");
      });
      const [outcome] = await outcomesOf([repairOn(place.root, disk)]);
      const left = bytesOf(path);
      if (left.equals(goal.bytes)) whole += 1;
      else expect({ dies, same: left.equals(original) }).toEqual({ dies, same: true });
      await repairRoot(place.root);
      expect({ dies, contents: place.contents() }).toEqual({ dies, contents: goal.contents });
      if (outcome === "ok") break;
      expect(outcome).toBe("storage-failed");
      expect(dies).toBeLessThan(100);
    }
    // After the rename there is one more folder to be synced.
    expect(whole).toBe(2);
  });

  test.each(["ENOSPC", "EIO"])(
    "that fails with %s at any operation leaves the original and nothing else",
    async (code) => {
      const goal = await repaired();
      for (let fails = 0; ; fails += 1) {
        using place = new Place();
        const path = place.put("s", encoding, original);
        const before = place.contents();
        let done = 0;
        const disk = watchedDisk(() => {
          done += 1;
          if (done === fails + 1) throw systemError(code);
        });
        const [outcome] = await outcomesOf([repairOn(place.root, disk)]);
        if (outcome === "ok") break;
        expect(outcome).toBe(code === "ENOSPC" ? "storage-full" : "storage-failed");
        // The last operation makes the new name durable: then the repair is done, but for a power cut.
        const expected = bytesOf(path).equals(goal.bytes) ? goal.contents : before;
        expect({ fails, contents: place.contents() }).toEqual({ fails, contents: expected });
      }
    },
  );

  test("loses nothing when the power is cut at any moment: the log is whole, and once it is cut all else lies beside it", async () => {
    const goal = await repaired();
    using place = new Place();
    place.put("s", encoding, original);
    const disk = new Disk(place.folder);
    for (const folder of ["root", "root/--p--", "root/--p--/s"])
      disk.add(join(place.folder, folder), new FolderNode());
    const node = new FileNode();
    node.durable = original;
    disk.add(place.log("s", encoding), node);
    for (const folder of ["", "root", "root/--p--", "root/--p--/s"])
      disk.syncFolder(join(place.folder, folder));
    const states = new Map<string, State>();
    const onStep = () => {
      for (const state of statesOf(disk, true)) states.set(keyOf(state), state);
    };
    await repairOn(place.root, new Recorder(disk, { onStep }));
    const folder = "root/--p--/s/";
    const name = `${folder}${LOG_NAMES[encoding]}`;
    let seen = 0;
    for (const { files } of states.values()) {
      const log = files.get(name);
      if (log?.equals(original) === true) continue;
      seen += 1;
      expect(log?.equals(goal.bytes)).toBe(true);
      expect(files.get(`${name}.backup-1`)?.equals(original)).toBe(true);
      expect(files.get(`${name}.quarantine-1`)?.toString()).toContain('{"type":"end"');
    }
    expect([states.size > 10, seen > 0]).toEqual([true, true]);
    for (const state of states.values()) {
      using other = new Place();
      lay(state, other.folder);
      await repairRoot(other.root);
      expect(other.contents()).toEqual(goal.contents);
    }
  });

  test("makes the backup a copy where the file system has no second names", async () => {
    const goal = await repaired();
    using place = new Place();
    place.put("s", encoding, original);
    const disk = watchedDisk((operation) => {
      if (operation === "link") throw systemError("EPERM");
    });
    await repairOn(place.root, disk);
    expect(place.contents()).toEqual(goal.contents);
  });

  test(
    "of a process that is killed for good is finished by the next one, which gets the lock at once",
    async () => {
      const goal = await repaired();
      let killed = 0;
      for (let dies = 0; ; dies += 5) {
        using place = new Place();
        const path = place.put("s", encoding, original);
        const child = Bun.spawn([process.execPath, CHILD, place.root, String(dies)], { stderr: "inherit" });
        await child.exited;
        if (child.signalCode === null) {
          expect(child.exitCode).toBe(0);
          break;
        }
        killed += 1;
        expect([original, goal.bytes].some((bytes) => bytes.equals(readFileSync(path)))).toBe(true);
        await repairRoot(place.root);
        expect({ dies, contents: place.contents() }).toEqual({ dies, contents: goal.contents });
      }
      expect(killed).toBeGreaterThan(2);
    },
    TIMEOUT,
  );
});

test.skipIf(!TinyDisk.isAllowed)(
  "on a full disk a repair fails, leaves the log as it was and nothing beside it, and works once there is space",
  async () => {
    using disk = TinyDisk.mount(4) ?? expect.unreachable();
    const place = new Place(disk.folder, "root");
    const random = seeded(1);
    const noise = Array.from({ length: 100 }, (_, k) =>
      titleText(k, randomBytes(12_000, random).toString("base64")),
    );
    const half = [headerText("s"), ...noise.slice(0, 50), "garbage", ...noise.slice(50)];
    const original = encodeBatch(half, "none");
    const path = place.put("s", "none", original);
    const before = place.contents();
    disk.fill(600_000);
    const [outcome] = await outcomesOf([repairRoot(place.root)]);
    expect(outcome).toBe("storage-full");
    const { ".holdfast.lock": _, ...after } = place.contents();
    expect(after).toEqual(before);
    expect(bytesOf(path).equals(original)).toBe(true);
    disk.free();
    await repairRoot(place.root);
    expect(await codesIn(place.root)).toEqual([]);
    expect((await ordinaryReading(place, "s")).records.length).toBe(50);
  },
);
