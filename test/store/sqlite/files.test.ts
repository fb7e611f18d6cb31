import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { headerOf } from "../../contract/rig.ts";
import { rejectionOf, title, titleAt } from "../../contract/support.ts";
import { Place, put } from "./place.ts";

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

/** Runs `task` while new files would be open to everybody. */
async function withoutMask(task: () => Promise<void>): Promise<void> {
  const before = process.umask(0);
  try {
    await task();
  } finally {
    process.umask(before);
  }
}

describe("what counts as a fresh place", () => {
  test("nothing at all, with folders that do not exist yet", async () => {
    using place = new Place();
    const path = join(place.folder, "a", "b", "store.db");
    {
      await using store = await place.open(path);
      await put(store, "s", [title(0)]);
    }
    await using store = await place.open(path);
    expect((await store.inspect("s")).log.length).toBe(1);
  });

  test("a file of 0 bytes", async () => {
    using place = new Place();
    writeFileSync(place.path, "");
    await place.fill({ s: [title(0)] });
    await using store = await place.open();
    expect((await store.inspect("s")).log.length).toBe(1);
  });

  for (const [what, statements] of [
    ["an empty database", ["VACUUM"]],
    ["an empty database in WAL mode", ["PRAGMA journal_mode = WAL"]],
    ["a database whose tables were all dropped", ["CREATE TABLE t (a)", "DROP TABLE t"]],
  ] as const) {
    test(what, async () => {
      using place = new Place();
      place.run(...statements);
      expect(statSync(place.path).size).toBeGreaterThan(0);
      await place.fill({ s: [title(0)] });
      await using store = await place.open();
      expect((await store.inspect("s")).log.length).toBe(1);
    });
  }

  test("a link to a file that does not exist", async () => {
    using place = new Place();
    mkdirSync(join(place.folder, "real"));
    symlinkSync(join("real", "file.db"), place.path);
    await place.fill({ s: [title(0)] });
    expect(existsSync(join(place.folder, "real", "file.db"))).toBe(true);
    await using store = await place.open(join(place.folder, "real", "file.db"));
    expect((await store.inspect("s")).log.length).toBe(1);
  });

  test("opening a fresh place and closing it leaves an empty store", async () => {
    using place = new Place();
    await (await place.open()).close();
    await using store = await place.open();
    expect(await store.list()).toEqual({ items: [] });
    expect(await store.health()).toEqual({ backend: "sqlite", writable: true });
  });

  for (const journal of ["-wal", "-journal"]) {
    test(`not where a ${journal} lies without its database: it would be played into the new one`, async () => {
      using place = new Place();
      writeFileSync(`${place.path}${journal}`, "x".repeat(5_000));
      const error = await rejectionOf(place.open());
      expect(error).toMatchObject({ code: "corrupt", place: { path: `${place.path}${journal}` } });
      expect(existsSync(place.path)).toBe(false);
      expect(statSync(`${place.path}${journal}`).size).toBe(5_000);
    });
  }
});

