import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EventDraft } from "../../../src/session/events.ts";
import { outcomesOf, title } from "../../contract/support.ts";
import { Place, put } from "./place.ts";

/** A file system of a few megabytes, mounted for one test; nothing when that is not allowed here. */
class TinyDisk implements Disposable {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static mount(): TinyDisk | undefined {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-tiny-"));
    const mount = Bun.which("mount");
    const args = ["-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", folder];
    if (mount !== null && Bun.spawnSync([mount, ...args]).success) return new TinyDisk(folder);
    rmSync(folder, { recursive: true });
    return undefined;
  }

  /** Takes all the space that is left, to the last block. */
  fill(): void {
    for (let block = 1; statfsSync(this.folder).bavail > 0; block += 1) {
      const { bavail, bsize } = statfsSync(this.folder);
      try {
        writeFileSync(join(this.folder, `ballast-${block}`), Buffer.alloc(bavail * bsize));
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
      }
    }
  }

  free(): void {
    Bun.spawnSync(["sh", "-c", `rm -f "${this.folder}"/ballast-*`]);
  }

  [Symbol.dispose](): void {
    // After a failed test the store may still be open on it; lazily, the mount goes away with its last user.
    if (!Bun.spawnSync(["umount", this.folder]).success) Bun.spawnSync(["umount", "-l", this.folder]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function large(n: number): EventDraft {
  return { type: "session/title", data: { n, text: "x".repeat(40_000) } };
}

const canMount = (() => {
  using disk = TinyDisk.mount();
  return disk !== undefined;
})();

describe.skipIf(!canMount)("a full disk", () => {
  for (const thread of ["process", "worker"] as const) {
    test(`writing in the ${thread}: appends fail as storage-full, reads go on, and freed space is enough`, async () => {
      using disk = TinyDisk.mount();
      if (disk === undefined) throw new Error("a moment ago this was allowed");
      const place = new Place(disk.folder);
      const store = await place.open(place.path, thread);
      await put(store, "old", [title(0)]);
      const session = await store.create({ version: 0, id: "s", createdAt: 1 });
      await session.log.appendAll([title(0), title(1)]);
      disk.fill();

      const revision = (await store.inspect("s")).revision;
      const failed = await outcomesOf([
        session.log.append(large(2)),
        session.log.append(large(3)),
        store.append("old", [{ ...large(1), seq: 1, time: 0 }]),
      ]);
      expect(failed).toEqual(Array<string>(3).fill("storage-full"));
      expect(session.log.length).toBe(2);
      expect(await store.health()).toEqual({ backend: "sqlite", writable: false, problem: "storage-full" });
      const created = await store.create({ version: 0, id: "new", createdAt: 1 });
      expect(await outcomesOf([created.log.append(large(0))])).toEqual(["storage-full"]);

      expect((await store.inspect("s")).revision).toBe(revision);
      expect((await store.readFrom("s", 0)).map(({ data }) => data)).toEqual([{ n: 0 }, { n: 1 }]);
      expect((await store.list()).items.map(({ id }) => id)).toEqual(["s", "old"]);

      disk.free();
      expect((await session.log.append(large(2))).seq).toBe(2);
      expect((await created.log.append(large(0))).seq).toBe(0);
      await store.append("old", [{ ...large(1), seq: 1, time: 0 }]);
      expect(await store.health()).toEqual({ backend: "sqlite", writable: true });
      await store.close();

      await using again = await place.open();
      expect([...(await again.inspect("s")).log].map(({ seq }) => seq)).toEqual([0, 1, 2]);
      expect((await again.inspect("old")).log.length).toBe(2);
      expect((await again.inspect("new")).log.length).toBe(1);
    });

    test(`writing in the ${thread}: a store closes on a full disk, and nothing acknowledged is lost`, async () => {
      using disk = TinyDisk.mount();
      if (disk === undefined) throw new Error("a moment ago this was allowed");
      const place = new Place(disk.folder);
      const store = await place.open(place.path, thread);
      const session = await store.create({ version: 0, id: "s", createdAt: 1 });
      let acknowledged = 0;
      for (let n = 0; n < 20; n += 1) {
        await session.log.append(large(n));
        acknowledged += 1;
      }
      disk.fill();
      await store.close();
      disk.free();
      await using again = await place.open();
      expect((await again.inspect("s")).log.length).toBe(acknowledged);
    });
  }

  test("a store that cannot be made leaves nothing behind", async () => {
    using disk = TinyDisk.mount();
    if (disk === undefined) throw new Error("a moment ago this was allowed");
    const place = new Place(disk.folder);
    disk.fill();
    const [outcome] = await outcomesOf([place.open()]);
    expect(["storage-full", "storage-failed"]).toContain(outcome ?? "");
    disk.free();
    await using store = await place.open();
    expect(await store.list()).toEqual({ items: [] });
  });
});
