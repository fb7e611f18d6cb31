import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, truncateSync } from "node:fs";
import type { StoreLoss } from "../../../src/store/repairer.ts";
import { planSqliteRepair, repairSqlite } from "../../../src/store/sqlite/repairer.ts";
import { rejectionOf, title } from "../../contract/support.ts";
import {
  errorsIn,
  examine,
  long,
  ordinaryContents,
  overwrite,
  PAGE,
  pagesOf,
  repair,
  spoilPage,
} from "./damaged.ts";
import { Place } from "./place.ts";

/*
 * What a repair cannot bring back, it tells. Sessions of different kinds: many small rows, long rows that lie in pages of
 * their own, and few rows that share a page with those of the next session.
 */

const SESSIONS = {
  small: Array.from({ length: 400 }, (_, n) => title(n)),
  few: [title(0), title(1)],
  long: Array.from({ length: 30 }, (_, n) => long(n, n * 500)),
  next: [title(0)],
  last: Array.from({ length: 200 }, (_, n) => title(n)),
};

async function filled(): Promise<Place> {
  const place = new Place();
  await place.fill(SESSIONS);
  return place;
}

async function lossIn(path: string): Promise<StoreLoss> {
  const { steps } = await planSqliteRepair(path);
  const [step] = steps;
  if (step?.kind !== "store") throw new Error("the database is not built anew");
  return step.lost;
}

/** Lengths in pages, as shares of the whole: all that is cut off lies behind. */
const CUTS: ReadonlyArray<readonly [string, (pages: number) => number]> = [
  ["after the tables' first pages", () => 5],
  ["within a page", () => 6.5],
  ["after a third", (pages) => Math.floor(pages / 3)],
  ["in the middle of a page, after a half", (pages) => Math.floor(pages / 2) + 0.5],
  ["after two thirds", (pages) => Math.floor((2 * pages) / 3)],
  ["but for its last page", (pages) => pages - 1],
  ["but for the end of its last page", (pages) => pages - 0.1],
];

describe("a database that is cut off names each session that lost events, and says of no other that it did:", () => {
  test.each(CUTS)("%s", async (_, lengthOf) => {
    using place = await filled();
    const sound = await ordinaryContents(place.path);
    const pages = pagesOf(place.path);
    truncateSync(place.path, Math.floor(lengthOf(pages) * PAGE));
    const whole = Math.floor(lengthOf(pages));
    expect((await errorsIn(place.path))[0]).toMatchObject({
      code: "store-damaged",
      expected: `${pages} pages`,
      found: `${whole} whole`,
    });
    const found = (await examine(place.path, true)).contents;
    const lost = await lossIn(place.path);
    expect(lost.pages).toEqual({ expected: pages, found: whole });
    const named = new Map(lost.sessions.map((session) => [session.id, session]));
    for (const [id, texts] of Object.entries(sound)) {
      const left = found[id]?.length ?? 0;
      const session = named.get(id);
      if (left === texts.length) {
        // Whether a page that is gone held more of it, nobody can tell.
        expect(session?.isCertain ?? false).toBe(false);
        continue;
      }
      expect(session).toMatchObject({ id, left });
      expect(session?.had ?? 0).toBeLessThanOrEqual(texts.length);
      if (left === 0) expect(session?.isCertain).toBe(true);
    }
    expect(lost.sessions.some(({ isCertain }) => isCertain)).toBe(true);
    const { steps } = await repair(place.path);
    expect(steps[0]).toMatchObject({ kind: "store", lost });
    expect(await errorsIn(place.path)).toEqual([]);
    expect(readFileSync(`${place.path}.backup-1`).length).toBe(Math.floor(lengthOf(pages) * PAGE));
  });
});

test.each([100, 2_000, PAGE, PAGE + 100])(
  "of the first %p bytes nothing is left: that is refused",
  async (length) => {
    using place = await filled();
    truncateSync(place.path, length);
    const before = readFileSync(place.path);
    expect(await rejectionOf(planSqliteRepair(place.path))).toMatchObject({
      code: "corrupt",
      found: expect.stringContaining("whole"),
    });
    await using repairer = await repairSqlite(place.path);
    expect(await rejectionOf(repairer.plan())).toMatchObject({
      code: "corrupt",
      place: { path: place.path },
    });
    expect(readFileSync(place.path).equals(before)).toBe(true);
    expect(existsSync(`${place.path}.backup-1`)).toBe(false);
  },
);

test("a number of pages that is damaged itself costs no session its events", async () => {
  using place = await filled();
  const sound = await ordinaryContents(place.path);
  overwrite(place.path, 28, Uint8Array.of(0x40));
  const lost = await lossIn(place.path);
  expect(lost.sessions).toEqual([]);
  expect(lost.pages?.expected).toBeGreaterThan(0x40000000);
  await repair(place.path);
  expect(await ordinaryContents(place.path)).toEqual(sound);
});

test("a session of which all rows lay in a page that is overwritten is named as lost", async () => {
  using place = new Place();
  await place.fill({ ...SESSIONS, gone: Array.from({ length: 400 }, (_, n) => title(n)) });
  const sound = await ordinaryContents(place.path);
  for (let page = 6; page <= pagesOf(place.path); page += 1) spoilPage(place.path, page, 0xa5);
  const lost = (await lossIn(place.path)).sessions;
  expect(lost.map(({ id }) => id)).toEqual(Object.keys(sound).toReversed());
  expect(lost.map(({ left }) => left)).toEqual(Object.keys(sound).map(() => 0));
  expect(lost.find(({ id }) => id === "small")?.had).toBeGreaterThan(300);
});

test("a database that lost nothing names no session", async () => {
  using place = await filled();
  spoilPage(place.path, 2, 0);
  expect(await lossIn(place.path)).toEqual({ sessions: [] });
});

test("sessions of which not even the header is left are counted", async () => {
  using place = new Place();
  const ids = Array.from({ length: 300 }, (_, n) => `session number ${n}`);
  await place.fill(Object.fromEntries(ids.map((id) => [id, [title(0), title(1)]])));
  truncateSync(place.path, Math.floor(pagesOf(place.path) / 2) * PAGE);
  const found = (await examine(place.path, true)).contents;
  const { sessions, unnamed = 0 } = await lossIn(place.path);
  const nameless = sessions.filter(({ id }) => found[id] === undefined);
  expect(unnamed).toBeGreaterThan(0);
  expect(Object.keys(found).length + nameless.length + unnamed).toBe(ids.length);
});
