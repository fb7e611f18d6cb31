import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { title } from "../../contract/support.ts";
import { Contender } from "../../fixtures/contender.ts";
import { plant, recordsOfDrafts, withStore } from "../../fixtures/stored-sessions.ts";
import { TempFolder } from "../../fixtures/temp-folder.ts";
import { flip } from "../sqlite/damaged.ts";
import { HIDING, left } from "../sqlite/left-log.ts";
import { Place, put } from "../sqlite/place.ts";
import { codesOf, examine, timesBelow } from "./examining.ts";

describe("a database", () => {
  test("that is sound: its sizes, its settings, and how long a sync takes", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    const health = await examine(place.path);
    expect(health).toMatchObject({
      store: { kind: "sqlite", path: place.path, state: "store" },
      lock: { state: "free" },
      durability: { journalMode: "wal", synchronous: "full", tried: true },
      database: {
        bytes: statSync(place.path).size,
        walBytes: 0,
        journalMode: "wal",
        pageSize: 4096,
        applicationId: 0x486f6c64,
        schemaVersion: 2,
      },
      fileSystem: { folder: place.folder, readOnly: false },
    });
    expect(health.sync?.count).toBe(20);
    expect(health.sync?.max).toBeGreaterThanOrEqual(health.sync?.p50 ?? Infinity);
    expect(await codesOf(place.path)).toEqual([]);
    expect(readdirSync(place.folder).toSorted()).toEqual(["store.db", "store.db.lock"]);
  });

  test("of a process that runs, and of one that was killed: no byte and no time changes", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    await using holder = await Contender.start();
    await holder.open(place.path);
    const states = [];
    for (const end of [() => {}, () => holder.kill()]) {
      await end();
      const before = timesBelow(place.folder);
      states.push(await examine(place.path, { mayWrite: false }));
      expect(timesBelow(place.folder)).toEqual(before);
      // The measure changes the time of the folder, and nothing else.
      await examine(place.path);
      expect(timesBelow(place.folder).slice(1)).toEqual(before.slice(1));
    }
    const [running, killed] = states;
    expect(running).toMatchObject({ lock: { state: "held", holder: { pid: holder.pid } } });
    expect(running?.findings.map(({ code }) => code)).toContain("in-use");
    expect(killed?.lock).toEqual({ state: "free" });
  });

  test("whose log was left, or has grown: the next Host takes it in", async () => {
    using place = new Place();
    await using store = await place.open();
    await put(store, "s", [title(0)]);
    const path = join(place.folder, "left.db");
    for (const suffix of ["", "-wal"]) Bun.spawnSync(["cp", "-p", place.path + suffix, path + suffix]);
    expect(await codesOf(path)).toEqual(["wal-left"]);
    truncateSync(`${path}-wal`, 64 * 1024 * 1024 + 1);
    expect(await codesOf(path)).toEqual(["wal-large", "wal-left"]);
  });

  test("whose log is damaged, with commits behind the damage: that is a problem, and no note says that nothing is lost", async () => {
    using place = await left();
    flip(`${place.path}-wal`, HIDING);
    const { findings } = await examine(place.path);
    expect(findings[0]).toMatchObject({ level: "problem", code: "corrupt" });
    expect(findings[0]?.hint).toContain("sessions repair");
    expect(findings.map(({ code }) => code)).not.toContain("wal-left");
  });

  test("of this very process: it stays locked and usable", async () => {
    using place = new Place();
    await using store = await place.open();
    expect(await examine(place.path)).toMatchObject({
      store: { state: "store" },
      lock: { state: "held", holder: { pid: process.pid } },
    });
    await using other = await Contender.start();
    expect((await other.open(place.path)).code).toBe("locked");
    expect((await store.health()).writable).toBeTrue();
  });

  test.each<readonly [string, (place: Place) => void, readonly string[]]>([
    ["that others may read", ({ path }) => chmodSync(path, 0o644), ["readable-by-others"]],
    [
      "that others may write",
      ({ path }) => chmodSync(path, 0o666),
      ["writable-by-others", "readable-by-others"],
    ],
    ["in a folder of everybody", ({ folder }) => chmodSync(folder, 0o777), ["writable-by-others"]],
    ["in a folder like /tmp", ({ folder }) => chmodSync(folder, 0o1777), []],
    ["with a second name", ({ path }) => linkSync(path, `${path}.2`), ["hard-links"]],
    [
      "that was just made, with its first name",
      ({ path }) => linkSync(path, `${path}.creating`),
      ["drafts-left"],
    ],
    ["beside an unfinished one", ({ path }) => writeFileSync(`${path}.creating`, ""), ["drafts-left"]],
    ["in rollback mode", (place) => place.run("PRAGMA journal_mode = DELETE"), ["rollback-journal"]],
    [
      "with a journal",
      ({ path }) => writeFileSync(`${path}-journal`, "x", { mode: 0o600 }),
      ["journal-left"],
    ],
    ["whose tables are others", (place) => place.run("DROP VIEW session_events"), ["corrupt"]],
    ["that was cut", ({ path }) => truncateSync(path, 5_000), ["corrupt"]],
    ["of a later schema", (place) => place.run("PRAGMA user_version = 9"), ["unsupported-format"]],
    ["of somebody else", (place) => place.run("PRAGMA application_id = 7"), ["unsupported-format"]],
    ["that is text", ({ path }) => writeFileSync(path, "Remember the milk"), ["unsupported-format"]],
    ["that is gone but for its log", ({ path }) => renameSync(path, `${path}-wal`), ["corrupt"]],
    ["that is empty", ({ path }) => truncateSync(path, 0), ["no-store"]],
    ["whose lock cannot be taken", ({ path }) => mkdirSync(`${path}.lock`), ["lock-unusable"]],
    [
      "after an earlier measure was killed",
      ({ folder }) => mkdirSync(`${folder}/.holdfast-doctor-x`),
      ["probe-left"],
    ],
  ])("%s is reported, and left as it is", async (_, change, codes) => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    place.run("PRAGMA user_version = 2");
    Bun.spawnSync(["rm", `${place.path}.lock`]);
    change(place);
    const before = timesBelow(place.folder);
    const quiet = await codesOf(place.path, { mayWrite: false });
    expect(quiet.filter((code) => code !== "not-tried")).toEqual([...codes]);
    expect(quiet).toContain("not-tried");
    expect(timesBelow(place.folder)).toEqual(before);
    expect(await codesOf(place.path)).toEqual([...codes]);
    expect(timesBelow(place.folder).slice(1)).toEqual(before.slice(1));
  });

  test("with what a repair left: counted, not opened", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    for (const name of [".backup-1", ".quarantine-1", ".quarantine-2"]) {
      writeFileSync(place.path + name, "12345", { mode: 0o600 });
    }
    const { database } = await examine(place.path);
    expect(database).toMatchObject({ backups: { files: 1, bytes: 5 }, quarantine: { files: 2, bytes: 10 } });
    expect(await codesOf(place.path)).toEqual(["backups", "quarantine"]);
  });

  test("that is not there yet: what a Host would find at the nearest folder", async () => {
    using place = new Place();
    const health = await examine(join(place.folder, "deep", "er.db"));
    expect(health).toMatchObject({
      store: { state: "absent" },
      durability: { tried: true },
      fileSystem: { folder: place.folder },
    });
    expect(await codesOf(join(place.folder, "deep", "er.db"))).toEqual(["no-store"]);
    expect(readdirSync(place.folder)).toEqual([]);
  });
});

