import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { outcomesOf, rejectionOf, title } from "../../contract/support.ts";
import { FaultyDisk } from "../../fixtures/faulty-disk.ts";
import { buildLog, titleText } from "./log-bytes.ts";
import { ENCODINGS, Place, readLog } from "./place.ts";

const header = (id: string, cwd = "/p") => ({ version: 0, id, createdAt: 1, cwd }) as const;
const isRoot = process.getuid?.() === 0;

describe.each(ENCODINGS)("the first append, encoding %s", (encoding) => {
  /** A root that is empty, one with the project, and one where the session's folder holds something else. */
  const ROOTS: ReadonlyArray<readonly [string, (place: Place) => void]> = [
    ["an empty root", () => {}],
    [
      "a project with another session",
      (place) => place.put("other", encoding, buildLog("other", encoding, []).bytes),
    ],
    [
      "a folder with something in it",
      (place) => place.file(join(dirname(place.log("s", encoding)), "notes"), "x"),
    ],
  ];

  test.each(ROOTS)(
    "that fails at any step leaves nothing behind, and works when it is tried again: %s",
    async (_, prepare) => {
      using place = new Place();
      prepare(place);
      const before = place.contents();
      const disk = new FaultyDisk();
      disk.piece = 60;
      await using store = place.openOn(disk, encoding);
      const session = await store.create(header("s"));
      let failed = 0;
      for (let step = 0; ; step += 1) {
        disk.watch((_operation, call) => call === step);
        const [outcome] = await outcomesOf([session.log.append(title(0))]);
        if (outcome === "ok") break;
        failed += 1;
        expect([outcome, session.log.length]).toEqual(["storage-failed", 0]);
        expect(place.contents()).toEqual(before);
        expect(await outcomesOf([store.stream("s"), store.readFrom("s", 0)])).toEqual(["not-found", "ok"]);
      }
      expect(failed).toBe(disk.calls.length);
      expect(failed).toBeGreaterThan(2);
      expect((await readLog(store, "s")).texts).toEqual([...session.log.texts()]);
    },
  );

  test("that finds no space leaves nothing behind, wherever it ends", async () => {
    using place = new Place();
    const disk = new FaultyDisk();
    await using store = place.openOn(disk, encoding);
    const session = await store.create(header("s"));
    for (let room = 0; ; room += 1) {
      disk.room = room;
      const [outcome] = await outcomesOf([session.log.append(title(0))]);
      if (outcome === "ok") break;
      expect([outcome, place.contents()]).toEqual(["storage-full", {}]);
    }
    disk.room = Number.POSITIVE_INFINITY;
    expect((await session.log.append(title(1))).seq).toBe(1);
    expect((await readLog(store, "s")).texts.length).toBe(2);
  });

  test("of an id whose folder no file system takes is refused when the session is made", async () => {
    using place = new Place();
    await using store = await place.open(encoding);
    for (const id of ["a".repeat(256), "é".repeat(60), "x".repeat(5_000)]) {
      expect(await rejectionOf(store.create(header(id)))).toMatchObject({ code: "storage-failed" });
      expect(place.contents()).toEqual({});
      expect(await outcomesOf([store.stream(id)])).toEqual(["not-found"]);
    }
    const session = await store.create(header("a".repeat(255)));
    await session.log.append(title(0));
    expect((await readLog(store, "a".repeat(255))).texts.length).toBe(1);
  });

  test.each([
    ["a file in the place of the project", (place: Place) => writeFileSync(join(place.root, "--p--"), "x")],
    [
      "a file in the place of the session's folder",
      (place: Place) => place.file(join(place.root, "--p--", "s"), "x"),
    ],
    [
      "a link to nothing in the place of the project",
      (place: Place) => symlinkSync("nowhere/at/all", join(place.root, "--p--")),
    ],
  ])("meets %s: a typed error, and all is left as it is", async (_, prepare) => {
    using place = new Place();
    prepare(place);
    const before = place.contents();
    await using store = await place.open(encoding);
    const [session, other] = await Promise.all([store.create(header("s")), store.create(header("t", "/q"))]);
    const outcomes = await outcomesOf([session.log.append(title(0)), other.log.append(title(0))]);
    expect(outcomes).toEqual(["storage-failed", "ok"]);
    expect(place.contents()).toMatchObject(before);
    expect(Object.keys(place.contents()).filter((name) => name.includes("draft"))).toEqual([]);
  });

  test.skipIf(isRoot)(
    "meets a root that may not be written (skipped for root, who may): nothing is left",
    async () => {
      using place = new Place();
      await using store = await place.open(encoding);
      chmodSync(place.root, 0o500);
      try {
        const session = await store.create(header("s"));
        expect(await outcomesOf([session.log.append(title(0))])).toEqual(["storage-failed"]);
        expect(place.contents()).toEqual({});
        chmodSync(place.root, 0o700);
        expect((await session.log.append(title(0))).seq).toBe(0);
      } finally {
        chmodSync(place.root, 0o700);
      }
    },
  );

  test("never writes over a log that appeared meanwhile, in whatever encoding or project", async () => {
    for (const found of ENCODINGS) {
      for (const project of ["--p--", "--elsewhere--"]) {
        using place = new Place();
        await using store = await place.open(encoding);
        const session = await store.create(header("s"));
        const { bytes } = buildLog("s", found, [[titleText(0)], [titleText(1)]]);
        const path = place.put("s", found, bytes, project);
        const before = place.contents();
        expect(await outcomesOf([session.log.append(title(0))])).toEqual(["already-exists"]);
        expect(readFileSync(path).equals(bytes)).toBe(true);
        expect(place.contents()).toEqual(before);
        await session[Symbol.asyncDispose]();
        expect((await store.load("s")).log.length).toBe(2);
      }
    }
  });
});

