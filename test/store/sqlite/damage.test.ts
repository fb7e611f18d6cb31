import { describe, expect, test } from "bun:test";
import { deltas, outcomesOf, rejectionOf, titleAt } from "../../contract/support.ts";
import { assistantMessage, replacing, textBlock, userMessage } from "../../fixtures/event-drafts.ts";
import { Place } from "./place.ts";

/*
 * Damage in one session of a store: that session is refused by name, the others are as they were, and refusing changes
 * no byte.
 */

const AT = { turn: 1, step: 1 };
/** Seqs 0, 1 to 5 as one run, 6 citing five seqs as ranges, 7. */
const DRAFTS = [
  userMessage("hello"),
  ...deltas(5),
  assistantMessage(AT, [textBlock("hi")], { sources: [1, 2, 3, 4, 5] }),
  userMessage("bye"),
];

/** CRC-32 over the UTF-8 bytes of body and sources, as docs/format.md has it. */
function checksum(body: string, sources: string | null = null): number {
  return Bun.hash.crc32(new TextEncoder().encode(body + (sources ?? "")));
}

interface Row {
  readonly id: number;
  readonly seq: number;
  readonly count: number;
  readonly type: string;
  readonly time: number;
  readonly body: string;
  readonly sources: string | null;
}

/** The row of the damaged session that begins at this seq. */
function rowAt(place: Place, seq: number): Row {
  using database = place.raw();
  const row = database.query<Row, [number]>("SELECT * FROM records WHERE session = 1 AND seq = ?").get(seq);
  if (row === null) throw new Error(`no row at ${seq}`);
  return row;
}

/** Rewrites a row as somebody who knows the format, checksum and all. */
function rewrite(place: Place, seq: number, change: (row: Row) => Partial<Row>): void {
  const row = rowAt(place, seq);
  const next = { ...row, ...change(row) };
  using database = place.raw();
  database
    .query(
      "UPDATE records SET id = ?, count = ?, type = ?, time = ?, body = ?, sources = ?, checksum = ? WHERE id = ?",
    )
    .run(
      next.id,
      next.count,
      next.type,
      next.time,
      next.body,
      next.sources,
      checksum(next.body, next.sources),
      row.id,
    );
}

function body(change: (text: string) => string) {
  return (row: Row) => ({ body: change(row.body) });
}

