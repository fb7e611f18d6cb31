import { describe, expect, test } from "bun:test";
import { cpSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SessionPersistence } from "../../../src/store/persistence.ts";
import { outcomesOf, rejectionOf, title, titleAt } from "../../contract/support.ts";
import { buildLog, titleText } from "./log-bytes.ts";
import { Place, readLog } from "./place.ts";

const log = (id: string, encoding: "zstd" | "none") =>
  buildLog(id, encoding, [[titleText(0)], [titleText(1)]]).bytes;

/** Ways in which a root gets two files of one id; each gives their paths. */
const WAYS: ReadonlyArray<readonly [string, (place: Place, id: string) => string[]]> = [
  [
    "in two projects",
    (place, id) => ["--a--", "--b--"].map((project) => place.put(id, "zstd", log(id, "zstd"), project)),
  ],
  [
    "in two projects of which the names begin alike",
    (place, id) => ["--a--", "--a---b--"].map((project) => place.put(id, "none", log(id, "none"), project)),
  ],
  [
    "in both encodings in one folder",
    (place, id) => (["zstd", "none"] as const).map((encoding) => place.put(id, encoding, log(id, encoding))),
  ],
  [
    "in a folder and flat beside it",
    (place, id) => [
      place.put(id, "zstd", log(id, "zstd")),
      place.file(join(place.root, "--p--", `${id}.jsonl`), log(id, "none")),
    ],
  ],
  [
    "flat in both encodings",
    (place, id) => [
      place.file(join(place.root, "--p--", `${id}.jsonl`), log(id, "none")),
      place.file(join(place.root, "--p--", `${id}.jsonl.zstd`), log(id, "zstd")),
    ],
  ],
];

async function listed(store: SessionPersistence, id: string) {
  return (await store.list({ limit: 1_000 })).items.filter((item) => item.id === id);
}

describe.each(WAYS)("one id %s", (_, put) => {
  test("is listed with all paths, refused by all that reads or writes it, and harms no other session", async () => {
    using place = new Place();
    place.put("other", "zstd", log("other", "zstd"));
    const paths = put(place, "twice");
    const before = place.contents();
    for (const open of [() => place.read(), () => place.open()]) {
      await using store = await open();
      const items = await listed(store, "twice");
      expect(items.map(({ location }) => location).toSorted()).toEqual(paths.toSorted());
      for (const { problem, header } of items) {
        expect([problem?.state, header?.id]).toEqual(["duplicate", "twice"]);
        for (const path of paths) expect(problem?.reason).toContain(path);
      }
      for (const read of [store.inspect("twice"), store.readFrom("twice", 0), store.stream("twice")]) {
        const error = await rejectionOf(read);
        expect(error).toMatchObject({ code: "storage-failed", place: { sessionId: "twice" } });
        for (const path of paths) expect(error).toHaveProperty("message", expect.stringContaining(path));
      }
      expect((await listed(store, "other")).map(({ problem }) => problem)).toEqual([undefined]);
      expect((await readLog(store, "other")).texts.length).toBe(2);
    }
    await using store = await place.open();
    const writes = [
      store.load("twice"),
      store.prepare("twice"),
      store.append("twice", [titleAt(2)]),
      store.delete("twice"),
      store.create({ version: 0, id: "twice", createdAt: 1 }),
    ];
    expect(await outcomesOf(writes)).toEqual(writes.map(() => "storage-failed"));
    expect(place.contents()).toEqual(before);
  });

  test("is a session again once one of the files is gone", async () => {
    using place = new Place();
    const [kept = "", gone = ""] = put(place, "twice");
    await using store = await place.open();
    expect(await outcomesOf([store.inspect("twice")])).toEqual(["storage-failed"]);
    rmSync(gone);
    expect((await listed(store, "twice")).map(({ location, problem }) => [location, problem])).toEqual([
      [kept, undefined],
    ]);
    await store.append("twice", [titleAt(2)]);
    expect((await readLog(store, "twice")).texts.length).toBe(3);
  });
});

describe("ids that only look alike", () => {
  test.each([
    ["s", "s.jsonl"],
    ["s", "s.jsonl.zstd"],
    ["s.jsonl", "s.jsonl.zstd"],
    ["s", "S"],
    ["s", "s "],
    [".", ".."],
    ["session", "session.jsonl"],
  ])("%j and %j are two sessions, in whatever order they are made", async (a, b) => {
    for (const ids of [
      [a, b],
      [b, a],
    ]) {
      using place = new Place();
      {
        await using store = await place.open();
        for (const id of ids) {
          await using session = await store.create({ version: 0, id, createdAt: 1, cwd: "/p" });
          await session.log.appendAll([title(0)]);
        }
      }
      await using store = await place.open();
      const { items } = await store.list();
      expect(items.map(({ id, problem }) => [id, problem]).toSorted()).toEqual(
        ids.map((id) => [id, undefined]).toSorted(),
      );
      for (const id of ids) {
        await store.append(id, [titleAt(1)]);
        expect((await readLog(store, id)).texts.length).toBe(2);
      }
    }
  });

  test("a session is not found under the name of another one's folder", async () => {
    using place = new Place();
    place.put("s.jsonl", "zstd", log("s.jsonl", "zstd"));
    await using store = await place.open();
    expect(await outcomesOf([store.inspect("s"), store.readFrom("s", 0)])).toEqual([
      "not-found",
      "not-found",
    ]);
  });

  test("a folder that no id is encoded as is listed as what it is: nothing that can be read by its name", async () => {
    using place = new Place();
    // The header says that all is well; the folder of this id would be `odd~0020one`.
    place.put("odd one", "zstd", log("odd one", "zstd"));
    place.put("other", "zstd", log("other", "zstd"));
    await using store = await place.read();
    expect(await outcomesOf([store.inspect("odd one")])).toEqual(["not-found"]);
    expect((await listed(store, "odd one")).map(({ problem }) => problem?.state)).toEqual(["corrupt"]);
    expect((await listed(store, "other")).map(({ problem }) => problem)).toEqual([undefined]);
  });
});

describe("a copy that appears beside a session which is open", () => {
  const openBoth = (store: SessionPersistence) =>
    Promise.all(["s", "t"].map((id) => store.create({ version: 0, id, createdAt: 1, cwd: "/p" })));

  test("stops that session at most, not what is committed together with it", async () => {
    using place = new Place();
    await using store = await place.open();
    const sessions = await openBoth(store);
    await Promise.all(sessions.map(({ log: own }) => own.append(title(0))));
    cpSync(dirname(place.log("s", "zstd")), dirname(place.log("s", "zstd", "--copy--")), { recursive: true });
    const outcomes = await outcomesOf(sessions.map(({ log: own }) => own.append(title(1))));
    expect(["ok", "storage-failed"]).toContain(outcomes[0] ?? "");
    expect(outcomes[1]).toBe("ok");
    expect((await readLog(store, "t")).texts.length).toBe(2);
  });

  test("before its first append makes that one fail, and no other of the same commit", async () => {
    using place = new Place();
    await using store = await place.open();
    const sessions = await openBoth(store);
    for (const project of ["--a--", "--b--"]) place.put("s", "zstd", log("s", "zstd"), project);
    const outcomes = await outcomesOf(sessions.map(({ log: own }) => own.append(title(0))));
    expect(outcomes).toEqual(["storage-failed", "ok"]);
    expect((await readLog(store, "t")).texts.length).toBe(1);
    await sessions[1]?.log.append(title(1));
    expect((await readLog(store, "t")).texts.length).toBe(2);
  });
});