describe("a root of session logs", () => {
  test("is counted by the names and sizes of its files; none is opened", async () => {
    await using folder = await TempFolder.create();
    const root = folder.at("logs");
    const name = `jsonl:${root}`;
    await withStore(name, (store) => plant(store, "one", recordsOfDrafts([title(0)])));
    await withStore(name, (store) => plant(store, "two", recordsOfDrafts([title(0)])), "none");
    const one = join(root, "--srv-x--", "one", "session.jsonl.zstd");
    for (const suffix of [".torn-12", ".torn-12-2", ".quarantine-a", ".backup-b", ".holdfast-index"]) {
      writeFileSync(one + suffix, "123", { mode: 0o600 });
    }
    mkdirSync(join(root, "other"), { mode: 0o700 });
    for (const [file, text] of [
      ["other/two.jsonl", "flat"],
      ["other/three.jsonl.zstd", "flat"],
      ["other/notes.txt", "none of ours"],
      ["--srv-x--/one/.holdfast-draft-1-2", "d"],
      ["--srv-x--/one/session.v4.jsonl", "later"],
    ] as const) {
      writeFileSync(join(root, file), text, { mode: 0o600 });
    }
    symlinkSync(root, join(root, "again"));
    const before = timesBelow(join(root, "--srv-x--"));
    const { logs, store, durability } = await examine(name);
    expect({ store, durability }).toEqual({
      store: { kind: "jsonl", path: root, state: "store" },
      durability: { sync: "fdatasync", tried: true },
    });
    expect(logs).toMatchObject({
      zstd: { files: 2, bytes: statSync(one).size + 4 },
      plain: { files: 2 },
      later: { files: 1, bytes: 5 },
      indexes: { files: 1, bytes: 3 },
      backups: { files: 1 },
      quarantine: { files: 3, bytes: 9 },
      drafts: { files: 1 },
      duplicates: 1,
      closedFolders: 0,
    });
    expect(await codesOf(name)).toEqual([
      "duplicates",
      "later-formats",
      "drafts-left",
      "backups",
      "quarantine",
    ]);
    expect(timesBelow(join(root, "--srv-x--"))).toEqual(before);
    expect(readdirSync(root).toSorted()).toEqual(["--srv-x--", ".holdfast.lock", "again", "other"]);
  });

  test("in which something else has the name of a log: it is told, and not waited for", async () => {
    await using folder = await TempFolder.create();
    const [root, project] = [folder.at("logs"), folder.at("logs", "--p--")];
    for (const id of ["folder/session.jsonl", "link", "pipe", "sound"]) {
      mkdirSync(join(project, id), { recursive: true, mode: 0o700 });
    }
    symlinkSync("nowhere", join(project, "link", "session.jsonl"));
    symlinkSync("flat.jsonl", join(project, "flat.jsonl"));
    Bun.spawnSync(["mkfifo", join(project, "pipe", "session.jsonl")]);
    writeFileSync(folder.at("real"), "", { mode: 0o600 });
    symlinkSync(folder.at("real"), join(project, "sound", "session.jsonl"));
    const { findings } = await examine(`jsonl:${root}`);
    expect(findings[0]).toMatchObject({
      level: "warning",
      code: "not-files",
      where: `${join(project, "flat.jsonl")}, and 3 more`,
    });
  });

  test("of a process that runs: who holds it", async () => {
    await using folder = await TempFolder.create();
    await using holder = await Contender.start();
    await holder.open(folder.at("logs"), "jsonl");
    const health = await examine(folder.at("logs"));
    expect(health.lock).toMatchObject({ state: "held", holder: { pid: holder.pid } });
  });

  test("is no folder of other things, which names the stores in it; an empty one is a store that is not there yet", async () => {
    await using folder = await TempFolder.create();
    mkdirSync(folder.at("empty"));
    expect(await examine(`jsonl:${folder.at("empty")}`)).toMatchObject({
      store: { state: "absent" },
      fileSystem: { folder: folder.at("empty") },
    });
    expect(await codesOf(`jsonl:${folder.at("empty")}`)).toEqual(["no-store"]);
    await withStore(`sqlite:${folder.at("data", "a.db")}`, (store) =>
      plant(store, "one", recordsOfDrafts([title(0)])),
    );
    await Bun.write(folder.at("src", "main.ts"), "x");
    for (const [name, hint] of [
      ["data", folder.at("data", "a.db")],
      ["src", "A root of session logs holds"],
    ] as const) {
      const { store, findings } = await examine(`jsonl:${folder.at(name)}`);
      expect(store.state).toBe("refused");
      expect(findings[0]).toMatchObject({
        level: "problem",
        code: "not-found",
        hint: expect.stringContaining(hint),
      });
    }
  });

  test("that is a file, or not there, is reported", async () => {
    await using folder = await TempFolder.create();
    await Bun.write(folder.at("file"), "x");
    expect(await codesOf(`jsonl:${folder.at("file")}`)).toEqual(["storage-failed"]);
    expect(await codesOf(`jsonl:${folder.at("none")}`)).toEqual(["no-store"]);
    expect(readdirSync(folder.path)).toEqual(["file"]);
  });
});