/** What is damaged, how, and at which seq the refusal must point. */
const DAMAGE: ReadonlyArray<readonly [string, (place: Place) => void, number]> = [
  [
    "a body that is not JSON",
    (place) =>
      rewrite(
        place,
        7,
        body((text) => text.slice(0, -3)),
      ),
    7,
  ],
  [
    "a body that is no object",
    (place) =>
      rewrite(
        place,
        7,
        body(() => "[1,2]"),
      ),
    7,
  ],
  [
    "a known event without a required key",
    (place) =>
      rewrite(
        place,
        7,
        body((text) => text.replace('"role":"user",', "")),
      ),
    7,
  ],
  [
    "a number too large for JSON readers",
    (place) =>
      rewrite(
        place,
        7,
        body((text) => text.replace('"data":{', '"data":{"n":1e999,')),
      ),
    7,
  ],
  [
    "a run whose gaps do not fit its texts",
    (place) =>
      rewrite(
        place,
        1,
        body((text) => text.replace('"dt":[1,', '"dt":[1,1,')),
      ),
    1,
  ],
  [
    "a bit that flipped in a text",
    (place) =>
      place.run("UPDATE records SET body = replace(body, 'bye', 'bya') WHERE session = 1 AND seq = 7"),
    7,
  ],
  [
    "a bit that flipped in the sources",
    (place) => place.run("UPDATE records SET sources = '[[1,4]]' WHERE session = 1 AND seq = 6"),
    6,
  ],
  [
    "a checksum that is another one",
    (place) => place.run("UPDATE records SET checksum = checksum + 1 WHERE session = 1 AND seq = 0"),
    0,
  ],
  ["sources that cite a later event", (place) => rewrite(place, 6, () => ({ sources: "[[1,6]]" })), 6],
  ["sources that are no ranges", (place) => rewrite(place, 6, () => ({ sources: '{"a":1}' })), 6],
  ["sources that are not JSON", (place) => rewrite(place, 6, () => ({ sources: "[[1," })), 6],
  ["sources on an event that cites none", (place) => rewrite(place, 1, () => ({ sources: "[[0,0]]" })), 1],
  [
    "sources on an event that has none by its type",
    (place) =>
      rewrite(place, 7, ({ seq, time }) => ({
        type: "session/title",
        body: JSON.stringify({ type: "session/title", seq, time, data: 1 }),
        sources: "[[0,0]]",
      })),
    7,
  ],
  ["the column type", (place) => rewrite(place, 7, () => ({ type: "session/title" })), 7],
  ["the column time", (place) => rewrite(place, 7, ({ time }) => ({ time: time + 1 })), 7],
  ["the column count", (place) => rewrite(place, 1, () => ({ count: 4 })), 1],
  ["the place of a row", (place) => rewrite(place, 7, ({ id }) => ({ id: id + 1 })), 8],
  ["a gap: a row is missing", (place) => place.run("DELETE FROM records WHERE session = 1 AND seq = 1"), 1],
  [
    "a log that does not begin at 0",
    (place) => place.run("DELETE FROM records WHERE session = 1 AND seq = 0"),
    0,
  ],
  [
    "an overlap: a run reaches into the next row",
    (place) => {
      rewrite(place, 1, ({ body: text }) => ({
        count: 6,
        body: text.replace('"dt":[', '"dt":[1,').replace('"texts":[', '"texts":["x",'),
      }));
    },
    7,
  ],
  [
    "a replacement of what is not on the surface",
    (place) => {
      const [event] = [replacing(userMessage("bye"), 3, 4, [3, 4])];
      rewrite(place, 7, ({ body: text }) => ({ body: JSON.stringify({ ...JSON.parse(text), ...event }) }));
    },
    7,
  ],
];

describe("damage in one session", () => {
  for (const [what, damage, seq] of DAMAGE) {
    test(`${what}: corrupt, with its place; nothing changes`, async () => {
      using place = new Place();
      await place.fill({ bad: DRAFTS, good: DRAFTS });
      damage(place);
      const before = place.contents();
      {
        await using store = await place.open();
        for (const method of ["inspect", "load", "prepare"] as const) {
          expect(await rejectionOf(store[method]("bad"))).toMatchObject({
            code: "corrupt",
            place: { sessionId: "bad", seq },
          });
        }
        expect(await outcomesOf([store.append("bad", [titleAt(8)])])).toEqual(["corrupt"]);
        expect((await store.list()).items.map(({ id }) => id).toSorted()).toEqual(["bad", "good"]);
        expect((await store.load("good")).log.length).toBe(8);
      }
      expect(place.contents()).toEqual(before);
    });
  }

  test("reading a part names damage in that part, and serves the rest", async () => {
    using place = new Place();
    await place.fill({ bad: DRAFTS });
    place.run("UPDATE records SET checksum = 0 WHERE seq = 6");
    await using store = await place.open();
    expect((await store.readFrom("bad", 0, { limit: 2 })).length).toBe(2);
    expect((await store.readFrom("bad", 7)).length).toBe(1);
    expect(await rejectionOf(store.readFrom("bad", 5))).toMatchObject({ code: "corrupt", place: { seq: 6 } });
  });

  test("reading a part never skips a missing row in silence", async () => {
    using place = new Place();
    await place.fill({ bad: DRAFTS });
    place.run("DELETE FROM records WHERE seq = 6");
    await using store = await place.open();
    for (const from of [0, 3, 5, 6]) {
      expect(await rejectionOf(store.readFrom("bad", from))).toMatchObject({
        code: "corrupt",
        place: { seq: 6 },
      });
    }
    expect((await store.readFrom("bad", 7)).length).toBe(1);
  });

  test("reading a part never begins with a row that stands within another one", async () => {
    using place = new Place();
    await place.fill({ bad: DRAFTS });
    // Seqs 1 to 5 are one row here.
    place.run(
      "INSERT INTO records SELECT (1 << 32) + 3, 1, type, time, replace(body, '\"seq\":0', '\"seq\":3'), sources, 0 FROM records WHERE session = 1 AND seq = 0",
    );
    const { body } = rowAt(place, 3);
    place.run(`UPDATE records SET checksum = ${checksum(body)} WHERE session = 1 AND seq = 3`);
    await using store = await place.open();
    for (const from of [0, 3, 4]) {
      expect(await rejectionOf(store.readFrom("bad", from))).toMatchObject({
        code: "corrupt",
        message: expect.stringContaining("twice"),
      });
    }
  });

  test("an unknown event type is not damage: unsupported for resuming, shown by inspection", async () => {
    using place = new Place();
    await place.fill({ bad: DRAFTS });
    rewrite(place, 7, () => ({
      type: "future/event",
      body: '{"type":"future/event","seq":7,"time":1,"data":1}',
      time: 1,
    }));
    const before = place.contents();
    {
      await using store = await place.open();
      expect((await store.inspect("bad")).unknownTypes).toEqual([{ type: "future/event", seq: 7 }]);
      for (const method of ["load", "prepare"] as const) {
        expect(await rejectionOf(store[method]("bad"))).toMatchObject({
          code: "unsupported-format",
          place: { seq: 7 },
        });
      }
    }
    expect(place.contents()).toEqual(before);
  });
});

