import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { openMemory } from "../../../src/store/memory/index.ts";
import { salvageSession } from "../../../src/store/salvage.ts";
import { openSalvageSource } from "../../../src/store/salvage-source.ts";
import { planSqliteRepair, repairSqlite } from "../../../src/store/sqlite/repairer.ts";
import { rejectionOf, title } from "../../contract/support.ts";
import { errorsIn, examine, goOn, long, ordinaryContents, repair } from "./damaged.ts";
import { Place } from "./place.ts";

/*
 * A store whose first bytes are not what was written. Its rows show that it is one, wherever they lie, and it is built
 * anew from them; any other file stays refused.
 */

const SESSIONS = {
  a: Array.from({ length: 60 }, (_, n) => title(n)),
  b: Array.from({ length: 12 }, (_, n) => long(n, n * 900)),
  c: [title(0), title(1)],
};

type Spoil = (bytes: Buffer) => void;
const zeros =
  (from: number, to: number): Spoil =>
  (bytes) =>
    bytes.fill(0, from, to);
const flip =
  (at: number, bits = 0xff): Spoil =>
  (bytes) => {
    bytes[at] = (bytes[at] ?? 0) ^ bits;
  };

async function filled(spoil: Spoil): Promise<Place> {
  const place = new Place();
  await place.fill(SESSIONS);
  spoilFile(place.path, spoil);
  return place;
}

function spoilFile(path: string, spoil: Spoil): void {
  const bytes = readFileSync(path);
  spoil(bytes);
  writeFileSync(path, bytes);
}

/** The new ids and how many events of each salvaged session were there. */
async function salvaged(from: string): Promise<unknown[]> {
  await using source = await openSalvageSource(from);
  await using store = openMemory({ clock: () => 0, chunkWindowMs: 0 });
  const results: unknown[] = [];
  const options = { clock: () => 0, onlyDamaged: true };
  for await (const session of source.sessions()) {
    const result = await salvageSession(session, () => Promise.resolve(store), options);
    results.push("totals" in result ? [result.newId, result.totals.taken] : result.state);
  }
  return results;
}

describe("a store is known by its rows, told to be damaged, and brought back whole, where this is damaged:", () => {
  test.each<readonly [string, Spoil, number]>([
    ["a byte of its first words", flip(5), 0],
    ["its first 16 bytes", zeros(0, 16), 0],
    ["its first 100 bytes", zeros(0, 100), 0],
    ["its first page", zeros(0, 4096), 0],
    ["its first page, with garbage", (bytes) => bytes.fill(0xa5, 0, 4096), 0],
    ["the size of its pages", flip(16), 16],
    ["the format of the file", flip(18), 18],
    ["the schema's format", flip(44), 44],
    ["the encoding of texts", flip(59, 3), 56],
    ["the version", flip(60), 60],
    ["one bit of the version", flip(63, 2), 60],
    ["a byte of the application's id", flip(68), 68],
    ["the application's id and the version", zeros(60, 72), 68],
  ])("%s", async (_, spoil, offset) => {
    using place = await filled(() => {});
    const sound = await ordinaryContents(place.path);
    spoilFile(place.path, spoil);
    const before = place.contents();
    const place_ = { path: place.path, offset };
    for (const refusal of [place.open(), ordinaryContents(place.path)]) {
      const hint = expect.stringContaining("sessions repair");
      expect(await rejectionOf(refusal)).toMatchObject({ code: "corrupt", place: place_, hint });
    }
    const message = expect.stringMatching(
      /^The header .* damaged; .*`holdfast sessions repair --dry-run` tells/,
    );
    expect(await errorsIn(place.path)).toMatchObject([{ code: "store-damaged", message, place: place_ }]);
    for (const from of [place.path, `sqlite:${place.path}`]) {
      expect(await salvaged(from)).toEqual([
        ["a-salvaged", 60],
        ["b-salvaged", 12],
        ["c-salvaged", 2],
      ]);
    }
    expect((await planSqliteRepair(place.path)).steps).toMatchObject([
      { kind: "store", keptSessions: 3, keptEvents: 74 },
    ]);
    expect(place.contents()).toEqual(before);
    await repair(place.path);
    expect(await errorsIn(place.path)).toEqual([]);
    expect(await ordinaryContents(place.path)).toEqual(sound);
    await goOn(place);
  });

  test.each([512, 1024, 8192, 65_536])("its first page, of pages of %p bytes", async (size) => {
    using place = await filled(() => {});
    place.run("PRAGMA journal_mode = DELETE", `PRAGMA page_size = ${size}`, "VACUUM");
    const sound = await ordinaryContents(place.path);
    spoilFile(place.path, zeros(0, size));
    await repair(place.path);
    expect(await ordinaryContents(place.path)).toEqual(sound);
  });
});

test("whichever byte of the header is another one: what can be read was there, and a repair brings all of it back", async () => {
  using place = new Place();
  await place.fill({ a: SESSIONS.a, c: SESSIONS.c });
  const bytes = readFileSync(place.path);
  const sound = await ordinaryContents(place.path);
  for (let at = 0; at < 100; at += 1) {
    using other = new Place();
    writeFileSync(other.path, bytes);
    spoilFile(other.path, flip(at));
    await repair(other.path);
    expect({ at, contents: await ordinaryContents(other.path) }).toEqual({ at, contents: sound });
  }
}, 30_000);

test("what was deleted does not come back with the rows that are found", async () => {
  using place = await filled(() => {});
  {
    await using store = await place.open();
    await store.delete("b");
  }
  spoilFile(place.path, zeros(0, 100));
  await repair(place.path);
  expect(Object.keys(await ordinaryContents(place.path)).toSorted()).toEqual(["a", "c"]);
});

describe("what is no store stays refused by a repair, and every byte of it stays:", () => {
  const others: ReadonlyArray<readonly [string, (place: Place) => void | Promise<void>]> = [
    ["notes", ({ path }) => writeFileSync(path, "These are notes.\n".repeat(2_000))],
    ["zeros", ({ path }) => writeFileSync(path, Buffer.alloc(70_000))],
    [
      "a database of another application",
      (place) => place.run("CREATE TABLE t (a)", "PRAGMA application_id = 7"),
    ],
    [
      "a database of another application with tables like ours",
      async (place) => {
        await place.fill(SESSIONS);
        place.run("PRAGMA application_id = 7");
      },
    ],
    [
      "a store of a later version",
      async (place) => {
        await place.fill(SESSIONS);
        place.run("PRAGMA user_version = 4");
      },
    ],
    [
      "a damaged database with rows that are shaped like ours and prove nothing",
      ({ path }) => {
        using database = new Database(path);
        database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, b TEXT, c INT, d TEXT, e TEXT, f INT)");
        for (let n = 0; n < 50; n += 1) database.run("INSERT INTO t VALUES (?, 1, 'x', 1, '', NULL, 0)", [n]);
        database.close();
        spoilFile(path, zeros(0, 16));
      },
    ],
  ];
  test.each(others)("%s", async (_, make) => {
    using place = new Place();
    await make(place);
    const before = place.contents();
    const refused = [examine(place.path), examine(place.path, true), repairSqlite(place.path), place.open()];
    for (const refusal of refused)
      expect(await rejectionOf(refusal)).toMatchObject({ code: "unsupported-format" });
    expect(place.contents()).toEqual(before);
  });
});