describe("drafts that a crash left", () => {
  const DRAFT = ".holdfast-draft-0f8fad5b-d9cb-469f-a165-70867728950e";

  test("are swept when the root is opened for writing, and not by who only reads", async () => {
    using place = new Place();
    place.put("s", "zstd", buildLog("s", "zstd", [[titleText(0)]]).bytes);
    const kept = [
      "--p--/s/.holdfast-draft",
      "--p--/s/x.holdfast-draft-0",
      "--p--/s/notes",
      ".holdfast-draft-0",
    ];
    const drafts = ["--p--/s", "--p--/never", "--q--/t"].map((folder) => join(folder, DRAFT));
    for (const name of [...kept, ...drafts]) place.file(join(place.root, name), "x");
    const before = place.contents();
    {
      await using store = await place.read();
      expect((await store.list()).items.map(({ id }) => id)).toEqual(["s"]);
      await store.inspect("s");
      expect(await outcomesOf([store.inspect("never")])).toEqual(["not-found"]);
    }
    expect(place.contents()).toEqual(before);
    await using store = await place.open();
    const after = Object.keys(place.contents());
    expect(drafts.filter((name) => after.includes(name))).toEqual([]);
    expect(kept.filter((name) => after.includes(name))).toEqual(kept);
    expect((await store.load("s")).log.length).toBe(1);
    const session = await store.create(header("never"));
    await session.log.append(title(0));
    expect((await readLog(store, "never")).texts.length).toBe(1);
  });

  test("are taken away as links, not what they point at", async () => {
    using place = new Place();
    const target = place.file(join(place.folder, "elsewhere"), "keep");
    mkdirSync(join(place.root, "--p--/s"), { recursive: true });
    symlinkSync(target, join(place.root, "--p--/s", DRAFT));
    await using _ = await place.open();
    expect(readFileSync(target, "utf8")).toBe("keep");
    expect(place.contents()).toEqual({ "--p--": "folder", "--p--/s": "folder" });
  });
});
