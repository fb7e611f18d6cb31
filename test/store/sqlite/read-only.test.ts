import type { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { SessionPersistence } from "../../../src/store/persistence.ts";
import { QuietAccess } from "../../../src/store/sqlite/quiet-access.ts";
import { openSqliteReadOnly } from "../../../src/store/sqlite/read-only.ts";
import { rejectionOf, title, titleAt } from "../../contract/support.ts";
import { DrivenStore } from "../../fixtures/driven-store.ts";
import { Place, put } from "./place.ts";

function openReading(path: string): Promise<SessionPersistence> {
  return openSqliteReadOnly({ path, clock: () => 0 });
}

async function lengthOf(store: SessionPersistence, id = "s"): Promise<number> {
  return (await store.inspect(id)).log.length;
}

/** Reads a store in every way there is. */
async function readAll(store: SessionPersistence): Promise<void> {
  await store.list();
  await store.listSnapshots();
  await store.inspect("s");
  await store.readFrom("s", 1);
  for await (const _ of (await store.stream("s")).pages);
}

describe("reading a store that nobody has open", () => {
  test("leaves every file as it is and makes none, meanwhile and afterwards", async () => {
    using place = new Place();
    await place.fill({ s: [title(0), title(1)], t: [title(0)] });
    const before = place.contents();
    const store = await openReading(place.path);
    await readAll(store);
    expect(place.contents()).toEqual(before);
    expect(await lengthOf(store)).toBe(2);
    await store.close();
    expect(place.contents()).toEqual(before);
  });

  test("works where the user may write neither file nor folder", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    Bun.spawnSync(["chmod", "-R", "a-w", place.folder]);
    await using store = await openReading(place.path);
    expect(await lengthOf(store)).toBe(1);
    Bun.spawnSync(["chmod", "-R", "u+w", place.folder]);
  });

  test("does not keep anybody from opening it for writing", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    await using store = await openReading(place.path);
    await using driven = await DrivenStore.open(place.path);
    await driven.run("append", "s", 1);
    expect(await lengthOf(store)).toBe(2);
  });
});

describe("reading a store that another process writes", () => {
  test("shows each commit from the moment it is acknowledged", async () => {
    using place = new Place();
    await using driven = await DrivenStore.open(place.path);
    await driven.run("put", "s", 1);
    await using store = await openReading(place.path);
    for (let seq = 1; seq <= 5; seq += 1) {
      await driven.run("append", "s", seq);
      expect(await lengthOf(store)).toBe(seq + 1);
    }
  });

  test("goes on when that process begins and ends meanwhile", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    await using store = await openReading(place.path);
    for (let seq = 1; seq <= 3; seq += 1) {
      expect(await lengthOf(store)).toBe(seq);
      await using driven = await DrivenStore.open(place.path);
      await driven.run("append", "s", seq);
      if (seq === 2) expect(await lengthOf(store)).toBe(3);
      await driven.run("close");
    }
    expect(await lengthOf(store)).toBe(4);
  });

  test("is told that a session was deleted in the middle of a stream, which would look as if it ended there", async () => {
    using place = new Place();
    await place.fill({ s: Array.from({ length: 600 }, (_, k) => title(k)) });
    await using store = await openReading(place.path);
    const pages = (await store.stream("s")).pages[Symbol.asyncIterator]();
    expect((await pages.next()).value).toHaveLength(256);
    await using driven = await DrivenStore.open(place.path);
    await driven.run("delete", "s");
    const error = await rejectionOf(pages.next());
    expect(error).toMatchObject({ code: "not-found", place: { sessionId: "s" } });
    expect(String(error)).toContain("was deleted while it was read");
    expect(await rejectionOf(store.inspect("s"))).toMatchObject({ code: "not-found" });
  });
});

