import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { EventDraft } from "../../../src/session/events.ts";
import { textMatcher } from "../../../src/session/search/matcher.ts";
import { backupStore } from "../../../src/store/backup.ts";
import { openCompactor } from "../../../src/store/open-compactor.ts";
import { acquireWriterLock, passingHolder } from "../../../src/store/writer-lock.ts";
import { Contender } from "../../fixtures/contender.ts";
import { damage } from "../../fixtures/damaged-store.ts";
import {
  assistantMessage,
  stepEnd,
  stepStart,
  textBlock,
  turnEnd,
  turnStart,
  userMessage,
} from "../../fixtures/event-drafts.ts";
import { EAGER, find, LAZY, NO_INDEX } from "../search/searching.ts";
import { errorsIn, repair, spoilPage } from "./damaged.ts";
import { Place, put } from "./place.ts";

setDefaultTimeout(30_000);

/** Events of one Turn below. */
const TURN = 6;

/** Turns of a session, each with a word of its own: `id-1`, `id-2`, … */
function turns(id: string, count: number, from = 1): EventDraft[] {
  return Array.from({ length: count }, (_, k) => k + from).flatMap((turn) => [
    turnStart(turn),
    userMessage(`A question, with the word ${id}-${turn}.`),
    stepStart({ turn, step: 1 }),
    assistantMessage({ turn, step: 1 }, [textBlock(`The answer of turn ${turn}, at some length.`)]),
    stepEnd({ turn, step: 1 }),
    turnEnd(turn),
  ]);
}

function word(text: string) {
  return textMatcher(text, false);
}

async function indexed(count = 20): Promise<Place> {
  const place = new Place();
  await place.fill({ a: turns("a", count), b: turns("b", count) });
  await find(place.path, word("nothing"), EAGER);
  expect(ranges(place).length).toBeGreaterThan(count);
  return place;
}

/** Sessions of the ranges in the index, one for each; nothing where there is no index. */
function ranges({ path }: Place): number[] {
  const found: number[] = [];
  damage(path, (database) => {
    const tables = database.query("SELECT 1 FROM sqlite_schema WHERE name = 'search_ranges'").all();
    if (tables.length === 0) return;
    const texts = database.query("SELECT id FROM search_text_docsize ORDER BY id").values();
    expect(database.query("SELECT id FROM search_ranges ORDER BY id").values()).toEqual(texts);
    for (const [session] of database.query("SELECT session FROM search_ranges ORDER BY 1").values())
      found.push(Number(session));
  });
  return found;
}

/** The page that a table begins with. */
function rootOf({ path }: Place, table: string): number {
  let page = 0;
  damage(path, (database) => {
    const row = database
      .query<{ rootpage: number }, [string]>("SELECT rootpage FROM sqlite_schema WHERE name = ?")
      .get(table);
    page = row?.rootpage ?? 0;
  });
  return page;
}

async function append({ path }: Place, id: string, drafts: readonly EventDraft[]): Promise<void> {
  const place = new Place(path.slice(0, path.lastIndexOf("/")));
  await using store = await place.open();
  await using preparation = await store.prepare(id);
  await preparation.session.log.appendAll(drafts);
}

