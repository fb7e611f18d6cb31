import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { outcomesOf } from "../../contract/support.ts";
import { Disk, FileNode, FolderNode } from "../../fixtures/power-cut/disk.ts";
import { lay } from "../../fixtures/power-cut/gather.ts";
import { Recorder } from "../../fixtures/power-cut/recorder.ts";
import { keyOf, type State, statesOf } from "../../fixtures/power-cut/states.ts";
import { TinyDisk } from "../../fixtures/tiny-disk.ts";
import { systemError, watchedDisk } from "../../fixtures/watched-disk.ts";
import { compactRoot, streamedLog } from "./compacting.ts";
import { titleText } from "./log-bytes.ts";
import { ENCODINGS, LOG_NAMES, Place, readLog } from "./place.ts";
import { bytesOf } from "./repaired.ts";

const CHILD = Bun.fileURLToPath(new URL("../../fixtures/compact-until-killed.ts", import.meta.url));
const TIMEOUT = 30_000;

describe.each(ENCODINGS)("a compaction, encoding %s", (encoding) => {
  const original = streamedLog(encoding, 40_000);

  /** What a compaction makes of the log. */
  const goalOf = async () => {
    using place = new Place();
    const path = place.put("s", encoding, original);
    expect(await compactRoot(place.root)).toMatchObject({ state: "compacted" });
    return { bytes: bytesOf(path), contents: place.contents() };
  };

  test("that dies at any operation leaves the old log or the new one; the next one finishes it and sweeps the rest", async () => {
    const goal = await goalOf();
    let whole = 0;
    for (let dies = 0; ; dies += 1) {
      using place = new Place();
      const path = place.put("s", encoding, original);
      let done = 0;
      const disk = watchedDisk(() => {
        done += 1;
        if (done > dies) throw systemError("EIO");
      });
      const [outcome] = await outcomesOf([compactRoot(place.root, "s", disk)]);
      const left = bytesOf(path);
      if (left.equals(goal.bytes)) whole += 1;
      else expect({ dies, same: left.equals(original) }).toEqual({ dies, same: true });
      await compactRoot(place.root);
      expect({ dies, contents: place.contents() }).toEqual({ dies, contents: goal.contents });
      if (outcome === "ok") break;
      expect(outcome).toBe("storage-failed");
      expect(dies).toBeLessThan(100);
    }
    // After the rename there is one more folder to be synced.
    expect(whole).toBe(2);
  });

  test.each(["ENOSPC", "EIO"])(
    "that fails with %s at any operation leaves the old log and nothing else",
    async (code) => {
      const goal = await goalOf();
      for (let fails = 0; ; fails += 1) {
        using place = new Place();
        const path = place.put("s", encoding, original);
        const before = place.contents();
        let done = 0;
        const disk = watchedDisk((operation) => {
          // What fails to close was synced before.
          if (operation === "close") return;
          done += 1;
          if (done === fails + 1) throw systemError(code);
        });
        const [outcome] = await outcomesOf([compactRoot(place.root, "s", disk)]);
        if (outcome === "ok") break;
        expect(outcome).toBe(code === "ENOSPC" ? "storage-full" : "storage-failed");
        // The last operation makes the new name durable: then it is done, but for a power cut.
        const expected = bytesOf(path).equals(goal.bytes) ? goal.contents : before;
        expect({ fails, contents: place.contents() }).toEqual({ fails, contents: expected });
      }
    },
  );

  test("loses nothing when the power is cut at any moment: the old log is there whole, or the new one", async () => {
    const goal = await goalOf();
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
    await compactRoot(place.root, "s", new Recorder(disk, { onStep }));
    const name = `root/--p--/s/${LOG_NAMES[encoding]}`;
    let done = 0;
    for (const { files } of states.values()) {
      const log = files.get(name) ?? Buffer.alloc(0);
      if (log.equals(goal.bytes)) done += 1;
      else expect(log.equals(original)).toBe(true);
    }
    expect([states.size > 5, done > 0]).toEqual([true, true]);
    for (const state of states.values()) {
      using other = new Place();
      lay(state, other.folder);
      await compactRoot(other.root);
      expect(other.contents()).toEqual(goal.contents);
    }
  });

  test(
    "of a process that is killed for good leaves a log that a Host goes on with, and nothing beside it",
    async () => {
      const goal = await goalOf();
      let killed = 0;
      for (let dies = 0; ; dies += 2) {
        using place = new Place();
        const path = place.put("s", encoding, original);
        const child = Bun.spawn([process.execPath, CHILD, place.root, String(dies)], { stderr: "inherit" });
        await child.exited;
        if (child.signalCode === null) {
          expect(child.exitCode).toBe(0);
          break;
        }
        killed += 1;
        expect([original, goal.bytes].some((bytes) => bytes.equals(bytesOf(path)))).toBe(true);
        await using store = await place.open();
        expect(readdirSync(dirname(path))).toEqual([LOG_NAMES[encoding]]);
        await using preparation = await store.prepare("s");
        await using session = preparation.publish();
        const seq = session.log.length;
        await session.log.append({ type: "session/title", data: { n: seq } });
        const { texts } = await readLog(store, "s");
        expect([texts.length, texts.at(-1)?.slice(0, 30)]).toEqual([seq + 1, titleText(seq).slice(0, 30)]);
      }
      expect(killed).toBeGreaterThan(2);
    },
    TIMEOUT,
  );
});

test.skipIf(!TinyDisk.isAllowed)(
  "on a full disk a compaction fails, leaves the log as it was and nothing beside it, and works once there is space",
  async () => {
    using disk = TinyDisk.mount(4) ?? expect.unreachable();
    const place = new Place(disk.folder, "root");
    const original = streamedLog("zstd", 2_000_000);
    const path = place.put("s", "zstd", original);
    const before = place.contents();
    disk.fill(200_000);
    expect(await outcomesOf([compactRoot(place.root)])).toEqual(["storage-full"]);
    expect(place.contents()).toEqual(before);
    expect(bytesOf(path).equals(original)).toBe(true);
    disk.free();
    expect(await compactRoot(place.root)).toMatchObject({ state: "compacted" });
  },
);
