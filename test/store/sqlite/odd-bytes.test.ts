import { describe, expect, test } from "bun:test";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { openSqliteReadOnly } from "../../../src/store/sqlite/read-only.ts";
import { drain } from "../../contract/streaming.ts";
import { outcomesOf, title, titleAt } from "../../contract/support.ts";
import { Place, put } from "./place.ts";

const ROWS = 60;
const PAGE = 4_096;

function openReading(path: string) {
  return openSqliteReadOnly({ path, clock: () => 0 });
}

describe("reading a database of which SQLite cannot read a part", () => {
  test("gives out all rows before that part, and then the error", async () => {
    using place = new Place();
    const long = "x".repeat(300);
    await place.fill({
      s: Array.from({ length: ROWS }, (_, k) => ({ type: "session/title" as const, data: { k, long } })),
    });
    const bytes = readFileSync(place.path);
    const row = bytes.indexOf(`{"k":${ROWS / 2},`);
    bytes.fill(0, row - (row % PAGE), row - (row % PAGE) + PAGE);
    writeFileSync(place.path, bytes);
    await using store = await openReading(place.path);
    const { records, fault } = await drain(await store.stream("s"));
    expect(records.length).toBeGreaterThan(ROWS / 4);
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, k) => k));
    expect(fault).toMatchObject({ code: "corrupt", place: { path: place.path, sessionId: "s" } });
  });
});

describe("reading a database with a journal beside it that is over", () => {
  test("leaves everything as it is and makes no file", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    writeFileSync(`${place.path}-journal`, Buffer.alloc(600));
    const before = place.contents();
    {
      await using store = await openReading(place.path);
      expect((await store.inspect("s")).log.length).toBe(1);
    }
    expect(place.contents()).toEqual(before);
  });
});

describe("writing to a database with a trigger that drops rows", () => {
  test("fails: nothing is acknowledged that is not there", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    place.run("CREATE TRIGGER no_rows BEFORE INSERT ON records BEGIN SELECT raise(IGNORE); END");
    await using store = await place.open();
    expect(await outcomesOf([store.append("s", [titleAt(1)])])).toEqual(["storage-failed"]);
    expect((await store.inspect("s")).log.length).toBe(1);
    place.run("DROP TRIGGER no_rows");
    expect(await outcomesOf([store.append("s", [titleAt(1)])])).toEqual(["ok"]);
    expect((await store.load("s")).log.length).toBe(2);
  });
});

describe("reading a database with a log beside it of which the header is damaged", () => {
  test("takes no time, whatever the log's index says, and changes nothing", async () => {
    using place = new Place();
    using other = new Place();
    {
      await using store = await place.open();
      await put(store, "s", [title(0)]);
      for (const suffix of ["", "-wal", "-shm"]) copyFileSync(place.path + suffix, other.path + suffix);
    }
    const log = readFileSync(`${other.path}-wal`);
    log.writeUInt8((log[16] ?? 0) ^ 1, 16);
    writeFileSync(`${other.path}-wal`, log.subarray(0, 100));
    writeFileSync(`${other.path}-shm`, Buffer.alloc(32_768));
    const before = other.contents();
    await using store = await openReading(other.path);
    expect((await store.list()).items).toEqual([]);
    expect(other.contents()).toEqual(before);
  }, 5_000);
});