describe("the index", () => {
  test("is not made in a small store, and nothing is written", async () => {
    using place = new Place();
    await place.fill({ a: turns("a", 3) });
    const before = place.contents();
    const { hits } = await find(place.path, word("a-2"), undefined);
    expect(hits).toHaveLength(1);
    expect(place.contents()).toEqual(before);
  });

  test("leads to the places of a text, and leaves one file", async () => {
    using place = await indexed();
    const before = place.contents();
    expect(Object.keys(before)).toEqual(["store.db", "store.db.lock"]);
    const found = await find(place.path, word("A-17"), LAZY);
    const all = await find(place.path, word("A-17"), NO_INDEX);
    expect(found.hits).toEqual(all.hits);
    expect(found.hits).toHaveLength(1);
    expect(all.read).toBe(40 * TURN);
    expect(found.read).toBeLessThan(3 * TURN);
    // Of two letters nothing is known.
    expect((await find(place.path, word("17"), LAZY)).read).toBe(all.read);
    expect(place.contents()).toEqual(before);
  });

  test("grows with the sessions; what is behind its end is read", async () => {
    using place = await indexed(4);
    const before = ranges(place).length;
    await append(place, "a", turns("late", 4, 5));
    await append(place, "a", [turnStart(9), userMessage("open-9")]);
    expect((await find(place.path, word("late-7"), LAZY)).read).toBe(4 * TURN + 2);
    expect((await find(place.path, word("open-9"), EAGER)).hits).toHaveLength(1);
    expect(ranges(place).length).toBeGreaterThan(before + 3);
    // The open Turn is not in the index, and is found all the same.
    expect((await find(place.path, word("open-9"), LAZY)).hits).toHaveLength(1);
    expect((await find(place.path, word("late-7"), LAZY)).read).toBeLessThan(2 * TURN);
  });

  test("does not hold of a session that was repaired, and is made anew", async () => {
    using place = await indexed();
    damage(place.path, (database) =>
      database.run(`UPDATE records SET checksum = checksum + 1 WHERE session = 1 AND seq = ${10 * TURN + 1}`),
    );
    expect((await repair(place.path)).helpless).toEqual([]);
    const { hits } = await find(place.path, word("question"), NO_INDEX);
    expect(hits).toHaveLength(30);
    expect((await find(place.path, word("a-3."), LAZY)).read).toBeGreaterThan(10 * TURN);
    expect((await find(place.path, word("question"), EAGER)).hits).toEqual(hits);
    expect((await find(place.path, word("a-3."), LAZY)).read).toBeLessThan(3 * TURN);
    expect((await find(place.path, word("question"), LAZY)).hits).toEqual(hits);
  });

  test("does not hold of a session that was compacted, and is made anew over its segments", async () => {
    using place = await indexed();
    const { hits } = await find(place.path, word("a-1"), NO_INDEX);
    {
      await using compactor = await openCompactor({ kind: "sqlite", path: place.path }, { dryRun: false });
      expect((await compactor.compact("a")).state).toBe("compacted");
    }
    expect((await find(place.path, word("a-1"), LAZY)).read).toBe(20 * TURN);
    expect((await find(place.path, word("a-1"), EAGER)).hits).toEqual(hits);
    expect((await find(place.path, word("a-1."), LAZY)).read).toBeLessThan(3 * TURN);
    expect((await find(place.path, word("a-1"), LAZY)).hits).toEqual(hits);
    expect(await errorsIn(place.path)).toEqual([]);
  });

  test("goes with a session that is deleted, also by a program that does not know it", async () => {
    using place = await indexed(4);
    {
      await using store = await place.open();
      await store.delete("a");
    }
    expect(ranges(place)).toEqual([]);
    await find(place.path, word("nothing"), EAGER);
    expect(new Set(ranges(place))).toEqual(new Set([2]));
    place.run("DELETE FROM records WHERE session = 2", "DELETE FROM sessions WHERE number = 2");
    {
      await using store = await place.open();
      await put(store, "c", turns("c", 2));
    }
    expect((await find(place.path, word("question"), EAGER)).hits).toHaveLength(2);
    expect(new Set(ranges(place))).toEqual(new Set([3]));
  });

  test("is part of a sound store: for checks, backups, and those who go on with it", async () => {
    using place = await indexed(4);
    expect(await errorsIn(place.path)).toEqual([]);
    const to = `${place.folder}/copy.db`;
    const report = await backupStore({ kind: "sqlite", path: place.path }, to, {
      clock: () => 0,
      signal: new AbortController().signal,
    });
    expect(report.faults).toEqual([]);
    expect((await find(to, word("b-3"), LAZY)).read).toBeLessThan(3 * TURN);
    await append(place, "a", turns("late", 1, 5));
    expect(await errorsIn(place.path)).toEqual([]);
  });

  test("is left behind where a damaged database is built anew, and nothing in it passes for a session", async () => {
    using place = new Place();
    const ids = ["a", "b", "c", "d"];
    await place.fill(Object.fromEntries(ids.map((id) => [id, turns(id, 5)])));
    await find(place.path, word("nothing"), EAGER);
    // The rows of the sessions: what is left of them is their index, and rows of other tables look like those of one.
    spoilPage(place.path, rootOf(place, "sessions"), 0xa5);
    await repair(place.path);
    expect(await errorsIn(place.path)).toEqual([]);
    expect(ranges(place)).toEqual([]);
    const { hits, errors } = await find(place.path, word("question"), EAGER);
    expect(errors).toEqual([]);
    expect(new Set(hits.map((hit) => JSON.parse(hit)[0]))).toEqual(new Set(ids));
    expect(hits).toHaveLength(20);
  });

  test("is not asked where it cannot be read", async () => {
    using place = await indexed(4);
    spoilPage(place.path, rootOf(place, "search_text_data"), 0xa5);
    expect((await find(place.path, word("b-3"), LAZY)).hits).toHaveLength(1);
    expect((await find(place.path, word("b-3"), EAGER)).hits).toHaveLength(1);
    expect((await errorsIn(place.path)).map(({ code }) => code)).toContain("store-damaged");
  });

  test("is not made where tables of somebody else have its names", async () => {
    using place = new Place();
    await place.fill({ a: turns("a", 3) });
    place.run("CREATE TABLE search_ranges (id, session)");
    const before = place.contents();
    expect((await find(place.path, word("a-2"), EAGER)).hits).toHaveLength(1);
    expect({ ...place.contents(), "store.db": "" }).toEqual({ ...before, "store.db": "" });
    await using store = await place.open();
    await store.delete("a");
  });
});

describe("a damaged session", () => {
  test("is searched up to its damage, and by the index behind it", async () => {
    using place = await indexed(10);
    damage(place.path, (database) =>
      database.run(`UPDATE records SET checksum = checksum + 1 WHERE session = 1 AND seq = ${5 * TURN + 3}`),
    );
    const all = await find(place.path, word("question"), NO_INDEX);
    expect(all.hits).toHaveLength(10 + 6);
    expect(all.errors).toEqual(["a corrupt"]);
    expect((await find(place.path, word("a-8"), LAZY)).hits).toHaveLength(1);
  });
});

describe("the lock", () => {
  test("of a store that is written is left alone, and what there is of an index is used", async () => {
    using place = await indexed(4);
    await append(place, "a", turns("late", 2, 5));
    await using host = await Contender.start();
    expect((await host.open(place.path)).code).toBe("ok");
    const before = ranges(place).length;
    expect(await find(place.path, word("late-6"), EAGER)).toMatchObject({ read: 2 * TURN, errors: [] });
    expect(ranges(place)).toHaveLength(before);
    expect((await host.close()).code).toBe("closed");
  });

  test("that is held for a moment is waited for by those who want it", async () => {
    using place = await indexed(1);
    await using host = await Contender.start();
    const lock = acquireWriterLock(place.path, passingHolder());
    const opening = host.open(place.path);
    // Longer than anybody waits for a lock that is held for good.
    await Bun.sleep(120);
    lock[Symbol.dispose]();
    expect((await opening).code).toBe("ok");
  });
});
