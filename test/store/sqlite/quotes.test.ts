import { describe, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { SessionEvent } from "../../../src/session/events.ts";
import { recordTexts } from "../../../src/session/records.ts";
import { copySession, measure } from "../../../src/store/copy.ts";
import { examineSqlite } from "../../../src/store/sqlite/examine.ts";
import { openSqlite } from "../../../src/store/sqlite/index.ts";
import { LEAST_QUOTED, StreamedBlocks } from "../../../src/store/sqlite/streamed-blocks.ts";
import { SqliteWriter } from "../../../src/store/sqlite/writer.ts";
import { verifySessions } from "../../../src/store/verify.ts";
import { batchSizes, inBatches, oddString, toEvents } from "../../fixtures/arbitraries.ts";
import { recordsOf } from "../../fixtures/logs.ts";
import { plant, withStore } from "../../fixtures/stored-sessions.ts";
import { streamedSteps, streamedTurn } from "../../fixtures/streamed-log.ts";
import { TempFolder } from "../../fixtures/temp-folder.ts";
import { fill, isPlain, quotingRows, readByEveryPath, rowsOf, viewOf } from "./every-path.ts";
import { Place } from "./place.ts";

const LONG = "Remember the milk, and the “bread” too. ".repeat(10);
const CUTS = [5, 9, 30, 31, 200];

async function digestsOf(place: Place): Promise<readonly (string | undefined)[]> {
  await using examiner = await examineSqlite(place.path);
  const digests: (string | undefined)[] = [];
  for await (const report of verifySessions(examiner)) {
    if (report.kind === "session") digests.push(report.digest);
  }
  return digests;
}

describe("a text that was streamed", () => {
  test("is stored once, and comes out of the block's end, the message and the call as it was", async () => {
    using place = new Place();
    const blocks = (["reasoning", "text", "tool-call"] as const).map((kind) => ({
      kind,
      text: `${kind} 🦀 ${LONG}`,
      cuts: CUTS,
    }));
    const events = toEvents(streamedTurn([{ blocks, cites: true }]));
    await fill(place, events, [7]);
    expect(quotingRows(place).map(({ type }) => type)).toEqual([
      ...blocks.map(() => "assistant/chunk"),
      "assistant/message",
      "tool/call",
    ]);
    const deltas = rowsOf(place).filter(({ body }) => body.includes("milk"));
    expect(deltas.every(({ type }) => type.endsWith("-chunks") || type === "assistant/chunk")).toBeTrue();
    await readByEveryPath(place, events);
    expect(viewOf(place)).toEqual(events.map(({ data }) => data));
  });

  test("comes out as it was, whatever it is and however it was committed", async () => {
    let quoted = 0;
    await fc.assert(
      fc.asyncProperty(
        streamedSteps(oddString()),
        batchSizes(),
        fc.integer({ min: -1, max: 12 }),
        fc.constantFrom(1, 24, 128),
        async (steps, sizes, restart, leastQuoted) => {
          using place = new Place();
          const drafts = streamedTurn(steps);
          const events = toEvents(drafts);
          await fill(place, events, sizes, { restart, leastQuoted });
          quoted += quotingRows(place).length;
          await readByEveryPath(place, events);
          if (isPlain(drafts)) expect(viewOf(place)).toEqual(events.map(({ data }) => data));
          await using folder = await TempFolder.create();
          const target = `jsonl:${join(folder.path, "logs")}`;
          await withStore(target, async (copy) => {
            await using store = await place.open();
            const { digest } = await measure(await store.stream("s"));
            expect(await copySession(store, copy, "s")).toMatchObject({ state: "copied", digest });
            const texts: string[] = [];
            for await (const page of (await copy.stream("s")).pages)
              for (const { record } of page) texts.push(...recordTexts(record));
            expect(texts).toEqual(events.map((event) => JSON.stringify(event)));
            await store.close();
            expect(await digestsOf(place)).toEqual([digest]);
          });
        },
      ),
      { numRuns: 40 },
    );
    expect(quoted).toBeGreaterThan(20);
  }, 60_000);

  test("is put together in SQL, too, where a character was cut in two", async () => {
    using place = new Place();
    const events = toEvents(
      streamedTurn([{ blocks: [{ kind: "text", text: "🦀".repeat(100), cuts: [33, 40] }] }]),
    );
    await fill(place, events, [100]);
    expect(quotingRows(place)).toHaveLength(2);
    await readByEveryPath(place, events);
    using database = place.raw();
    const said =
      "SELECT data ->> '$.message.content[0].text' AS text FROM session_events WHERE type = 'assistant/message'";
    expect(database.query(said).get()).toEqual({ text: "🦀".repeat(100) });
  });

  test("is stored whole where the deltas say something else, or are not all known any more", async () => {
    const block = { kind: "text", text: LONG, cuts: CUTS } as const;
    using changed = new Place();
    await fill(changed, toEvents(streamedTurn([{ blocks: [{ ...block, isChanged: true }] }])), [4]);
    expect(quotingRows(changed)).toEqual([]);
    using restarted = new Place();
    await fill(restarted, toEvents(streamedTurn([{ blocks: [block] }])), [1], { restart: 6 });
    expect(quotingRows(restarted)).toEqual([]);
  });

  test("is not quoted from what was deleted, or may have been changed by somebody else", async () => {
    using place = new Place();
    const events = toEvents(streamedTurn([{ blocks: [{ kind: "text", text: LONG, cuts: CUTS }] }]));
    const records = inBatches(events, [1]).map((batch) => recordsOf(batch));
    const isEnd = ({ type, data }: SessionEvent) =>
      type === "assistant/chunk" && JSON.stringify(data).includes("block-end");
    const end = events.findIndex(isEnd);
    await using store = await place.open();
    for (const batch of records.slice(0, end)) await plant(store, "s", batch);
    // Changes nothing, and may have.
    place.run("UPDATE sessions SET key = key");
    for (const batch of records.slice(end)) await plant(store, "s", batch);
    expect(quotingRows(place)).toEqual([]);
    await store.delete("s");
    for (const batch of records) await plant(store, "s", batch);
    expect(quotingRows(place)).toHaveLength(2);
  });
});

test("what was rolled back is not remembered", async () => {
  using place = new Place();
  const events = toEvents(streamedTurn([{ blocks: [{ kind: "text", text: LONG, cuts: CUTS }] }]));
  await fill(place, events.slice(0, 3), [3]);
  const writer = new SqliteWriter(place.path, LONG.length);
  const batch = { id: "s", expectedSeq: 3, records: recordsOf(events.slice(3, 9)) };
  const bad = {
    id: "x",
    header: "{}",
    expectedSeq: 0,
    records: [{ seq: 0, count: 1, type: "x", time: 1.5, text: "{}" }],
  };
  expect(() => writer.appendBatch([batch, bad])).toThrow();
  writer.appendBatch([batch]);
  writer.appendBatch([{ id: "s", expectedSeq: 9, records: recordsOf(events.slice(9)) }]);
  writer.close();
  expect(quotingRows(place)).toHaveLength(2);
  await readByEveryPath(place, events);
});

describe("the shortest string that is quoted", () => {
  const turnOf = (text: string) => toEvents(streamedTurn([{ blocks: [{ kind: "text", text, cuts: CUTS }] }]));

  test.each([
    ["worker", 8_192, undefined],
    ["process", 8_192, undefined],
    ["worker", 300, 300],
    ["process", 300, 300],
  ] as const)("on a %s is of %i units, as it stands in JSON", async (thread, least, leastQuoted) => {
    for (const length of [least - 1, least]) {
      using place = new Place();
      // An escaped quote has two.
      const events = turnOf(`"${"x".repeat(length - 2)}`);
      {
        const options = { path: place.path, clock: () => 1, chunkWindowMs: 0, thread };
        await using store = await openSqlite({
          ...options,
          ...(leastQuoted === undefined ? {} : { leastQuoted }),
        });
        for (const batch of inBatches(events, [3])) await plant(store, "s", recordsOf(batch));
      }
      expect(quotingRows(place)).toHaveLength(length < least ? 0 : 2);
      await readByEveryPath(place, events);
      expect(viewOf(place)).toEqual(events.map(({ data }) => data));
    }
  });

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])("is not of %d units", (leastQuoted) => {
    expect(() => new StreamedBlocks(leastQuoted)).toThrow(RangeError);
  });
});

test("an answer of 1 MB in 5,000 deltas takes at most 1.3 MB", async () => {
  using place = new Place();
  const text = Array.from({ length: 5_000 }, (_, k) =>
    `${k} ${"milk and bread, ".repeat(20)}`.slice(0, 200),
  ).join("");
  const cuts = Array.from({ length: 5_000 }, (_, k) => 200 * k);
  const events = toEvents(streamedTurn([{ blocks: [{ kind: "text", text, cuts }] }]));
  expect(text.length).toBe(1_000_000);
  await fill(place, events, [20], { leastQuoted: LEAST_QUOTED });
  expect(statSync(place.path).size).toBeLessThan(1_300_000);
}, 20_000);
