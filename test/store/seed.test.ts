import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { zstdDecompressSync } from "node:zlib";
import { LogView } from "../../src/session/log-view.ts";
import type { SessionRecord } from "../../src/session/records.ts";
import { StorageFullError } from "../../src/store/errors.ts";
import { openJsonl } from "../../src/store/jsonl/index.ts";
import type { SessionPersistence } from "../../src/store/persistence.ts";
import { storeSeed } from "../../src/store/seed.ts";
import { openSqlite } from "../../src/store/sqlite/index.ts";
import { recordsOfDrafts } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { framesOf } from "../fuzz/frames.ts";

const HEADER = { version: 0 as const, id: "fork", createdAt: 1 };
const options = { clock: () => 0, chunkWindowMs: 0, thread: "process" as const };

/** A log of so many events of 10,000 characters. */
function parentOf(events: number): LogView {
  const drafts = Array.from({ length: events }, (_, n) => ({
    type: "session/title" as const,
    data: { n, text: `${n} `.padEnd(10_000, "abcdefgh") },
  }));
  return new LogView(recordsOfDrafts(drafts));
}

async function* pagesOf(parent: LogView) {
  yield [...parent.records()].map((record) => ({ record }));
}

async function expectSeeded(store: SessionPersistence, parent: LogView): Promise<void> {
  const { log } = await store.inspect(HEADER.id);
  expect([...log.texts(0, parent.length)]).toEqual([...parent.texts()]);
  expect(log.length).toBe(parent.length + 1);
  expect(log.at(parent.length).type).toBe("session/end-seed");
}

describe("the seed of a fork", () => {
  // 4 Mi characters are the most that is one commit.
  test.each([60, 500])(
    "of %i events is the parent's beginning, in a database and in a log",
    async (events) => {
      await using folder = await TempFolder.create();
      const parent = parentOf(events);
      await using database = await openSqlite({ ...options, path: folder.at("a.db") });
      await using logs = await openJsonl({ ...options, root: folder.at("logs"), encoding: "zstd" });
      for (const store of [database, logs]) {
        await storeSeed(store, HEADER, pagesOf(parent), events, 7);
        await expectSeeded(store, parent);
      }
      // No reader has to unfold all of it for its end, and damage to the last frame costs the mark alone.
      const bytes = readFileSync(logs.locate(HEADER));
      const sizes = framesOf(bytes).map(
        ({ start, end }) => zstdDecompressSync(bytes.subarray(start, end)).length,
      );
      expect(Math.max(...sizes)).toBeLessThanOrEqual(300_000);
      expect(sizes.at(-1)).toBeLessThan(200);
    },
  );

  test("that cannot be stored whole leaves nothing", async () => {
    await using folder = await TempFolder.create();
    await using store = await openSqlite({ ...options, path: folder.at("a.db") });
    const full = new StorageFullError({});
    const importRecords = store.importRecords.bind(store);
    for (const parent of [parentOf(2), parentOf(500)]) {
      store.importRecords = (header: string, records: readonly SessionRecord[]) => {
        const isEnd = records.some(({ type }) => type === "session/end-seed");
        return isEnd ? Promise.reject(full) : importRecords(header, records);
      };
      const failed = storeSeed(store, HEADER, pagesOf(parent), parent.length, 7).catch(
        (error: unknown) => error,
      );
      expect(await failed).toBe(full);
      expect((await store.list()).items).toEqual([]);
    }
  });
});