describe("files", () => {
  test("are the user's alone, whatever the umask", async () => {
    using place = new Place();
    const folder = join(place.folder, "a", "b");
    await withoutMask(async () => {
      await using store = await place.open(join(folder, "store.db"), "worker");
      await put(store, "s", [title(0)]);
      const names = readdirSync(folder);
      expect(names).toContain("store.db-wal");
      for (const name of names) expect([name, modeOf(join(folder, name))]).toEqual([name, "600"]);
      expect([modeOf(folder), modeOf(join(folder, ".."))]).toEqual(["700", "700"]);
    });
  });

  test("a closed store is one file, and the name of its lock", async () => {
    for (const thread of ["worker", "process"] as const) {
      using place = new Place();
      const store = await place.open(place.path, thread);
      await put(store, "s", [title(0)]);
      await store.close();
      expect(readdirSync(place.folder).toSorted()).toEqual(["store.db", "store.db.lock"]);
    }
  });

  test("a copy of the closed file is the whole store", async () => {
    using place = new Place();
    using other = new Place();
    await place.fill({ s: [title(0), title(1)] });
    await Bun.write(other.path, Bun.file(place.path));
    await using store = await other.open();
    expect((await store.inspect("s")).log.length).toBe(2);
  });

  test("the journal mode is WAL and the tables are strict", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    using database = place.raw();
    expect(database.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    const strict = database.query("SELECT name FROM pragma_table_list WHERE strict ORDER BY name").all();
    expect(strict).toEqual([{ name: "records" }, { name: "sessions" }]);
    expect(database.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  });

  test("a mode that a foreign program changed is set again", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    place.run("PRAGMA journal_mode = DELETE");
    await place.fill({ t: [title(0)] });
    using database = place.raw();
    expect(database.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
  });

  test("the place of a session names the file", async () => {
    using place = new Place();
    await using store = await place.open();
    expect(store.locate(headerOf("my session"))).toContain(place.path);
    expect(store.locate(headerOf("my session"))).toContain("my session");
  });
});

const helper = Bun.which("setpriv");
const canDropRights = process.getuid?.() === 0 && helper !== null;

describe("without permission", () => {
  const open = join(import.meta.dir, "..", "..", "fixtures", "open-store.ts");

  /** Opens the store as a user without rights; what that process printed. */
  async function openAsNobody(path: string): Promise<unknown> {
    const rights = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    const child = Bun.spawn([helper ?? "", ...rights, process.execPath, open, path], {
      stdio: ["ignore", "pipe", "inherit"],
      cwd: "/",
    });
    return JSON.parse(await child.stdout.text());
  }

  for (const [what, folderMode, fileMode] of [
    ["to the folder", 0o700, 0o600],
    ["to the file", 0o755, 0o600],
    ["to write the file", 0o755, 0o644],
  ] as const) {
    test.skipIf(!canDropRights)(`${what}: storage-failed, and nothing changes`, async () => {
      using place = new Place();
      await place.fill({ s: [title(0)] });
      chmodSync(place.folder, folderMode);
      chmodSync(place.path, fileMode);
      const before = place.contents();
      expect(await openAsNobody(place.path)).toMatchObject({ code: "storage-failed" });
      expect(place.contents()).toEqual(before);
    });
  }

  test.skipIf(!canDropRights)("to make the store: storage-failed, and nothing is made", async () => {
    using place = new Place();
    chmodSync(place.folder, 0o755);
    expect(await openAsNobody(place.path)).toMatchObject({ code: "storage-failed" });
    expect(await openAsNobody(join(place.folder, "a", "store.db"))).toMatchObject({ code: "storage-failed" });
    expect(readdirSync(place.folder)).toEqual([]);
  });
});

describe("files that go away under the running store", () => {
  const cases = [
    ["the database is deleted", "rm", ""],
    ["the database is replaced", "mv", ""],
    ["the write-ahead log is deleted", "rm", "-wal"],
    ["the write-ahead log is replaced", "mv", "-wal"],
  ] as const;
  for (const thread of ["process", "worker"] as const) {
    for (const [what, command, suffix] of cases) {
      test(`${what}, writing in the ${thread}: the next append fails loudly, and health says so`, async () => {
        using place = new Place();
        const store = await place.open(place.path, thread);
        await put(store, "s", [title(0)]);
        const target = `${place.path}${suffix}`;
        const args = command === "rm" ? [target] : [`${target}.other`, target];
        await Bun.write(`${target}.other`, "another file");
        expect(Bun.spawnSync([command, ...args]).success).toBe(true);

        const refusal = { code: "storage-failed", place: { path: target } };
        expect(await store.health()).toEqual({
          backend: "sqlite",
          writable: false,
          problem: "storage-failed",
        });
        expect(await rejectionOf(store.append("s", [titleAt(1)]))).toMatchObject(refusal);
        expect(await rejectionOf(put(store, "t", [title(0)]))).toMatchObject(refusal);
        expect(await rejectionOf(store.delete("s"))).toMatchObject(refusal);
        expect(await store.health()).toMatchObject({ writable: false });
        await store.close();
      });
    }
  }
});
