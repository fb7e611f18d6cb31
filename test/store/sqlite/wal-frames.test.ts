import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { repairSqlite } from "../../../src/store/sqlite/repairer.ts";
import { findLostFrames, readWal } from "../../../src/store/sqlite/wal-frames.ts";
import { rejectionOf } from "../../contract/support.ts";
import { COMMITS } from "../../fixtures/power-cut/turn.ts";
import { logsBetween } from "../../fixtures/power-cut/wal.ts";
import { flip, long } from "./damaged.ts";
import { Place } from "./place.ts";

const PAGE = 4_096;
const FRAME = PAGE + 24;

/** Database and log at one moment. */
interface Moment {
  readonly database: Buffer;
  readonly log: Buffer;
}

/**
 * The files of a store before its commits and after each: those of a Turn, one of many pages, and small ones.
 * @param isReused whether the log begins over the bytes of one that was written back
 */
async function momentsOf(isReused: boolean): Promise<Moment[]> {
  using place = new Place();
  const moments: Moment[] = [];
  const look = () => {
    const log = existsSync(`${place.path}-wal`) ? readFileSync(`${place.path}-wal`) : Buffer.alloc(0);
    moments.push({ database: readFileSync(place.path), log });
  };
  const many = Array.from({ length: 12 }, (_, n) => long(n, 2_000));
  const commits = [...COMMITS, many, [long(0, 10)], [long(1, 10)], [long(2, 10)]];
  await using store = await place.open();
  if (isReused) {
    await using older = await store.create({ version: 0, id: "older", createdAt: 1 });
    for (const commit of commits) await older.log.appendAll(commit);
    using database = new Database(place.path, { readwrite: true, create: false });
    database.run("PRAGMA wal_checkpoint(PASSIVE)");
  }
  await using session = await store.create({ version: 0, id: "s", createdAt: 1 });
  look();
  for (const commit of commits) {
    await session.log.appendAll(commit);
    look();
  }
  return moments;
}

function lay({ path }: Place, { database, log }: Moment): void {
  writeFileSync(path, database);
  writeFileSync(`${path}-wal`, log);
}

describe.each([false, true])("a write-ahead log, begun over an older one: %p", (isReused) => {
  test("is read as SQLite reads it, and what a power cut may leave of its last commit is no damage", async () => {
    using place = new Place();
    const moments = await momentsOf(isReused);
    let states = 0;
    for (const [k, { log }] of moments.entries()) {
      const before = moments[k - 1];
      if (before === undefined) continue;
      lay(place, before);
      for (const left of logsBetween(before.log, log)) {
        writeFileSync(`${place.path}-wal`, left);
        states += 1;
        expect({ k, lost: findLostFrames(place.path) }).toEqual({ k, lost: undefined });
      }
      lay(place, { database: before.database, log });
      const pages = readWal(place.path).pages;
      using database = place.raw();
      database.run("PRAGMA wal_checkpoint(TRUNCATE)");
      const whole = readFileSync(place.path);
      for (const [page, offset] of pages) {
        expect(
          whole.subarray((page - 1) * PAGE, page * PAGE).equals(log.subarray(offset, offset + PAGE)),
        ).toBe(true);
      }
    }
    expect(states).toBeGreaterThan(500);
  }, 30_000);

  test("that is damaged before its last commits is told, whichever frame it is", async () => {
    using place = new Place();
    const last = (await momentsOf(isReused)).at(-1);
    if (last === undefined) throw new Error("no moment");
    // One page of a table changes with each of the last commits.
    const frames = isReused ? 20 : (last.log.length - 32) / FRAME - 2;
    for (let frame = 0; frame < frames; frame += 3) {
      lay(place, last);
      flip(`${place.path}-wal`, 32 + frame * FRAME + 500);
      expect({ frame, code: findLostFrames(place.path)?.code }).toEqual({ frame, code: "store-damaged" });
    }
  });

  test("that is damaged in its header, in a salt, or by bytes put in or taken out is told, and no commit is lost", async () => {
    using place = new Place();
    const last = (await momentsOf(isReused)).at(-1);
    if (last === undefined) throw new Error("no moment");
    lay(place, last);
    const sound = readWal(place.path).pages;
    const { log } = last;
    const at = 32 + 2 * FRAME + 700;
    const damaged: Record<string, Buffer> = {
      zeros: Buffer.concat([Buffer.alloc(32), log.subarray(32)]),
      more: Buffer.concat([log.subarray(0, at), Buffer.from("x"), log.subarray(at)]),
      less: Buffer.concat([log.subarray(0, at), log.subarray(at + 100)]),
      salt: Buffer.from(log),
    };
    damaged["salt"]?.fill(0x77, 40, 48);
    for (const byte of [0, 3, 4, 9, 13, 17, 20, 24, 31]) {
      const copy = Buffer.from(log);
      copy[byte] = (copy[byte] ?? 0) ^ 0x11;
      damaged[`header byte ${byte}`] = copy;
    }
    for (const [kind, bytes] of Object.entries(damaged)) {
      lay(place, { database: last.database, log: bytes });
      // What begins a new log stands in no frame.
      if (kind !== "header byte 13") {
        expect({ kind, code: findLostFrames(place.path)?.code }).toEqual({ kind, code: "store-damaged" });
      }
      if (kind === "more" || kind === "less") continue;
      const { pages, lost } = readWal(place.path);
      const found = new Set([...pages.keys(), ...(lost?.pages.keys() ?? [])]);
      expect({ kind, missing: [...sound.keys()].filter((page) => !found.has(page)) }).toEqual({
        kind,
        missing: [],
      });
    }
    lay(place, { database: last.database, log: Buffer.alloc(log.length, "garbage") });
    expect(findLostFrames(place.path)?.code).toBe("store-damaged");
    lay(place, { database: last.database, log: Buffer.alloc(log.length) });
    expect(findLostFrames(place.path)).toBeUndefined();
  });

  test("that is damaged before its last commits keeps a Host from opening the store, until it is repaired", async () => {
    using place = new Place();
    const last = (await momentsOf(isReused)).at(-1);
    if (last === undefined) throw new Error("no moment");
    lay(place, last);
    flip(`${place.path}-wal`, 32 + 3 * FRAME + 500);
    const before = place.contents();
    const refusal = await rejectionOf(place.open());
    expect(refusal).toMatchObject({ code: "corrupt", place: { path: `${place.path}-wal`, row: 4 } });
    const { "store.db-shm": _, "store.db.lock": __, ...after } = place.contents();
    expect(after).toEqual(before);
    {
      await using repairer = await repairSqlite(place.path);
      for (const step of (await repairer.plan()).steps) await repairer.carryOut(step);
    }
    await using store = await place.open();
    expect((await store.inspect("s")).log.length).toBeGreaterThan(0);
  });
});

test("a log beside a database that is cut anywhere is looked at without a fault", async () => {
  using place = new Place();
  const last = (await momentsOf(false)).at(-1);
  if (last === undefined) throw new Error("no moment");
  for (const size of [0, 1, 2, 16, 17, 18, 99, 100, PAGE]) {
    for (const log of [last.log, Buffer.concat([Buffer.alloc(32), last.log.subarray(32)])]) {
      lay(place, { database: last.database.subarray(0, size), log });
      expect({ size, pageSize: readWal(place.path).pageSize }).toEqual({ size, pageSize: PAGE });
    }
  }
});
