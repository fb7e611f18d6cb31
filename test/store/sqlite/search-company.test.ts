import { Database } from "bun:sqlite";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import type { EventDraft } from "../../../src/session/events.ts";
import { textMatcher } from "../../../src/session/search/matcher.ts";
import { SqliteSearch } from "../../../src/store/sqlite/search-store.ts";
import { turnEnd, turnStart, userMessage } from "../../fixtures/event-drafts.ts";
import { EAGER, find, findIn, LAZY, NO_INDEX } from "../search/searching.ts";
import { Place, put } from "./place.ts";

setDefaultTimeout(30_000);

function said(texts: readonly string[]): EventDraft[] {
  return texts.flatMap((text, k) => [turnStart(k + 1), userMessage(text), turnEnd(k + 1)]);
}

/** Twenty texts with a word each: `id-0`, `id-1`, … */
function talk(id: string): EventDraft[] {
  return said(
    Array.from({ length: 20 }, (_, k) => `The word ${id}-${k}, and more than forty units of text.`),
  );
}

async function add(place: Place, id: string, drafts: readonly EventDraft[]): Promise<void> {
  await using store = await place.open();
  await put(store, id, drafts);
}

async function remove(place: Place, id: string): Promise<void> {
  await using store = await place.open();
  await store.delete(id);
}

async function index(place: Place): Promise<void> {
  await find(place.path, textMatcher("nothing", false), EAGER);
}

describe("a search finds the same when the index meanwhile", () => {
  test.each([
    ["grows", false, index],
    ["is dropped", true, (place: Place) => remove(place, "a")],
    [
      "is dropped and made again, with ids that other ranges had",
      true,
      async (place: Place) => {
        await remove(place, "a");
        await index(place);
      },
    ],
  ])("%s", async (_, isIndexed, change) => {
    using place = new Place();
    await place.fill({ a: talk("a") });
    await index(place);
    await add(place, "b", talk("b"));
    if (isIndexed) await index(place);
    const matcher = textMatcher("b-1", false);
    const { hits } = await find(place.path, matcher, NO_INDEX);
    expect(hits).toHaveLength(11);
    const options = { needle: matcher.needle, isIndexed: true, limits: LAZY };
    await using search = new SqliteSearch(place.path, options);
    await change(place);
    expect((await findIn(search, matcher)).hits).toEqual(hits);
  });
});

describe("what is deleted", () => {
  /** Texts in which nearly every three letters are others. */
  function noise(seed: string): EventDraft[] {
    const texts = Array.from({ length: 12 }, (_, k) =>
      Array.from({ length: 60 }, (_, n) => Bun.hash(`${seed} ${k} ${n}`).toString(36)).join(""),
    );
    return said(texts);
  }

  const PIECE = 24;

  /** Pieces of all pages of terms. */
  function pieces({ path }: Place): string[] {
    using database = new Database(path, { readonly: true, strict: true });
    const rows = database.query<{ block: Uint8Array }, []>("SELECT block FROM search_text_data").all();
    return rows.flatMap(({ block }) => {
      const text = Buffer.from(block).toString("latin1");
      const all = Array.from({ length: Math.floor(text.length / PIECE) }, (_, k) =>
        text.slice(k * PIECE, (k + 1) * PIECE),
      );
      return all.filter((piece) => new Set(piece).size > PIECE / 2);
    });
  }

  /** How many of the pieces are in the files of the store. */
  function countIn({ path }: Place, wanted: ReadonlySet<string>): number {
    const files = [path, `${path}-wal`].filter((file) => existsSync(file));
    const bytes = files.map((file) => readFileSync(file, "latin1")).join("");
    const found = new Set<string>();
    for (let at = 0; at + PIECE <= bytes.length; at += 1) {
      const piece = bytes.slice(at, at + PIECE);
      if (wanted.has(piece)) found.add(piece);
    }
    return found.size;
  }

  test("leaves no term in the file, also none that FTS5 had rewritten or that did not count any more", async () => {
    using place = new Place();
    const seen = new Set<string>();
    for (const id of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
      await add(place, id, noise(id));
      await index(place);
      for (const piece of pieces(place)) seen.add(piece);
    }
    // Its terms are dead now, and go when those take their place that are made of the repaired session.
    place.run("UPDATE search_ranges SET checksum = checksum + 1 WHERE session = 2");
    await index(place);
    for (const piece of pieces(place)) seen.add(piece);
    expect(seen.size).toBeGreaterThan(1_000);
    expect(countIn(place, seen)).toBeGreaterThan(500);
    await remove(place, "b");
    expect(countIn(place, seen)).toBe(0);
  });

  test("and was never indexed leaves the index as it is", async () => {
    using place = new Place();
    await place.fill({ a: talk("a") });
    await index(place);
    await add(place, "b", talk("b"));
    await remove(place, "b");
    expect((await find(place.path, textMatcher("a-7", false), LAZY)).read).toBeLessThan(8);
  });
});
