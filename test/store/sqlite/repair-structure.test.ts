import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { planSqliteRepair, repairSqlite } from "../../../src/store/sqlite/repairer.ts";
import { rejectionOf, title } from "../../contract/support.ts";
import { fileStats } from "../../fixtures/file-stats.ts";
import { LongReader } from "../../fixtures/long-reader.ts";
import { sealed } from "../../fuzz/wal.ts";
import {
  type Contents,
  errorsIn,
  flip,
  goOn,
  long,
  ordinaryContents,
  overwrite,
  PAGE,
  pagesOf,
  repair,
  rowsIn,
  spoilPage,
} from "./damaged.ts";
import { Place } from "./place.ts";

/*
 * A database whose pages are damaged is built anew from what can be found. Pages of the store below: 1 is the schema, 2
 * the table sessions, 3 the index of its keys, 4 that of the numbers, 5 the root of the table records.
 */

const SESSIONS = {
  a: Array.from({ length: 300 }, (_, n) => title(n)),
  b: Array.from({ length: 40 }, (_, n) => long(n, n * 400)),
  c: [title(0), title(1)],
};
const EVENTS = 342;

async function filled(): Promise<Place> {
  const place = new Place();
  await place.fill(SESSIONS);
  return place;
}

/** What is repaired is sound, holds beginnings of what was there, and a Host goes on with it. */
async function expectRepaired(place: Place, sound: Contents): Promise<number> {
  expect(await errorsIn(place.path)).toEqual([]);
  let kept = 0;
  for (const [id, texts] of Object.entries(await ordinaryContents(place.path))) {
    expect(sound[id]?.slice(0, texts.length)).toEqual([...texts]);
    kept += texts.length;
  }
  await goOn(place);
  expect(statSync(place.path).mode & 0o777).toBe(0o600);
  return kept;
}

/** What is damaged, how, and whether nothing is lost. */
const DAMAGES: ReadonlyArray<readonly [string, (path: string) => void, "whole" | "cut"]> = [
  ["the schema", (path) => spoilPage(path, 1, 0xa5), "whole"],
  ["zeros where the schema was", (path) => spoilPage(path, 1, 0), "whole"],
  ["the sessions", (path) => spoilPage(path, 2, 0xa5), "whole"],
  ["the index of the keys", (path) => spoilPage(path, 3, 0), "whole"],
  ["the root of the rows", (path) => spoilPage(path, 5, 0xa5), "whole"],
  ["a page of rows", (path) => spoilPage(path, 9, 0xa5), "cut"],
  ["a page of rows that became another", (path) => copyPage(path, 9, 10), "cut"],
  ["the file, cut at the end of a page", (path) => truncateSync(path, 40 * PAGE), "cut"],
  ["the file, cut within a page", (path) => truncateSync(path, 40 * PAGE + 77), "cut"],
  ["a count of cells", (path) => overwrite(path, 8 * PAGE + 3, Uint8Array.of(0xff)), "cut"],
];

function copyPage(path: string, from: number, to: number): void {
  overwrite(path, (to - 1) * PAGE, readFileSync(path).subarray((from - 1) * PAGE, from * PAGE));
}

describe("a database is built anew, and each session is cut where something is gone, where this is damaged:", () => {
  test.each(DAMAGES)("%s", async (_, spoil, extent) => {
    using place = await filled();
    const sound = await ordinaryContents(place.path);
    spoil(place.path);
    const before = readFileSync(place.path);
    const plan = await planSqliteRepair(place.path);
    expect(plan.steps[0]).toMatchObject({
      kind: "store",
      reason: { code: "store-damaged" },
      keptSessions: 3,
      backup: `${place.path}.backup-1`,
    });
    expect(readFileSync(place.path).equals(before)).toBe(true);
    expect((await repair(place.path)).steps).toEqual([...plan.steps]);
    expect(readFileSync(`${place.path}.backup-1`).equals(before)).toBe(true);
    const kept = await expectRepaired(place, sound);
    if (extent === "whole") expect(kept).toBe(EVENTS);
    else expect(kept).toBeGreaterThan(30);
    const own = plan.steps.flatMap((step) => (step.kind === "session" ? [step] : []));
    for (const { reason, quarantine, cut } of own) {
      // A header that is made anew leaves its old row.
      expect(rowsIn(quarantine).length).toBe(cut.rows + (reason.code === "header-damaged" ? 1 : 0));
    }
    expect((await repair(place.path)).steps).toEqual([]);
  });
});

