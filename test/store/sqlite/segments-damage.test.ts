import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { z } from "zod";
import { recordChecksum } from "../../../src/store/sqlite/keys.ts";
import type { RecordRow } from "../../../src/store/sqlite/rows.ts";
import { isSegment, packSegment, Segment } from "../../../src/store/sqlite/segment.ts";
import { toEvents } from "../../fixtures/event-drafts.ts";
import { streamedTurn } from "../../fixtures/streamed-log.ts";
import { compact, deltas, rowsIn, segmentsIn, versionOf } from "./compacting.ts";
import {
  errorsIn,
  examine,
  goOn,
  long,
  ordinaryContents,
  PAGE,
  pagesOf,
  piecesOf,
  repair,
  rowsIn as rowsSetAside,
  spoilPage,
} from "./damaged.ts";
import { fill } from "./every-path.ts";
import { Place } from "./place.ts";

const EVENTS = toEvents([...deltas(600), ...Array.from({ length: 60 }, (_, n) => long(n, 20 * n))]);
const TEXTS = EVENTS.map((event) => JSON.stringify(event));
const QUARANTINE = ".quarantine-1";

async function compacted(): Promise<Place> {
  const place = new Place();
  await fill(place, EVENTS, [7]);
  await compact(place);
  return place;
}

describe("a damaged segment", () => {
  test.each([
    [
      "a flipped bit in its frame",
      "UPDATE records SET frame = CAST(substr(frame, 1, 60) || x'00' || substr(frame, 62) AS BLOB)",
      "damaged",
    ],
    ["no frame", "UPDATE records SET frame = NULL", "damaged"],
    ["another count", "UPDATE records SET count = count + 1", "malformed"],
    ["another seq", "UPDATE records SET id = id + 1", "malformed"],
    [
      "a body that says something else",
      "UPDATE records SET body = replace(body, '\"rows\":', '\"rows\":1')",
      "damaged",
    ],
  ] as const)("with %s is found with its place, and all before it is kept", async (_, change, code) => {
    using place = await compacted();
    const [, second] = segmentsIn(place);
    const seq = second?.seq ?? 0;
    expect(segmentsIn(place).length).toBeGreaterThan(3);
    place.run(`${change} WHERE seq = ${seq}`);
    const at = change.includes("id + 1") ? seq + 1 : seq;
    const [error] = await errorsIn(place.path);
    expect(error).toMatchObject({ code, place: { row: 2 ** 32 + at } });
    expect(await ordinaryContents(place.path)).toEqual({ s: TEXTS.slice(0, seq) });
    const { steps } = await repair(place.path);
    expect(steps).toMatchObject([{ kind: "session", keptEvents: seq, reason: { code } }]);
    expect((await ordinaryContents(place.path))["s"]?.slice(0, seq)).toEqual(TEXTS.slice(0, seq));
    expect(await errorsIn(place.path)).toEqual([]);
    // What is set aside is the damaged row as it is, and what lies behind it row by row.
    const [head, ...aside] = piecesOf(place.path + QUARANTINE).filter(({ kind }) => kind === "row");
    if (code === "damaged" && !change.includes("NULL"))
      expect(head).toMatchObject({ values: { type: "segment" } });
    expect(aside.length).toBeGreaterThan(10);
    expect(aside.at(-1)).toMatchObject({ values: { body: TEXTS.at(-1) } });
    await goOn(place);
    expect(await errorsIn(place.path)).toEqual([]);
  });

  test("of which one row is damage is cut in the middle, and the rows before stay", async () => {
    using place = new Place();
    const turn = streamedTurn([
      { blocks: [{ kind: "text", text: "Remember the milk. ".repeat(40), cuts: [5, 9, 30, 31, 200] }] },
      { blocks: [{ kind: "text", text: "And the bread.", cuts: [3] }] },
    ]);
    await fill(place, toEvents(turn), [3]);
    await compact(place, "compact", { segmentLength: 100_000, leastQuoted: 128, leastGain: 1 });
    const [segment] = segmentsIn(place);
    expect(segment?.count).toBe(turn.length);
    const { rows, bad } = withForgedQuote(place);
    replaceSegment(place, packSegment(rows));
    expect(await errorsIn(place.path)).toMatchObject([
      { code: "reference", place: { row: 2 ** 32, seq: bad } },
      {},
    ]);
    expect((await ordinaryContents(place.path))["s"]).toHaveLength(bad);
    expect((await repair(place.path)).steps).toMatchObject([
      { keptEvents: bad, cut: { events: turn.length - bad - 1 } },
    ]);
    expect(rowsIn(place).every(({ frame }) => frame === null)).toBe(true);
    expect(await errorsIn(place.path)).toEqual([]);
    expect(rowsSetAside(place.path + QUARANTINE).length).toBeGreaterThan(3);
    await compact(place);
    expect(await errorsIn(place.path)).toEqual([]);
  });

  test("stays whole where a row lies among those that it stands for, which is set aside with all behind it", async () => {
    using place = await compacted();
    const [, second, third] = segmentsIn(place);
    const [from = 0, next = 0] = [second?.seq, third?.seq];
    place.run(
      `INSERT INTO records (id, count, type, time, body, checksum) SELECT id + 3, count, type, time, body, checksum FROM records WHERE seq = ${from}`,
    );
    expect(await errorsIn(place.path)).not.toEqual([]);
    expect(await ordinaryContents(place.path)).toEqual({ s: TEXTS.slice(0, next) });
    expect((await repair(place.path)).steps).toMatchObject([{ kind: "session", keptEvents: next }]);
    expect(await errorsIn(place.path)).toEqual([]);
    expect(segmentsIn(place)).toHaveLength(2);
    expect((await ordinaryContents(place.path))["s"]?.slice(0, next)).toEqual(TEXTS.slice(0, next));
    const [junk, ...aside] = rowsSetAside(place.path + QUARANTINE);
    expect(junk).toStartWith(`${2 ** 32 + from + 3} `);
    expect(aside.length).toBeGreaterThan(10);
  });

  test("of other rows than it says is no segment", async () => {
    using place = await compacted();
    const rows = storedRows(place);
    const unpacked = rows.filter(isSegment).map((row) => new Segment(row, {}).rows());
    const own = unpacked.find(({ length }) => length > 3)?.map(({ row }) => row) ?? expect.unreachable();
    const [, , third] = own;
    expect(() => new Segment(packSegment(own), {}).rows()).not.toThrow();
    const forged = [
      packSegment(own.filter((row) => row !== third)),
      packSegment([...own.slice(0, 2), ...own]),
      { ...packSegment(own), frame: Bun.zstdCompressSync("x") },
      { ...packSegment(own), frame: Bun.zstdCompressSync(Buffer.alloc(1 << 27)) },
    ];
    for (const row of forged) {
      const checksum = Bun.hash.crc32(row.frame, Bun.hash.crc32(row.body));
      expect(() => new Segment({ ...row, checksum }, {}).rows()).toThrow("malformed");
    }
  });
});

