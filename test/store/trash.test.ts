import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { SYSTEM } from "../../src/store/file-system.ts";
import { JsonlRemover } from "../../src/store/jsonl/remover.ts";
import { openStore, storePaths } from "../../src/store/open-store.ts";
import { PurgeNote } from "../../src/store/purge-note.ts";
import { openRemover, TrashFolder, trashOf } from "../../src/store/trash.ts";
import { findTrashed } from "../../src/store/trashed.ts";
import { rejectionOf } from "../contract/support.ts";
import { FEW_STORES, fewSessions, plantTurns } from "../fixtures/few-sessions.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

const clock = () => Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const LOG = "logs/--srv-x--/a/session.jsonl";

describe("the trash of a store", () => {
  test("belongs to the store, and lies beside it, whatever link leads there", async () => {
    await using folder = await TempFolder.create();
    mkdirSync(folder.at("real"));
    symlinkSync("real", folder.at("link"));
    const name = { kind: "jsonl", path: folder.at("link") } as const;
    expect(trashOf(name)).toEndWith("/real.trash");
    expect(storePaths(name)).toContain(trashOf(name));
    expect(storePaths({ ...name, kind: "sqlite" })).toContain(trashOf(name));
  });

  test("has a folder of its own for each command, also within one second", async () => {
    await using folder = await TempFolder.create();
    for (const name of ["20260102T030405Z", "20260102T030405Z-2", "20260102T030405Z-3"]) {
      const trash = new TrashFolder(folder.path, clock);
      expect(trash.path).toBe(folder.at(name));
      trash.make();
    }
  });
});

describe("what was deleted before", () => {
  test("is found in the trash by its id, in whatever form it lies there, the last one first", async () => {
    await using folder = await fewSessions(FEW_STORES[2], (store) => plantTurns(store, "a"));
    const name = { kind: "jsonl", path: folder.at("logs") } as const;
    const [first, last] = [
      folder.at("logs.trash/20250102T030405Z"),
      folder.at("logs.trash/20260102T030405Z"),
    ];
    for (const root of [first, last, folder.at("logs.trash/other")])
      cpSync(folder.at("logs"), root, { recursive: true });
    cpSync(folder.at(LOG), `${first}/--srv-x--/flat.jsonl`);
    const head = { session: "rows", source: "a.db", reason: { code: "damaged", message: "" }, cutAt: {} };
    const line = JSON.stringify({ type: "holdfast-quarantine", version: 1, ...head });
    await Bun.write(`${last}/session-1.quarantine-1`, `${line}\n`);
    await Bun.write(`${last}/session-2.quarantine-1`, "none\n");
    expect([...findTrashed(name, ["a", "flat", "rows", "b"])].sort()).toEqual([
      ["a", `${last}/--srv-x--/a`],
      ["flat", `${first}/--srv-x--/flat.jsonl`],
      ["rows", `${last}/session-1.quarantine-1`],
    ]);
    expect(findTrashed({ ...name, path: folder.at("none") }, ["a"]).size).toBe(0);
  });

  test("for good is noted until that is done, beside what was noted, where the trash can be written", async () => {
    await using folder = await TempFolder.create();
    const name = { kind: "sqlite", path: folder.at("a.db") } as const;
    await new PurgeNote(name).add(["a", "b"]);
    await new PurgeNote(name).add(["c"]);
    const note = new PurgeNote(name);
    expect(["a", "b", "c", "d"].map((id) => note.has(id))).toEqual([true, true, true, false]);
    await Bun.write(folder.at("a.db.trash/.purge.json.partial-1a2b"), "[");
    note.drop();
    note.drop();
    expect(existsSync(folder.at("a.db.trash"))).toBe(false);
    await Bun.write(folder.at("a.db.trash"), "a file");
    await note.add(["a"]);
    expect(new PurgeNote(name).has("a")).toBe(false);
  });
});

describe("removing a session of a root", () => {
  test("fails where the trash is on another file system, and where files of two projects have its id", async () => {
    await using folder = await fewSessions(FEW_STORES[2], (store) => plantTurns(store, "a"));
    const rename = () => {
      throw Object.assign(new Error("cross-device link"), { code: "EXDEV" });
    };
    const trash = new TrashFolder(folder.at("trash"), clock, { ...SYSTEM, rename });
    const remover = new JsonlRemover(folder.at("logs"), trash);
    expect(await rejectionOf(remover.trash("a"))).toMatchObject({
      code: "storage-failed",
      hint: expect.stringContaining("--purge"),
    });
    cpSync(folder.at("logs/--srv-x--"), folder.at("logs/--srv-y--"), { recursive: true });
    const before = await folderState(folder.at("logs"));
    for (const removal of [remover.trash("a"), remover.purge("a")])
      expect(await rejectionOf(removal)).toMatchObject({ code: "storage-failed" });
    expect(await rejectionOf(remover.trash("b"))).toMatchObject({ code: "not-found" });
    expect(await folderState(folder.at("logs"))).toEqual(before);
  });

  test("takes a log of a later format, and two logs in one folder, along", async () => {
    await using folder = await fewSessions(FEW_STORES[2], (store) => plantTurns(store, "a"));
    cpSync(folder.at(LOG), folder.at("logs/--srv-x--/a/session.v7.jsonl"));
    cpSync(folder.at(LOG), folder.at("logs/--srv-x--/a/session.jsonl.zstd"));
    cpSync(folder.at(LOG), folder.at("logs/--srv-x--/flat.jsonl"));
    const remover = new JsonlRemover(folder.at("logs"), new TrashFolder(folder.at("trash"), clock));
    const { path } = await remover.trash("a");
    expect(existsSync(`${path}/session.v7.jsonl`)).toBe(true);
    expect(existsSync(folder.at(LOG))).toBe(false);
    await remover.purge("flat");
    expect(await folderState(folder.at("logs"))).not.toContainEqual(expect.stringContaining("srv"));
  });
});

test("removing a session of a database keeps it where the trash cannot be written", async () => {
  await using folder = await fewSessions(FEW_STORES[0], (store) => plantTurns(store, "a"));
  await Bun.write(folder.at("a.db.trash"), "a file");
  const name = { kind: "sqlite", path: folder.at("a.db") } as const;
  await using store = await openStore(name, { clock, chunkWindowMs: 0, thread: "process" });
  await using remover = await openRemover(name, store, clock);
  expect(await rejectionOf(remover.trash("a"))).toMatchObject({ code: "storage-failed" });
  expect((await store.list()).items).toHaveLength(1);
});