test("sessions of which neither row nor key is left get names of their own", async () => {
  using place = await filled();
  const { a = [], b = [], c = [] } = await ordinaryContents(place.path);
  for (const page of [2, 3]) spoilPage(place.path, page, 0);
  await repair(place.path);
  expect(await errorsIn(place.path)).toEqual([]);
  expect(await ordinaryContents(place.path)).toEqual({ "session-1": a, "session-2": b, "session-3": c });
});

test("the end of a long row needs no new database: the row is cut off", async () => {
  using place = await filled();
  const sound = await ordinaryContents(place.path);
  spoilPage(place.path, pagesOf(place.path) - 1, 0);
  const { steps } = await repair(place.path);
  expect(steps).toMatchObject([{ kind: "session", id: "b", keptEvents: 39, cut: { rows: 1, events: 0 } }]);
  expect(await expectRepaired(place, sound)).toBe(EVENTS - 1);
});

test("what was deleted stays deleted, and the number of its session is not used again", async () => {
  using place = await filled();
  {
    await using store = await place.open();
    await store.delete("c");
    await store.delete("a");
  }
  const sound = await ordinaryContents(place.path);
  spoilPage(place.path, 1, 0);
  // The schema alone does not say which numbers were given.
  await repair(place.path);
  expect(Object.keys(await ordinaryContents(place.path))).toEqual(["b"]);
  await expectRepaired(place, sound);
  {
    using other = await filled();
    await using store = await other.open();
    await store.delete("c");
    await store.close();
    copyPage(other.path, 9, 10);
    await repair(other.path);
    await other.fill({ next: [title(0)] });
    using database = other.raw();
    expect(database.query("SELECT number FROM sessions WHERE key = 'next'").values()).toEqual([[4]]);
  }
});

test("rows whose row of sessions is gone are a session of a name of its own when the database is built anew", async () => {
  using place = await filled();
  const { c = [] } = await ordinaryContents(place.path);
  place.run("DELETE FROM sessions WHERE key = 'c'");
  spoilPage(place.path, 3, 0);
  const { steps } = await repair(place.path);
  expect(steps).toMatchObject([
    { kind: "store", keptSessions: 3, leaving: { sessions: 0 } },
    { kind: "session", id: "session-3", header: "made", keptEvents: 2 },
  ]);
  expect((await ordinaryContents(place.path))["session-3"]).toEqual(c);
});