describe("a store that a killed process left, with commits in its log", () => {
  async function killed(): Promise<Place> {
    const place = new Place();
    await using driven = await DrivenStore.open(place.path);
    await driven.run("put", "s", 3);
    await driven.kill();
    expect(existsSync(`${place.path}-wal`)).toBe(true);
    return place;
  }

  test("is read whole, and database and log stay as they are", async () => {
    using place = await killed();
    const before = place.contents();
    await using store = await openReading(place.path);
    await readAll(store);
    expect(await lengthOf(store)).toBe(3);
    await store.close();
    const { "store.db-shm": _, ...after } = place.contents();
    expect(after).toEqual(
      Object.fromEntries(Object.entries(before).filter(([name]) => name !== "store.db-shm")),
    );
  });

  test("is read at once where the log is cut anywhere, to its header alone as well, and nothing changes", async () => {
    using place = await killed();
    const log = readFileSync(`${place.path}-wal`);
    for (const size of [0, 1, 24, 31, 32, 33, 56, 4_151, 4_152, 4_153]) {
      writeFileSync(`${place.path}-wal`, log.subarray(0, size));
      const before = place.contents();
      const store = await openReading(place.path);
      expect((await store.list()).items).toEqual([]);
      await store.close();
      expect({ size, ...place.contents() }).toEqual({ size, ...before });
    }
  });

  test.skipIf(process.platform === "win32")(
    "is read without its index, which is not made either",
    async () => {
      using place = await killed();
      const copy = join(place.folder, "copy");
      mkdirSync(copy);
      for (const suffix of ["", "-wal"]) copyFileSync(place.path + suffix, join(copy, `store.db${suffix}`));
      const before = place.contents();
      const store = await openReading(join(copy, "store.db"));
      await readAll(store);
      expect(await lengthOf(store)).toBe(3);
      expect(place.contents()).toEqual(before);
      await store.close();
      expect(place.contents()).toEqual(before);
    },
  );

  test.skipIf(process.platform === "win32")("is read on when a process takes it up again", async () => {
    using place = await killed();
    rmSync(`${place.path}-shm`);
    await using store = await openReading(place.path);
    expect(await lengthOf(store)).toBe(3);
    await using driven = await DrivenStore.open(place.path);
    await driven.run("append", "s", 3);
    expect(await lengthOf(store)).toBe(4);
    await driven.run("close");
    expect(await lengthOf(store)).toBe(4);
  });
});

describe("what is read counts only if nothing changed meanwhile", () => {
  const COUNT = "SELECT count(*) AS n FROM sessions";
  const count = (database: Database) => database.query<{ n: number }, []>(COUNT).get()?.n;

  test("a task is done again on the state after a change", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    using access = new QuietAccess(place.path);
    let runs = 0;
    const seen = access.read((database) => {
      runs += 1;
      const before = count(database);
      if (runs === 1) place.run("INSERT INTO sessions (key, header, checksum) VALUES ('t', '', 0)");
      return before;
    });
    expect({ seen, runs }).toEqual({ seen: 2, runs: 2 });
  });

  test("an error that a change brought about is none", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    using access = new QuietAccess(place.path);
    let runs = 0;
    const seen = access.read((database) => {
      runs += 1;
      if (runs > 1) return count(database);
      place.run("INSERT INTO sessions (key, header, checksum) VALUES ('t', '', 0)");
      throw new Error("a page was half written");
    });
    expect(seen).toBe(2);
    expect(() =>
      access.read(() => {
        throw new Error("of its own");
      }),
    ).toThrow("of its own");
  });

  test("a file that changes with every task is read all the same", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    using access = new QuietAccess(place.path);
    let runs = 0;
    access.read((database) => {
      runs += 1;
      place.run(`INSERT INTO sessions (key, header, checksum) VALUES ('t${runs}', '', 0)`);
      return count(database);
    });
    expect(runs).toBeLessThan(20);
  });

  test("a store that is put in the place of another is read, and one that is taken away is missed", async () => {
    using place = new Place();
    using other = new Place();
    await place.fill({ s: [title(0)] });
    await other.fill({ s: [title(0), title(1)] });
    const store = await openReading(place.path);
    expect(await lengthOf(store)).toBe(1);
    renameSync(other.path, place.path);
    expect(await lengthOf(store)).toBe(2);
    rmSync(place.path);
    expect(await rejectionOf(store.list())).toMatchObject({ code: "not-found", place: { path: place.path } });
    expect(await rejectionOf(store.list())).toMatchObject({ code: "not-found" });
    await store.close();
    expect(await rejectionOf(store.list())).toMatchObject({ code: "closed" });
  });
});

