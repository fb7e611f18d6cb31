import { describe, expect, test } from "bun:test";
import { closeSync, mkdirSync, openSync, symlinkSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { rejectionOf } from "../../contract/support.ts";
import { Place } from "./place.ts";

const APPLICATION_ID = 0x486f6c64;

/** What lies at the path, how it gets there, and the code of the refusal. */
const FOREIGN: ReadonlyArray<readonly [string, (place: Place) => void | Promise<void>, string]> = [
  ["a text file", ({ path }) => writeFileSync(path, "hello\n".repeat(100)), "unsupported-format"],
  ["a short text file", ({ path }) => writeFileSync(path, "x"), "unsupported-format"],
  [
    "a file that only begins like a database",
    ({ path }) => writeFileSync(path, "SQLite format 3\0"),
    "unsupported-format",
  ],
  [
    "a database header with nothing behind it",
    ({ path }) =>
      writeFileSync(path, Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(200, 0xff)])),
    "unsupported-format",
  ],
  ["a folder", ({ path }) => mkdirSync(path), "storage-failed"],
  [
    "a link to a folder",
    ({ path, folder }) => {
      mkdirSync(join(folder, "d"));
      symlinkSync("d", path);
    },
    "storage-failed",
  ],
  ["a database with a table", (place) => place.run("CREATE TABLE t (a)"), "unsupported-format"],
  ["a database with a view", (place) => place.run("CREATE VIEW v AS SELECT 1"), "unsupported-format"],
  [
    "a database in WAL mode with a table",
    (place) => place.run("PRAGMA journal_mode = WAL", "CREATE TABLE t (a)"),
    "unsupported-format",
  ],
  [
    "an empty database of another application",
    (place) => place.run("PRAGMA application_id = 7"),
    "unsupported-format",
  ],
  [
    "a full database of another application",
    (place) => place.run("CREATE TABLE t (a)", "PRAGMA application_id = 7"),
    "unsupported-format",
  ],
  ["an empty database with a version", (place) => place.run("PRAGMA user_version = 1"), "unsupported-format"],
];

const ALTERED: ReadonlyArray<readonly [string, readonly string[], string]> = [
  ["a newer version", ["PRAGMA user_version = 4"], "unsupported-format"],
  ["another version than its tables", ["PRAGMA user_version = 3"], "corrupt"],
  ["a much newer version", ["PRAGMA user_version = 99"], "unsupported-format"],
  ["another application's id", ["PRAGMA application_id = 1"], "unsupported-format"],
  ["no records", ["DROP VIEW session_events", "DROP TABLE records"], "corrupt"],
  ["no view", ["DROP VIEW session_events"], "corrupt"],
  ["another view", ["DROP VIEW session_events", "CREATE VIEW session_events AS SELECT 1"], "corrupt"],
  ["one column more", ["ALTER TABLE sessions ADD COLUMN extra TEXT"], "corrupt"],
  ["a table where the view was", ["DROP VIEW session_events", "CREATE TABLE session_events (a)"], "corrupt"],
];

async function expectRefusal(place: Place, code: string): Promise<void> {
  const before = place.contents();
  const error = await rejectionOf(place.open());
  expect(error).toMatchObject({ code, place: { path: expect.stringContaining(place.folder) } });
  expect(place.contents()).toEqual(before);
}

describe("a path that is not a Holdfast store is refused, and every byte stays", () => {
  for (const [what, make, code] of FOREIGN) {
    test(what, async () => {
      using place = new Place();
      await make(place);
      await expectRefusal(place, code);
    });
  }

  test("a path below a file", async () => {
    using place = new Place();
    writeFileSync(place.path, "file");
    const before = place.contents();
    const error = await rejectionOf(place.open(join(place.path, "store.db")));
    expect(error).toMatchObject({ code: "storage-failed" });
    expect(place.contents()).toEqual(before);
  });

  test("a loop of links", async () => {
    using place = new Place();
    symlinkSync("store.db", place.path);
    expect(await rejectionOf(place.open())).toMatchObject({ code: "storage-failed" });
  });

  test("a database with an open journal of a crashed program is not rolled back", async () => {
    using place = new Place();
    place.run("CREATE TABLE t (a)");
    writeFileSync(`${place.path}-journal`, Buffer.from("d9d505f920a163d7", "hex"));
    await expectRefusal(place, "unsupported-format");
  });
});

describe("a Holdfast store of another shape is refused, and every byte stays", () => {
  for (const [what, statements, code] of ALTERED) {
    test(what, async () => {
      using place = new Place();
      await place.fill({ s: [{ type: "session/title", data: 1 }] });
      place.run(...statements);
      await expectRefusal(place, code);
    });
  }

  test("indexes that somebody added are fine", async () => {
    using place = new Place();
    await place.fill({ s: [{ type: "session/title", data: 1 }] });
    place.run("CREATE INDEX by_type ON records (type)");
    await using store = await place.open();
    expect((await store.readFrom("s", 0)).length).toBe(1);
  });

  test("a file cut short", async () => {
    using place = new Place();
    await place.fill({ s: [{ type: "session/title", data: "x".repeat(50_000) }] });
    truncateSync(place.path, 8_192);
    const before = place.contents();
    const error = await rejectionOf(
      (async () => {
        await using store = await place.open();
        await store.inspect("s");
      })(),
    );
    expect(error).toMatchObject({ code: "corrupt" });
    expect(place.contents()["store.db"]).toBe(before["store.db"] ?? "");
  });

  test("garbage pages", async () => {
    using place = new Place();
    await place.fill({ s: [{ type: "session/title", data: "x".repeat(50_000) }] });
    const file = openSync(place.path, "r+");
    writeSync(file, Buffer.alloc(4_096 * 3, 0xa5), 0, 4_096 * 3, 4_096);
    closeSync(file);
    const before = place.contents();
    const error = await rejectionOf(
      (async () => {
        await using store = await place.open();
        await store.inspect("s");
      })(),
    );
    expect(error).toMatchObject({ code: "corrupt" });
    expect(place.contents()["store.db"]).toBe(before["store.db"] ?? "");
  });

  test("the store says who it is", async () => {
    using place = new Place();
    await place.fill({ s: [{ type: "session/title", data: 1 }] });
    using database = place.raw();
    expect(database.query("PRAGMA application_id").get()).toEqual({ application_id: APPLICATION_ID });
    expect(database.query("PRAGMA user_version").get()).toEqual({ user_version: 2 });
  });
});