describe("the write-ahead log that a killed process left", () => {
  /** A database, and a log in which the last appends to `a` and `c` are, one commit each. */
  async function left(appends = 8): Promise<Place> {
    using source = await filled();
    await using store = await source.open();
    for (let n = 0; n < appends; n += 1) {
      await using session = (await store.prepare(n % 2 === 0 ? "a" : "c")).publish();
      await session.log.append({ type: "session/title", data: `late ${n}` });
    }
    const place = new Place();
    for (const suffix of ["", "-wal"])
      writeFileSync(place.path + suffix, readFileSync(source.path + suffix), { mode: 0o600 });
    return place;
  }

  const FRAME = PAGE + 24;

  test("is written back into a database that even SQLite cannot open, before the new one takes its place", async () => {
    // Of one commit, which does not change the schema's page.
    using place = await left(1);
    const sound = await ordinaryContents(place.path);
    spoilPage(place.path, 1, 0xa5);
    const log = readFileSync(`${place.path}-wal`);
    await repair(place.path);
    expect(existsSync(`${place.path}-wal`)).toBe(false);
    expect(readFileSync(`${place.path}.backup-1-wal`).equals(log)).toBe(true);
    expect(await expectRepaired(place, sound)).toBe(EVENTS + 1);
  });

  test("hides commits behind a damaged frame: that is told, and they are brought back", async () => {
    using place = await left();
    const sound = await ordinaryContents(place.path);
    flip(`${place.path}-wal`, 32 + 2 * FRAME + 100);
    expect((await ordinaryContents(place.path))["a"]?.length).toBeLessThan(304);
    const [finding, ...others] = await errorsIn(place.path);
    expect(others).toEqual([]);
    expect(finding).toMatchObject({
      code: "store-damaged",
      message: expect.stringContaining("SQLite ignores all that follows it"),
      place: { path: `${place.path}-wal`, offset: 32 + 2 * FRAME, row: 3 },
    });
    await repair(place.path);
    expect(await expectRepaired(place, sound)).toBe(EVENTS + 8);
  });

  test("may have its header damaged: that is told, and all of it is brought back", async () => {
    using place = await left();
    const sound = await ordinaryContents(place.path);
    flip(`${place.path}-wal`, 26);
    const before = fileStats(place.folder);
    expect(await errorsIn(place.path)).toMatchObject([{ code: "store-damaged", place: { offset: 0 } }]);
    // SQLite itself removes a log of which it takes nothing.
    expect(fileStats(place.folder)).toEqual(before);
    await repair(place.path);
    expect(await expectRepaired(place, sound)).toBe(EVENTS + 8);
  });

  test.each([
    ["cut within a frame", (path: string) => truncateSync(path, statSync(path).size - 100)],
    ["damaged in its last frame", (path: string) => flip(path, statSync(path).size - 100)],
    ["of zeros at its end", (path: string) => truncateSync(path, statSync(path).size + 3 * FRAME)],
  ])("may be %s, as after a power cut: that is no finding", async (_, spoil) => {
    using place = await left();
    spoil(`${place.path}-wal`);
    expect(await errorsIn(place.path)).toEqual([]);
    expect((await repair(place.path)).steps).toEqual([]);
  });

  test("may name a page that is far beyond what there is: that takes neither time nor room", async () => {
    using place = await left(1);
    const sound = await ordinaryContents(place.path);
    const log = readFileSync(`${place.path}-wal`);
    log.writeUInt32BE(0xffffffff, 32);
    writeFileSync(`${place.path}-wal`, sealed(log));
    spoilPage(place.path, 1, 0xa5);
    await repair(place.path);
    expect(await expectRepaired(place, sound)).toBeGreaterThan(EVENTS / 2);
    expect(statSync(`${place.path}.backup-1`).size).toBeLessThan(1024 * 1024);
  });

  test("is not mixed with what was appended after commits of it were hidden", async () => {
    using place = await left(16);
    flip(`${place.path}-wal`, 32 + 2 * FRAME + 100);
    const short = await ordinaryContents(place.path);
    {
      // Another branch, in the place of the frames that were hidden.
      using database = place.raw();
      database.run("PRAGMA wal_autocheckpoint = 0");
      const [seq, id] = [short["a"]?.length ?? 0, 2 ** 32 + (short["a"]?.length ?? 0)];
      const body = JSON.stringify({ type: "session/title", seq, time: 1, data: "another branch" });
      const insert =
        "INSERT INTO records (id, count, type, time, body, checksum) VALUES (?, 1, 'session/title', 1, ?, ?)";
      database.run(insert, [id, body, Bun.hash.crc32(body)]);
      const files = ["", "-wal"].map((suffix) => readFileSync(place.path + suffix));
      database.close();
      for (const [k, suffix] of ["", "-wal"].entries()) writeFileSync(place.path + suffix, files[k] ?? "");
    }
    const sound = await ordinaryContents(place.path);
    expect(sound["a"]?.at(-1)).toContain("another branch");
    await repair(place.path);
    const repaired = await ordinaryContents(place.path);
    expect(repaired["a"]).toEqual(sound["a"] ?? []);
    await expectRepaired(place, repaired);
  });
});

test("a database that another program has open is not replaced", async () => {
  using place = await filled();
  await using reader = await LongReader.on(place.path);
  spoilPage(place.path, 9, 0);
  const before = readFileSync(place.path);
  await using repairer = await repairSqlite(place.path);
  const [step] = (await repairer.plan()).steps;
  if (step === undefined) throw new Error("there is nothing to be done");
  expect(await rejectionOf(repairer.carryOut(step))).toMatchObject({ code: "locked" });
  expect(readFileSync(place.path).equals(before)).toBe(true);
  expect(existsSync(step.backup)).toBe(false);
  await reader.leave();
  await repairer.carryOut(step);
});
