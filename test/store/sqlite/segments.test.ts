import { describe, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { recordTexts } from "../../../src/session/records.ts";
import { copySession } from "../../../src/store/copy.ts";
import { openStore, openStoreReadOnly } from "../../../src/store/open-store.ts";
import { compactSqlite } from "../../../src/store/sqlite/compactor.ts";
import { examineSqlite } from "../../../src/store/sqlite/examine.ts";
import { outcomesOf, rejectionOf, title } from "../../contract/support.ts";
import { batchSizes, oddString } from "../../fixtures/arbitraries.ts";
import { workloadSample } from "../../fixtures/dsh-samples.ts";
import { toEvents } from "../../fixtures/event-drafts.ts";
import { recordsOf } from "../../fixtures/logs.ts";
import { plant } from "../../fixtures/stored-sessions.ts";
import { streamedSteps, streamedTurn } from "../../fixtures/streamed-log.ts";
import { compact, deltas, rowsIn, segmentsIn, versionOf } from "./compacting.ts";
import { errorsIn, long } from "./damaged.ts";
import { fill, isPlain, readByEveryPath, viewOf } from "./every-path.ts";
import { Place } from "./place.ts";

const LOG = [...deltas(400), ...Array.from({ length: 12 }, (_, n) => long(n, 300))];
const EVENTS = toEvents(LOG);

/** A session of small commits, compacted. */
async function compacted(): Promise<Place> {
  const place = new Place();
  await fill(place, EVENTS, [7]);
  await compact(place);
  return place;
}

describe("a compacted session", () => {
  test("is read in every way as before, and so it is once it is expanded, whatever is in it", async () => {
    let segments = 0;
    await fc.assert(
      fc.asyncProperty(
        streamedSteps(oddString()),
        batchSizes(),
        fc.constantFrom(1, 300, 2_000),
        fc.constantFrom(24, 128),
        async (steps, sizes, segmentLength, leastQuoted) => {
          using place = new Place();
          const drafts = streamedTurn(steps);
          const events = toEvents(drafts);
          await fill(place, events, sizes, { leastQuoted });
          const options = { segmentLength, leastQuoted, leastGain: Number.NEGATIVE_INFINITY };
          const [result] = await compact(place, "compact", options);
          expect(result).toMatchObject({ state: "compacted", events: events.length });
          segments += segmentsIn(place).length;
          await readByEveryPath(place, events);
          expect(await errorsIn(place.path)).toEqual([]);
          if (segmentsIn(place).length === 0) return;
          const [expanded] = await compact(place, "expand");
          expect({ ...expanded, state: "compacted" }).toMatchObject({
            ...result,
            before: expect.any(Number),
            after: expect.any(Number),
          });
          await readByEveryPath(place, events);
          if (isPlain(drafts)) expect(viewOf(place)).toEqual(events.map(({ data }) => data));
        },
      ),
      { numRuns: 15 },
    );
    expect(segments).toBeGreaterThan(20);
  }, 60_000);

  test("goes on behind its segments, and what was added is packed the next time; then nothing changes any more", async () => {
    using place = await compacted();
    const first = segmentsIn(place);
    expect(rowsIn(place)).toEqual(first);
    expect(first.length).toBeGreaterThan(1);
    const more = toEvents([...LOG, ...Array.from({ length: 9 }, (_, n) => long(n, 200))]);
    {
      await using store = await place.open();
      await plant(store, "s", recordsOf(more.slice(EVENTS.length)));
      await expect(store.readFrom("s", EVENTS.length - 1)).resolves.toHaveLength(
        more.length - EVENTS.length + 1,
      );
    }
    expect(rowsIn(place).length).toBeGreaterThan(first.length);
    await readByEveryPath(place, more);
    expect(await compact(place)).toMatchObject([{ state: "compacted", events: more.length }]);
    expect(rowsIn(place)).toEqual(segmentsIn(place));
    // Full segments stay as they are.
    expect(rowsIn(place).slice(0, first.length - 1)).toEqual(first.slice(0, -1));
    await readByEveryPath(place, more);
    const before = place.contents()["store.db"];
    expect(await compact(place)).toMatchObject([{ state: "unchanged" }]);
    expect(place.contents()["store.db"]).toEqual(before);
  });

  test("leaves the view, which shows what lies in rows", async () => {
    using place = await compacted();
    {
      await using store = await place.open();
      await plant(store, "s", recordsOf(toEvents([...LOG, title(7)]).slice(EVENTS.length)));
    }
    expect(viewOf(place)).toEqual([title(7).data]);
    await compact(place, "expand");
    expect(viewOf(place)).toHaveLength(EVENTS.length + 1);
  });

  test("may be compacted and expanded while it is read, or checked", async () => {
    using place = new Place();
    const events = toEvents([...deltas(3_000), ...Array.from({ length: 900 }, (_, n) => title(n))]);
    await fill(place, events, [5]);
    const texts = events.map((event) => JSON.stringify(event));
    for (const steps of [["compact"], ["compact", "expand"], ["expand"], ["expand", "compact"]] as const) {
      await compact(place, steps[0] === "compact" ? "expand" : "compact");
      await using store = await openStoreReadOnly({ kind: "sqlite", path: place.path }, { clock: () => 0 });
      const read: string[] = [];
      let next = 0;
      for await (const page of (await store.stream("s")).pages) {
        const step = steps.at(next);
        next += 1;
        if (step !== undefined) expect(await compact(place, step)).toMatchObject([{ state: `${step}ed` }]);
        for (const { record } of page) read.push(...recordTexts(record));
      }
      expect(next).toBeGreaterThan(steps.length);
      expect(read).toEqual(texts);
    }
    for (const step of ["compact", "expand"] as const) {
      await compact(place, step === "compact" ? "expand" : "compact");
      await using examiner = await examineSqlite(place.path);
      const checked: string[] = [];
      for await (const session of examiner.sessions()) {
        for await (const item of session.items()) {
          if (checked.length === 0)
            expect(await compact(place, step)).toMatchObject([{ state: `${step}ed` }]);
          if (item.kind === "damage") throw item.finding;
          for (const { record } of item.records) checked.push(...recordTexts(record));
        }
      }
      expect(checked).toEqual(texts);
    }
  }, 20_000);

  test("is copied and deleted like any other", async () => {
    using place = await compacted();
    using other = new Place();
    {
      await using store = await place.open();
      await using copy = await other.open();
      expect(await copySession(store, copy, "s")).toMatchObject({ state: "copied", events: EVENTS.length });
      await store.delete("s");
    }
    expect(rowsIn(place)).toEqual([]);
    expect(await errorsIn(other.path)).toEqual([]);
  });
});

describe("a compaction", () => {
  test("gives the store room for segments, and an expansion takes it back", async () => {
    using place = new Place();
    await fill(place, EVENTS, [7]);
    const before = readFileSync(place.path).length;
    expect(versionOf(place)).toBe(2);
    await compact(place);
    expect(versionOf(place)).toBe(3);
    await using examiner = await examineSqlite(place.path);
    expect([...examiner.structure()]).toEqual([]);
    await examiner[Symbol.asyncDispose]();
    await compact(place, "expand");
    expect(Object.keys(place.contents())).not.toContain("store.db-wal");
    expect(versionOf(place)).toBe(2);
    expect(statSync(place.path).size).toBeLessThanOrEqual(before);
  });

  test("of what is small, or absent, or locked, changes nothing", async () => {
    using place = new Place();
    await place.fill({ small: [title(1)], big: Array.from({ length: 50 }, (_, n) => long(n, 400)) });
    const before = place.contents()["store.db"];
    expect(await compact(place, "compact", {}, ["small"])).toMatchObject([{ state: "unchanged" }]);
    expect(await compact(place, "expand", {}, ["small", "big"])).toMatchObject([
      { state: "unchanged" },
      { state: "unchanged" },
    ]);
    {
      await using planned = await compactSqlite(place.path, { dryRun: true });
      const result = await planned.compact("big");
      expect(result).toMatchObject({ state: "compacted", events: 50, digest: expect.any(String) });
      const { before: whole, after } = await planned.finish();
      expect(after).toBeLessThan(whole);
    }
    await using compactor = await compactSqlite(place.path, { dryRun: false });
    expect(await rejectionOf(compactor.compact("none"))).toMatchObject({ code: "not-found" });
    const signal = AbortSignal.abort(new Error("enough"));
    expect(await rejectionOf(compactor.compact("big", { signal }))).toMatchObject({ message: "enough" });
    const [held] = await outcomesOf([compactSqlite(place.path, { dryRun: false })]);
    expect(held).not.toBe("ok");
    await compactor[Symbol.asyncDispose]();
    expect(await rejectionOf(compactSqlite(join(place.folder, "no.db"), { dryRun: false }))).toMatchObject({
      code: "not-found",
    });
    expect(place.contents()["store.db"]).toEqual(before);
  });

  test("is ended early by its signal, and by damage, and leaves the session as it was", async () => {
    using place = new Place();
    const log = Array.from({ length: 2_000 }, (_, n) => long(n, 400));
    await place.fill({ good: log.slice(0, 100), bad: log });
    place.run("UPDATE records SET checksum = 1 WHERE session = 2 AND seq = 1500");
    const controller = new AbortController();
    {
      await using compactor = await compactSqlite(place.path, { dryRun: false });
      const stopped = compactor.compact("bad", {
        signal: controller.signal,
        onProgress: () => controller.abort(new Error("enough")),
      });
      expect(await rejectionOf(stopped)).toMatchObject({ message: "enough" });
      const shares: number[] = [];
      expect(await compactor.compact("bad")).toMatchObject({ state: "refused", error: { code: "corrupt" } });
      expect(await compactor.compact("good", { onProgress: (share) => shares.push(share) })).toMatchObject({
        state: "compacted",
      });
      expect(shares.at(-1)).toBe(1);
      expect(shares).toEqual(shares.toSorted((a, b) => a - b));
      await compactor.finish();
    }
    expect(rowsIn(place).filter(({ frame }) => frame !== null)).toHaveLength(1);
    expect(rowsIn(place)).toHaveLength(2_001);
    expect(await errorsIn(place.path)).not.toEqual([]);
  });

  const sample = workloadSample();
  test.skipIf(sample === undefined)(
    "makes 87,208 events of 3.5 MB take less than 600,000 bytes",
    async () => {
      if (sample === undefined) return;
      using place = new Place();
      const { session } = sample;
      {
        await using source = await openStoreReadOnly(
          { kind: "jsonl", path: sample.root },
          { clock: () => 0 },
        );
        const options = { clock: () => 0, chunkWindowMs: 0, thread: "process" } as const;
        await using target = await openStore({ kind: "sqlite", path: place.path }, options);
        await copySession(source, target, session.id);
      }
      const [result] = await compact(place, "compact", {}, [session.id]);
      expect(result).toMatchObject({ state: "compacted", digest: session.eventsSha256 });
      expect(statSync(place.path).size).toBeLessThan(600_000);
    },
  );
});