describe("what is no store", () => {
  test("nothing at all: not found, and neither file nor folder is made", async () => {
    using place = new Place();
    for (const path of [place.path, join(place.folder, "a", "b", "store.db")]) {
      const error = await rejectionOf(openReading(path));
      expect(error).toMatchObject({ code: "not-found", place: { path } });
    }
    expect(readdirSync(place.folder)).toEqual([]);
  });

  const FOREIGN: ReadonlyArray<readonly [string, string, (place: Place) => void]> = [
    ["an empty file", "unsupported-format", ({ path }) => writeFileSync(path, "")],
    ["an empty database", "unsupported-format", (place) => place.run("VACUUM")],
    [
      "a text file",
      "unsupported-format",
      ({ path }) => writeFileSync(path, "Remember the milk.\n".repeat(99)),
    ],
    ["somebody's database", "unsupported-format", (place) => place.run("CREATE TABLE notes (text TEXT)")],
    [
      "another application's database",
      "unsupported-format",
      (place) => place.run("PRAGMA application_id = 42", "CREATE TABLE notes (text TEXT)"),
    ],
    ["a folder", "storage-failed", ({ path }) => mkdirSync(path)],
  ];
  test.each(FOREIGN)("%s is refused and left as it is", async (_, code, make) => {
    using place = new Place();
    make(place);
    const before = place.contents();
    expect(await rejectionOf(openReading(place.path))).toMatchObject({ code, place: { path: place.path } });
    expect(place.contents()).toEqual(before);
  });

  test.each([
    ["a newer schema", "unsupported-format", "PRAGMA user_version = 4"],
    ["a table of another shape", "corrupt", "ALTER TABLE sessions ADD COLUMN extra TEXT"],
  ])("a store with %s is refused and left as it is", async (_, code, sql) => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    place.run(sql);
    const before = place.contents();
    expect(await rejectionOf(openReading(place.path))).toMatchObject({ code });
    expect(place.contents()).toEqual(before);
  });
});

describe("what would write", () => {
  test("is refused with a typed error, and nothing changes", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)], open: [{ type: "turn/start", data: { turn: 1 } }] });
    const before = place.contents();
    await using store = await openReading(place.path);
    const refusal = { code: "storage-failed", message: expect.stringContaining("reading only") };
    expect(await rejectionOf(store.append("s", [titleAt(1)]))).toMatchObject(refusal);
    expect(await rejectionOf(put(store, "t", [title(0)]))).toMatchObject(refusal);
    expect(await rejectionOf(store.delete("s"))).toMatchObject(refusal);
    expect(await rejectionOf(store.load("open"))).toMatchObject(refusal);
    expect(await rejectionOf(store.prepare("open"))).toMatchObject(refusal);
    const { headerText } = await store.stream("s");
    const records = [{ seq: 1, count: 1, type: "session/title", time: 0, text: JSON.stringify(titleAt(1)) }];
    expect(await rejectionOf(store.importRecords(headerText, records))).toMatchObject(refusal);
    expect(await store.health()).toMatchObject({ writable: false });
    expect(place.contents()).toEqual(before);
  });

  test("a store that this process writes is not opened a second time: closing it would free the lock", async () => {
    using place = new Place();
    await using _ = await place.open();
    expect(await rejectionOf(openReading(place.path))).toMatchObject({ code: "storage-failed" });
  });
});
