import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { copyFileSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { examineSqlite } from "../../../src/store/sqlite/examine.ts";
import { SqliteWriter } from "../../../src/store/sqlite/writer.ts";
import { toEvents } from "../../fixtures/event-drafts.ts";
import { recordsOf } from "../../fixtures/logs.ts";
import { plant } from "../../fixtures/stored-sessions.ts";
import { streamedTurn } from "../../fixtures/streamed-log.ts";
import { compact } from "./compacting.ts";
import { errorsIn, examine, ordinaryContents, overwrite, PAGE, repair } from "./damaged.ts";
import { Place } from "./place.ts";

/** A store as the first version left it, before texts were quoted. */
const VERSION_1 = readFileSync(join(import.meta.dir, "../../fixtures/version-1.sql"), "utf8");
const WAL_HEADER = 32;
const FRAME = PAGE + 24;
const EVENTS = 23;

function oldStore(): Place {
  const place = new Place();
  place.run("PRAGMA journal_mode = WAL", VERSION_1);
  return place;
}

function versionOf({ path }: Place): unknown {
  using database = new Database(path);
  return Object.values(Object(database.query("PRAGMA user_version").get()))[0];
}

function inView(place: Place): unknown[] {
  using database = place.raw();
  return database.query("SELECT * FROM session_events ORDER BY seq").all();
}

function rowsOf(place: Place): unknown[] {
  using database = place.raw();
  return database.query("SELECT * FROM records WHERE session = 1 ORDER BY id").all();
}

describe("a store of version 1", () => {
  test("is read and checked as it is, and not one byte of it changes", async () => {
    using place = oldStore();
    const before = place.contents();
    expect((await ordinaryContents(place.path))["s"]).toHaveLength(EVENTS);
    expect(await errorsIn(place.path)).toEqual([]);
    expect((await examine(place.path, true)).contents["s"]).toHaveLength(EVENTS);
    expect(place.contents()).toEqual(before);
  });

  test("becomes one of version 2 when it is opened for writing, with every row as it was", async () => {
    using place = oldStore();
    const [rows, view, contents] = [rowsOf(place), inView(place), await ordinaryContents(place.path)];
    {
      await using store = await place.open();
      const turn = toEvents(
        streamedTurn([{ blocks: [{ kind: "text", text: "milk ".repeat(99), cuts: [9] }] }]),
      );
      await plant(store, "new", recordsOf(turn));
      await (await store.prepare("s")).publish()[Symbol.asyncDispose]();
    }
    expect(versionOf(place)).toBe(2);
    expect(rowsOf(place)).toEqual(rows);
    expect(await ordinaryContents(place.path)).toMatchObject(contents);
    using database = place.raw();
    const ofOld = "SELECT * FROM session_events WHERE session_id = 's' ORDER BY seq";
    expect(database.query(ofOld).all()).toEqual(view);
    const quoting = "SELECT count(*) AS rows FROM records WHERE sources LIKE '%quoted%'";
    expect(database.query(quoting).get()).toEqual({ rows: 2 });
    expect(await errorsIn(place.path)).toEqual([]);
  });

  test("becomes one of version 3 when it is compacted, and one of version 2 when it is expanded", async () => {
    using place = oldStore();
    const contents = await ordinaryContents(place.path);
    for (const [how, version] of [
      ["compact", 3],
      ["expand", 2],
    ] as const) {
      await compact(place, how, { leastGain: Number.NEGATIVE_INFINITY });
      expect(versionOf(place)).toBe(version);
      expect(await ordinaryContents(place.path)).toEqual(contents);
      expect(await errorsIn(place.path)).toEqual([]);
    }
    expect(inView(place)).toHaveLength(EVENTS);
  });

  test("is one of either version wherever it is cut off on the way", async () => {
    using place = oldStore();
    const contents = await ordinaryContents(place.path);
    const writer = new SqliteWriter(place.path);
    const versions = new Set<unknown>();
    const frames = (readFileSync(`${place.path}-wal`).length - WAL_HEADER) / FRAME;
    expect(frames).toBeGreaterThan(2);
    for (let kept = 0; kept <= frames; kept += 1) {
      using copy = new Place();
      for (const suffix of ["", "-wal"]) copyFileSync(place.path + suffix, copy.path + suffix);
      truncateSync(`${copy.path}-wal`, WAL_HEADER + kept * FRAME);
      expect(await ordinaryContents(copy.path)).toEqual(contents);
      versions.add(versionOf(copy));
      await using store = await copy.open();
      expect(await store.readFrom("s", 0)).toHaveLength(EVENTS);
    }
    writer.close();
    expect([...versions]).toEqual([1, 2]);
  });

  test("keeps its version when a session is repaired, and gets the new one when it is built anew", async () => {
    using place = oldStore();
    place.run("UPDATE records SET checksum = 1 WHERE seq = 18");
    expect((await repair(place.path)).steps).toMatchObject([{ kind: "session", keptEvents: 18 }]);
    expect(versionOf(place)).toBe(1);
    expect(await errorsIn(place.path)).toEqual([]);
    using broken = oldStore();
    broken.run("PRAGMA wal_checkpoint(TRUNCATE)");
    overwrite(broken.path, (Number(rootOf(broken)) - 1) * PAGE + 3, Buffer.of(0xff, 0xff));
    expect((await repair(broken.path)).steps).toMatchObject([{ kind: "store" }]);
    expect(versionOf(broken)).toBe(2);
    await using found = await examineSqlite(broken.path);
    expect([...found.structure()]).toEqual([]);
  });
});

function rootOf(place: Place): unknown {
  using database = place.raw();
  const sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'records'";
  return Object.values(Object(database.query(sql).get()))[0];
}