describe("pages of a compacted store", () => {
  test("that no tree leads to any more give back the segments in them, whole or not at all", async () => {
    using original = await compacted();
    const bytes = readFileSync(original.path);
    const all = new Set(TEXTS);
    let most = 0;
    for (let page = 2; page <= pagesOf(original.path); page += 1) {
      using place = new Place();
      await Bun.write(place.path, bytes);
      spoilPage(place.path, page, 0xa5);
      const { contents } = await examine(place.path, true);
      const found = Object.values(contents).flat();
      expect(found.every((text) => all.has(text))).toBe(true);
      expect(new Set(found).size).toBe(found.length);
      most = Math.max(most, found.length === TEXTS.length ? 1 : 0);
      await repair(place.path);
      expect({ page, errors: await errorsIn(place.path) }).toEqual({ page, errors: [] });
      await goOn(place);
    }
    // The root of the tree is one of them.
    expect(most).toBe(1);
  }, 30_000);

  test("are built anew with the damaged segment in its place", async () => {
    using place = await compacted();
    const [, second] = segmentsIn(place);
    place.run(
      `UPDATE records SET checksum = 1 WHERE seq = ${second?.seq}`,
      "PRAGMA wal_checkpoint(TRUNCATE)",
    );
    spoilPage(place.path, rootOf(place, "sqlite_autoindex_sessions_1"), 0xa5);
    expect((await repair(place.path)).steps).toMatchObject([
      { kind: "store", keptSessions: 1 },
      { kind: "session", keptEvents: second?.seq },
    ]);
    expect(versionOf(place)).toBe(3);
    expect(await errorsIn(place.path)).toEqual([]);
    expect((await ordinaryContents(place.path))["s"]?.slice(0, second?.seq)).toEqual(
      TEXTS.slice(0, second?.seq),
    );
  });

  test("do not contradict those of the rows that were packed, where free pages cannot be told", async () => {
    using place = new Place();
    await fill(place, EVENTS, [7]);
    const before = readFileSync(place.path);
    await compact(place);
    const root = rootOf(place);
    // As if the pages of the old rows had stayed, and nothing told that they are free.
    await Bun.write(place.path, Buffer.concat([readFileSync(place.path), before.subarray(PAGE)]));
    spoilPage(place.path, root, 0xa5);
    expect((await examine(place.path, true)).contents).toEqual({ s: TEXTS });
  });
});

const rowSchema = z.object({
  seq: z.number(),
  count: z.number(),
  type: z.string(),
  time: z.number(),
  body: z.string(),
  sources: z.string().nullable(),
  checksum: z.number(),
  frame: z.instanceof(Uint8Array).nullable(),
});

function storedRows(place: Place): RecordRow[] {
  using database = place.raw();
  return z.array(rowSchema).parse(database.query("SELECT * FROM records ORDER BY id").all());
}

/** The rows of the one segment, of which one names other deltas than it quotes; and its seq. */
function withForgedQuote(place: Place): { readonly rows: RecordRow[]; readonly bad: number } {
  const [segment] = storedRows(place);
  if (segment === undefined || !isSegment(segment)) throw new Error("no segment");
  const rows = new Segment(segment, {}).rows().map(({ row }) => row);
  const k = rows.findIndex(({ sources }) => sources?.includes("quoted"));
  const row = rows[k] ?? expect.unreachable();
  const sources = row.sources?.replace(/\[(\d+),\d+,/, "[$1,1,") ?? "";
  rows[k] = { ...row, sources, checksum: recordChecksum({ body: row.body, sources }) };
  return { rows, bad: row.seq };
}

function replaceSegment(place: Place, { body, frame, checksum }: ReturnType<typeof packSegment>): void {
  using database = place.raw();
  database.query("UPDATE records SET body = $body, frame = $frame, checksum = $checksum").run({
    body,
    frame,
    checksum,
  });
}

function rootOf(place: Place, name = "records"): number {
  using database = place.raw();
  const row = database.query("SELECT rootpage FROM sqlite_schema WHERE name = $name").get({ name });
  return z.object({ rootpage: z.number() }).parse(row).rootpage;
}