const HEADERS: ReadonlyArray<readonly [string, string, string]> = [
  [
    "a header whose checksum does not match",
    "UPDATE sessions SET header = replace(header, '1', '2') WHERE number = 1",
    "corrupt",
  ],
  ["a key whose checksum does not match", "UPDATE sessions SET key = 'bae' WHERE number = 1", "not-found"],
  ["a key that is no JSON text", "UPDATE sessions SET key = 'b\"d' WHERE number = 1", "not-found"],
];

describe("damage in a header", () => {
  for (const [what, sql, code] of HEADERS) {
    test(`${what}: refused, and listed with the problem beside the others`, async () => {
      using place = new Place();
      await place.fill({ bad: DRAFTS, good: DRAFTS });
      place.run(sql);
      const before = place.contents();
      {
        await using store = await place.open();
        expect(await rejectionOf(store.inspect("bad"))).toMatchObject({ code });
        const { items } = await store.list();
        expect(items.length).toBe(2);
        expect(items.find(({ id }) => id === "good")?.header?.id).toBe("good");
        const bad = items.find(({ id }) => id !== "good");
        expect(bad?.header).toBeUndefined();
        expect(bad?.problem).toEqual({ state: "corrupt", reason: expect.stringContaining("checksum") });
        expect((await store.listSnapshots()).items.length).toBe(2);
      }
      expect(place.contents()).toEqual(before);
    });
  }

  test("a key that is no JSON text, with the right checksum", async () => {
    using place = new Place();
    await place.fill({ bad: DRAFTS, good: DRAFTS });
    using database = place.raw();
    const update = "UPDATE sessions SET key = ?, checksum = ? WHERE number = 1";
    const header = '{"version":0,"id":"bad","createdAt":1,"delegationDepth":0}';
    database.query(update).run('b"d', Bun.hash.crc32(`b"d\n${header}`));
    await using store = await place.open();
    expect((await store.list()).items).toMatchObject([
      { id: "good" },
      { id: 'b"d', problem: { state: "corrupt", reason: expect.stringContaining("key") } },
    ]);
  });

  test("a header of another id, with the right checksum", async () => {
    using place = new Place();
    await place.fill({ bad: DRAFTS });
    const header = '{"version":0,"id":"other","createdAt":1}';
    using database = place.raw();
    database
      .query("UPDATE sessions SET header = ?, checksum = ?")
      .run(header, Bun.hash.crc32(`bad\n${header}`));
    await using store = await place.open();
    expect(await rejectionOf(store.inspect("bad"))).toMatchObject({ code: "corrupt" });
    expect((await store.list()).items).toMatchObject([
      { id: "bad", problem: { state: "corrupt", reason: expect.stringContaining("other") } },
    ]);
  });
});
