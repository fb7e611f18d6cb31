import { describe, expect, test } from "bun:test";
import { existsSync, linkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { rejectionOf, title } from "../../contract/support.ts";
import { Place } from "./place.ts";

describe("a database file with a second name", () => {
  test("is refused, since each name would have a lock and a log of its own", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    const second = join(place.folder, "second.db");
    linkSync(place.path, second);
    for (const path of [place.path, second]) {
      expect(await rejectionOf(place.open(path))).toMatchObject({ code: "storage-failed", place: { path } });
    }
    rmSync(second);
    await using store = await place.open();
    expect((await store.inspect("s")).log.length).toBe(1);
  });

  test("is opened where that name is what a crash left of the making of the store", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    linkSync(place.path, `${place.path}.creating`);
    await using store = await place.open();
    expect((await store.inspect("s")).log.length).toBe(1);
    expect(existsSync(`${place.path}.creating`)).toBe(false);
  });
});

test("the index of the write-ahead log is missed when it is deleted under a running store", async () => {
  using place = new Place();
  await using store = await place.open();
  await using session = await store.create({ version: 0, id: "s", createdAt: 0 });
  await session.log.append({ type: "session/title", data: { title: "one" } });
  rmSync(`${place.path}-shm`);
  const failure = await rejectionOf(session.log.append({ type: "session/title", data: { title: "two" } }));
  expect(failure).toMatchObject({ code: "storage-failed" });
  expect(await store.health()).toMatchObject({ writable: false, problem: "storage-failed" });
});

test("a store that somebody else wrote into says that it takes no writes", async () => {
  using place = new Place();
  await using store = await place.open();
  await using session = await store.create({ version: 0, id: "s", createdAt: 0 });
  await session.log.append({ type: "session/title", data: { title: "one" } });
  place.run(
    "INSERT INTO records (id, count, type, time, body, checksum) SELECT id + 1, count, type, time, body, checksum FROM records",
  );
  const failure = await rejectionOf(session.log.append({ type: "session/title", data: { title: "two" } }));
  expect(failure).toMatchObject({ code: "sequence-conflict" });
  expect(await store.health()).toMatchObject({ writable: false, problem: "sequence-conflict" });
});
