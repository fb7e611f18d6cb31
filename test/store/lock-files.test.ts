import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { acquireWriterLock } from "../../src/store/writer-lock.ts";
import { Place } from "./sqlite/place.ts";

describe("the files of the lock", () => {
  test.skipIf(process.platform === "win32")("a pipe in the place of the lock is refused at once", () => {
    using place = new Place();
    Bun.spawnSync(["mkfifo", `${place.path}.lock`]);
    expect(() => acquireWriterLock(place.path)).toThrow(
      expect.objectContaining({ code: "storage-failed", place: { path: `${place.path}.lock` } }),
    );
  });

  test("a link in the place of the lock is refused, and nothing is made where it points", () => {
    using place = new Place();
    symlinkSync(join(place.folder, "elsewhere"), `${place.path}.lock`);
    expect(() => acquireWriterLock(place.path)).toThrow(expect.objectContaining({ code: "storage-failed" }));
    expect(existsSync(join(place.folder, "elsewhere"))).toBe(false);
  });

  test("the owner cannot be written down: the lock is held all the same", () => {
    using place = new Place();
    mkdirSync(`${place.path}.owner`);
    using lock = acquireWriterLock(place.path);
    expect(lock.holder.pid).toBe(process.pid);
    expect(() => acquireWriterLock(place.path)).toThrow(expect.objectContaining({ code: "locked" }));
  });
});
