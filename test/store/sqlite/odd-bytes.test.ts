import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { openSqliteReadOnly } from "../../../src/store/sqlite/read-only.ts";
import { drain } from "../../contract/streaming.ts";
import { title } from "../../contract/support.ts";
import { Place } from "./place.ts";

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
