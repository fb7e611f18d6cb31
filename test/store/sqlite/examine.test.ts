import { describe, expect, test } from "bun:test";
import { chmodSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { examineSqlite } from "../../../src/store/sqlite/examine.ts";
import { headerChecksum } from "../../../src/store/sqlite/keys.ts";
import { deltas, rejectionOf, title } from "../../contract/support.ts";
import { DrivenStore } from "../../fixtures/driven-store.ts";
import { assistantMessage, textBlock, userMessage } from "../../fixtures/event-drafts.ts";
import { fileStats } from "../../fixtures/file-stats.ts";
import { AS_NOBODY } from "../../fixtures/nobody.ts";
import { errorsIn, examine, long, overwrite, pagesOf, spoilPage } from "./damaged.ts";
import { Place } from "./place.ts";

const AT = { turn: 1, step: 1 };
/** Seqs 0, 1 to 5 as one run, 6 citing five seqs as ranges, 7 and 8. */
const DRAFTS = [
  userMessage("hello"),
  ...deltas(5),
  assistantMessage(AT, [textBlock("hi")], { sources: [1, 2, 3, 4, 5] }),
  title(7),
  title(8),
];

async function filled(): Promise<Place> {
  const place = new Place();
  await place.fill({ s: DRAFTS, other: [title(0), title(1)] });
  return place;
}

/** What happens to a row, the code that is found, and the seq of its place. */
const ROWS: ReadonlyArray<readonly [string, string, string, number]> = [
  ["a bit of its body", "SET body = replace(body, '\"n\":7', '\"n\":6') WHERE seq = 7", "damaged", 7],
  ["its sources", "SET sources = '[[1,4]]' WHERE seq = 6", "damaged", 6],
  ["its checksum", "SET checksum = checksum + 1 WHERE seq = 0", "damaged", 0],
  ["the column type", "SET type = 'session/other' WHERE seq = 7", "malformed", 7],
  ["the column time", "SET time = time + 1 WHERE seq = 1", "malformed", 1],
  ["the column count", "SET count = 4 WHERE seq = 1", "malformed", 1],
  ["its id", "SET id = id + 1 WHERE seq = 8", "malformed", 9],
];

describe("an examiner finds what is wrong with a row, and reads on behind it:", () => {
  test.each(ROWS)("%s", async (_, update, code, seq) => {
    using place = await filled();
    const sound = await examine(place.path);
    place.run(`UPDATE records ${update} AND session = 1`);
    const { findings, contents } = await examine(place.path);
    expect(findings).toMatchObject([
      { code, place: { path: place.path, sessionId: "s", row: 2 ** 32 + seq, seq } },
    ]);
    const left = new Set(contents["s"]);
    const lost = sound.contents["s"]?.filter((text) => !left.has(text)) ?? [];
    expect(lost.length).toBe(seq === 1 ? 5 : 1);
    expect(contents["other"]).toEqual(sound.contents["other"] ?? []);
    // Deep as it may look, there is nothing else to be found.
    expect((await examine(place.path, true)).contents).toEqual(contents);
  });

  test("a column of another type", async () => {
    using place = await filled();
    const bytes = readFileSync(place.path);
    // Types of the columns: id none, count 1, the name of 13 bytes, a time of 6 bytes; then that of the body.
    const header = bytes.lastIndexOf(Uint8Array.of(0, 9, 39, 5), bytes.indexOf('"seq":7'));
    const at = (bytes[header + 4] ?? 0) >= 0x80 ? header + 5 : header + 4;
    overwrite(place.path, at, Uint8Array.of((bytes[at] ?? 0) - 1));
    const { findings } = await examine(place.path);
    expect(findings.map(({ code }) => code)).toEqual(["store-damaged", "damaged"]);
    expect(findings[1]).toMatchObject({ place: { seq: 7 }, found: expect.stringContaining("body blob") });
  });
});

test("rows of no session are told with their number, and rows that are missing are no finding of a row", async () => {
  using place = await filled();
  place.run(
    "UPDATE records SET id = (9 << 32) + seq WHERE session = 2",
    "DELETE FROM records WHERE session = 1 AND seq = 6",
  );
  const { findings, contents } = await examine(place.path);
  expect(findings).toMatchObject([
    { code: "foreign", message: "2 rows belong to no session", place: { row: 9 * 2 ** 32, seq: 0 } },
  ]);
  expect(contents["s"]?.length).toBe(8);
  expect((await errorsIn(place.path)).map(({ code }) => code)).toEqual(["foreign", "events-missing"]);
});

describe("an examiner finds what is wrong with a header, and reads its rows all the same:", () => {
  const HEADER = '{"version":0,"id":"s","createdAt":1,"delegationDepth":0}';
  const set = (header: string, key = "s", checksum = headerChecksum(key, header)) =>
    `UPDATE sessions SET header = '${header}', key = '${key}', checksum = ${checksum} WHERE number = 1`;

  test.each([
    [
      "a bit of it",
      set(HEADER.replace("1,", "2,"), "s", headerChecksum("s", HEADER)),
      ["header-damaged"],
      "s",
    ],
    ["no JSON", set(HEADER.slice(1)), ["header-damaged"], "s"],
    ["no header", set('{"version":0}'), ["header-damaged"], "s"],
    ["another version", set(HEADER.replace('"version":0', '"version":1')), ["unsupported-version"], "s"],
    ["another id", set(HEADER.replace('"s"', '"t"')), ["header-misplaced"], "s"],
    [
      "another key",
      set(HEADER, "t", headerChecksum("s", HEADER)),
      ["header-damaged", "header-misplaced"],
      "s",
    ],
    [
      "a key that is none",
      set(HEADER, '"', 7),
      ["header-damaged", "header-damaged", "header-misplaced"],
      "s",
    ],
  ])("%s", async (_, update, codes, id) => {
    using place = await filled();
    place.run(update);
    const { findings, contents } = await examine(place.path);
    expect(findings.map(({ code }) => code)).toEqual(codes as (typeof findings)[number]["code"][]);
    expect(findings.every(({ place: { sessionId } }) => sessionId === id)).toBe(true);
    expect(contents[id]?.length).toBe(9);
  });
});

describe("an examiner goes past a damaged page", () => {
  const SESSIONS = {
    a: Array.from({ length: 300 }, (_, n) => title(n)),
    b: Array.from({ length: 40 }, (_, n) => long(n, n * 400)),
    c: [title(0)],
  };

  test("whichever page it is, and whatever stands in it: it says so, and gives nothing that was not there", async () => {
    using place = new Place();
    await place.fill(SESSIONS);
    const sound = readFileSync(place.path);
    const all = (await examine(place.path)).contents;
    const pages = pagesOf(place.path);
    expect(pages).toBeGreaterThan(40);
    let kept = 0;
    for (let page = 1; page <= pages; page += page < 12 ? 1 : 23) {
      for (const fill of [0, 0xa5]) {
        writeFileSync(place.path, sound);
        spoilPage(place.path, page, fill);
        const { findings, contents } = await examine(place.path, true);
        const found = findings.map(({ code }) => code);
        expect({ page, fill, found: found.some((code) => /damaged/.test(code)) }).toEqual({
          page,
          fill,
          found: true,
        });
        for (const [id, texts] of Object.entries(contents)) {
          kept += texts.length;
          expect(all[id]).toEqual(expect.arrayContaining([...texts]));
        }
      }
    }
    // A page is a small part of all, and what leads to others can be done without.
    const tries = 2 * (11 + Math.ceil((pages - 11) / 23));
    expect(kept / tries).toBeGreaterThan(0.95 * 341);
  }, 30_000);

  test.each([
    ["at the end of a page", 30 * 4096],
    ["within a page", 30 * 4096 + 1_000],
  ])("and past the end of a file that was cut %s", async (_, size) => {
    using place = new Place();
    await place.fill(SESSIONS);
    const all = (await examine(place.path)).contents;
    truncateSync(place.path, size);
    const { findings, contents } = await examine(place.path, true);
    expect(findings.map(({ code }) => code)).toContain("store-damaged");
    for (const [id, texts] of Object.entries(contents))
      expect(all[id]).toEqual(expect.arrayContaining([...texts]));
    expect(contents["a"]).toEqual(all["a"] ?? []);
  });

  test("and finds nothing of what was deleted, also where the list of free pages is damaged", async () => {
    using place = new Place();
    await place.fill(SESSIONS);
    {
      await using store = await place.open();
      await store.delete("a");
    }
    expect(Object.keys((await examine(place.path, true)).contents)).toEqual(["b", "c"]);
    using database = place.raw();
    const trunk = readFileSync(place.path).readUInt32BE(32);
    database.close();
    spoilPage(place.path, trunk, 0xff);
    expect(Object.keys((await examine(place.path, true)).contents)).toEqual(["b", "c"]);
  });
});

describe("an examiner leaves everything as it is", () => {
  test("beside a process that writes, and sees what was acknowledged", async () => {
    using place = new Place();
    await using driven = await DrivenStore.open(place.path);
    await driven.run("put", "s", 3);
    const before = fileStats(place.folder);
    expect(await examine(place.path)).toMatchObject({ findings: [], contents: { s: { length: 3 } } });
    expect((await examine(place.path, true)).contents["s"]?.length).toBe(3);
    expect(fileStats(place.folder)).toEqual(before);
    await driven.run("append", "s", 3);
    expect((await examine(place.path)).contents["s"]?.length).toBe(4);
  });

  test("of a damaged store", async () => {
    using place = await filled();
    spoilPage(place.path, 5, 0xa5);
    const before = fileStats(place.folder);
    await examine(place.path);
    await examine(place.path, true);
    expect(fileStats(place.folder)).toEqual(before);
  });

  test.skipIf(AS_NOBODY === undefined)("where it may write nothing", async () => {
    using place = await filled();
    chmodSync(place.folder, 0o555);
    chmodSync(place.path, 0o444);
    const module = Bun.fileURLToPath(new URL("../../../src/store/sqlite/examine.ts", import.meta.url));
    const code = `const { examineSqlite } = await import(${JSON.stringify(module)});
      await using examiner = await examineSqlite(${JSON.stringify(place.path)}, { deep: true });
      for await (const session of examiner.sessions()) for await (const item of session.items()) console.log(item.kind);`;
    const { stdout } = Bun.spawnSync([...(AS_NOBODY ?? []), process.execPath, "-e", code], {
      env: { HOME: "/tmp" },
    });
    chmodSync(place.folder, 0o755);
    expect(stdout.toString().trim().split("\n")).toEqual(["records", "records"]);
  });
});

test.each([
  ["nothing", (_: Place) => {}, "not-found"],
  ["a text file", ({ path }: Place) => writeFileSync(path, "hello\n".repeat(100)), "unsupported-format"],
  ["an empty file", ({ path }: Place) => writeFileSync(path, ""), "unsupported-format"],
  ["a database of another program", (place: Place) => place.run("CREATE TABLE t (a)"), "unsupported-format"],
])("an examiner refuses %s", async (_, make, code) => {
  using place = new Place();
  make(place);
  expect(await rejectionOf(examineSqlite(place.path))).toMatchObject({ code });
});
