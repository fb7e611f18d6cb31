import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { hasRoom } from "../../src/store/room.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { TinyDisk } from "../fixtures/tiny-disk.ts";

test("a disk with space has room, and nothing of the trial is left, nor of one that was cut short", async () => {
  await using folder = await TempFolder.create();
  writeFileSync(folder.at("trial"), "left over");
  expect(await hasRoom(folder.path, folder.at("trial"))).toBe(true);
  expect(await readdir(folder.path)).toEqual([]);
});

test("a folder that is gone has none", async () => {
  await using folder = await TempFolder.create();
  expect(await hasRoom(folder.at("no"), folder.at("no", "trial"))).toBe(false);
});

describe.skipIf(!TinyDisk.isAllowed)(
  "a small disk (mounted for it; skipped where that is not allowed)",
  () => {
    test("has no room when it is full or nearly so, and the trial takes none of what is left", async () => {
      using disk = TinyDisk.mount();
      if (disk === undefined) throw new Error("a moment ago this was allowed");
      for (const spare of [0, 500_000]) {
        disk.fill(spare);
        const names = await readdir(disk.folder);
        expect(await hasRoom(disk.folder, `${disk.folder}/trial`)).toBe(false);
        expect(await readdir(disk.folder)).toEqual(names);
        disk.free();
        expect(await hasRoom(disk.folder, `${disk.folder}/trial`)).toBe(true);
      }
    });
  },
);
