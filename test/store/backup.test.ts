import { describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type BackupReport, backupStore } from "../../src/store/backup.ts";
import { parseStoreName } from "../../src/store/store-name.ts";
import { rejectionOf } from "../contract/support.ts";
import { turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { plant, recordsOfDrafts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { TinyDisk } from "../fixtures/tiny-disk.ts";

const KINDS = ["sqlite", "jsonl"] as const;

function backup(store: string, to: string, signal?: AbortSignal): Promise<BackupReport> {
  const options = { clock: () => 0, ...(signal === undefined ? {} : { signal }) };
  return backupStore(parseStoreName(store), to, options);
}

/** A store with so many sessions of one message each. */
function fill(store: string, sessions: number, text = "Hello"): Promise<void> {
  const records = recordsOfDrafts([turnStart(1), userMessage(text)]);
  return withStore(store, async (opened) => {
    for (let k = 0; k < sessions; k += 1) await plant(opened, `s${k}`, records);
  });
}

describe.each(KINDS)("a backup of a store: %s", (kind) => {
  test("never overwrites anything", async () => {
    await using folder = await TempFolder.create();
    const store = `${kind}:${folder.at("store")}`;
    await fill(store, 1);
    await backup(store, folder.at("copy"));
    const before = await folderState(folder.path);
    for (const to of ["copy", "store", "."]) {
      expect(await rejectionOf(backup(store, folder.at(to)))).toMatchObject({ code: "already-exists" });
    }
    expect(await folderState(folder.path)).toEqual(before);
  });

  test("is refused below a file, and where no path can lead", async () => {
    await using folder = await TempFolder.create();
    const store = `${kind}:${folder.at("store")}`;
    await fill(store, 1);
    await Bun.write(folder.at("file"), "");
    for (const to of ["file/copy", "x".repeat(5_000)]) {
      expect(await rejectionOf(backup(store, folder.at(to)))).toMatchObject({ code: "storage-failed" });
    }
  });

  test("of an empty store is an empty store, also under the longest name that there is", async () => {
    await using folder = await TempFolder.create();
    const store = `${kind}:${folder.at("store")}`;
    await fill(store, 0);
    // SQLite has files of its own beside a database, with longer names.
    const to = folder.at("x".repeat(kind === "sqlite" ? 247 : 255));
    expect(await backup(store, to)).toEqual({ sessions: 0, events: 0, faults: [] });
    expect(await backup(`${kind}:${to}`, folder.at("copy"))).toEqual({ sessions: 0, events: 0, faults: [] });
  });

  test("that is stopped leaves nothing", async () => {
    await using folder = await TempFolder.create();
    const store = `${kind}:${folder.at("store")}`;
    await fill(store, 3);
    const before = await folderState(folder.path);
    const reason = new Error("enough");
    expect(await rejectionOf(backup(store, folder.at("copy"), AbortSignal.abort(reason)))).toBe(reason);
    expect(await folderState(folder.path)).toEqual(before);
  });

  test.skipIf(!TinyDisk.isAllowed)(
    "on a disk without room leaves nothing, and names the backup",
    async () => {
      await using folder = await TempFolder.create();
      using disk = TinyDisk.mount();
      if (disk === undefined) throw new Error("a moment ago this was allowed");
      const store = `${kind}:${folder.at("store")}`;
      await fill(store, 8, Buffer.from(crypto.getRandomValues(new Uint8Array(40_000))).toString("base64"));
      disk.fill(100_000);
      const before = await readdir(disk.folder);
      const to = join(disk.folder, "copy");
      expect(await rejectionOf(backup(store, to))).toMatchObject({
        code: "storage-full",
        place: { path: to },
      });
      expect(await readdir(disk.folder)).toEqual(before);
    },
  );
});
