import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { rejectionOf, settle, title, titleAt } from "../../contract/support.ts";
import { Child } from "../../fixtures/child.ts";
import { Place, put } from "./place.ts";

/* Other connections to the file of a running store: readers at any time, and somebody with a shell. */

const POLL = join(import.meta.dir, "..", "..", "fixtures", "poll-store.ts");
const MEBIBYTE = 1024 * 1024;

describe("readers", () => {
  test("eight of them during thousands of appends: all succeed, and see whole, growing logs", async () => {
    using place = new Place();
    await using store = await place.open(place.path, "worker");
    await using session = await store.create({ version: 0, id: "s", createdAt: 1 });
    await session.log.append(title(0));
    await using child = new Child(POLL, [place.path]);
    expect(await child.next()).toBe("reading");
    for (let round = 0; round < 150; round += 1) {
      await Promise.all(Array.from({ length: 20 }, (_, k) => session.log.append(title(k))));
    }
    await child.finish();
    const result = JSON.parse((await child.next()) ?? "");
    expect(result.errors).toEqual([]);
    expect(result.reads).toBeGreaterThan(8);
    expect(Math.max(...result.seen)).toBeGreaterThan(1);
    expect(session.log.length).toBe(3_001);
  }, 30_000);

  test("one that stays long does not leave a large write-ahead log behind", async () => {
    using place = new Place();
    await using store = await place.open();
    await put(store, "s", [title(0)]);
    using reader = new Database(place.path, { readonly: true });
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM records").get();
    const text = "x".repeat(MEBIBYTE);
    for (let seq = 1; seq <= 70; seq += 1) {
      await store.append("s", [{ ...titleAt(seq), data: text }]);
    }
    expect(statSync(`${place.path}-wal`).size).toBeGreaterThan(64 * MEBIBYTE);
    reader.run("COMMIT");
    for (let seq = 71; seq <= 73; seq += 1) await store.append("s", [titleAt(seq)]);
    expect(statSync(`${place.path}-wal`).size).toBeLessThanOrEqual(64 * MEBIBYTE);
    expect((await store.readFrom("s", 73)).length).toBe(1);
  }, 30_000);

  test("one that reads while the store closes does not keep it from closing, or from being whole", async () => {
    using place = new Place();
    const store = await place.open();
    await put(store, "s", [title(0)]);
    using reader = new Database(place.path, { readonly: true });
    expect(reader.query("SELECT count(*) AS n FROM records").get()).toEqual({ n: 1 });
    await store.close();
    expect(reader.query("SELECT count(*) AS n FROM records").get()).toEqual({ n: 1 });
    await using again = await place.open();
    await again.append("s", [titleAt(1)]);
    expect(reader.query("SELECT count(*) AS n FROM records").get()).toEqual({ n: 2 });
  });
});

describe("somebody with a shell", () => {
  const INSERT =
    "INSERT INTO records (id, count, type, time, body, sources, checksum) " +
    "SELECT (number << 32) + ?, 1, 'session/title', 0, ?, NULL, ? FROM sessions WHERE key = 's'";

  function insertBehind(place: Place, seq: number): void {
    const body = JSON.stringify(titleAt(seq));
    using database = place.raw();
    database.query(INSERT).run(seq, body, Bun.hash.crc32(body));
  }

  for (const thread of ["process", "worker"] as const) {
    test(`who adds an event makes the next append a conflict, writing in the ${thread}`, async () => {
      using place = new Place();
      await using store = await place.open(place.path, thread);
      await using session = await store.create({ version: 0, id: "s", createdAt: 1 });
      await session.log.append(title(0));
      insertBehind(place, 1);
      expect(await rejectionOf(session.log.append(title(2)))).toMatchObject({
        code: "sequence-conflict",
        sent: 1,
        next: 2,
      });
      await session[Symbol.asyncDispose]();
      await using next = await store.prepare("s");
      expect((await next.session.log.append(title(3))).seq).toBe(2);
      expect((await store.readFrom("s", 0)).map(({ data }) => data)).toEqual([{ n: 0 }, { n: 1 }, { n: 3 }]);
    });

    test(`who deletes a session makes the next append fail as not found, writing in the ${thread}`, async () => {
      using place = new Place();
      await using store = await place.open(place.path, thread);
      await using session = await store.create({ version: 0, id: "s", createdAt: 1 });
      await session.log.append(title(0));
      place.run("DELETE FROM records", "DELETE FROM sessions");
      expect(await rejectionOf(session.log.append(title(1)))).toMatchObject({ code: "not-found" });
      expect((await store.list()).items).toEqual([]);
    });
  }

  test("who holds the database for a moment only delays an append", async () => {
    using place = new Place();
    await using store = await place.open(place.path, "worker");
    await put(store, "s", [title(0)]);
    using other = place.raw();
    other.run("BEGIN IMMEDIATE");
    const append = store.append("s", [titleAt(1)]);
    await settle();
    expect(Bun.peek.status(append)).toBe("pending");
    other.run("ROLLBACK");
    await append;
    expect((await store.readFrom("s", 0)).length).toBe(2);
  });
});
