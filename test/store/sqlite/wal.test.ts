import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { statSync } from "node:fs";
import type { SessionEvent } from "../../../src/session/events.ts";
import type { SessionPersistence } from "../../../src/store/persistence.ts";
import { tidyWal, WAL_LIMIT } from "../../../src/store/sqlite/wal.ts";
import { title, titleAt } from "../../contract/support.ts";
import { LongReader } from "../../fixtures/long-reader.ts";
import { poll } from "../../fixtures/poll.ts";
import { Place, put } from "./place.ts";

// Some of this waits for what is done from time to time.
setDefaultTimeout(20_000);

const MIB = 1024 * 1024;
/** What is promised: docs/durability.md. */
const PROMISED = 64 * MIB;

function walSize(place: Place): number {
  return statSync(`${place.path}-wal`).size;
}

function large(seq: number): SessionEvent {
  return { ...titleAt(seq), data: "x".repeat(4 * MIB) };
}

/** Appends until the log is larger than what is promised. Returns the seq that comes next. */
async function grow(store: SessionPersistence, place: Place): Promise<number> {
  let seq = 1;
  for (; walSize(place) <= PROMISED; seq += 1) await store.append("s", [large(seq)]);
  return seq;
}

describe.each(["worker", "process"] as const)(
  "a write-ahead log that a reader let grow, writing in the %s,",
  (thread) => {
    // Side by side, with the next: they wait until somebody looks at the log.
    test.concurrent("is small again soon after the reader left, without another write", async () => {
      using place = new Place();
      await using store = await place.open(place.path, thread);
      await put(store, "s", [title(0)]);
      await using reader = await LongReader.on(place.path);
      const next = await grow(store, place);
      await reader.leave();
      await poll("a small log", async () => (walSize(place) <= WAL_LIMIT ? true : undefined));
      expect((await store.readFrom("s", next - 1)).map(({ seq }) => seq)).toEqual([next - 1]);
      await store.append("s", [titleAt(next)]);
      expect(await store.health()).toMatchObject({ writable: true });
    });
  },
);

test.concurrent("a log that a killed process left large is small soon after the store is opened, without a write", async () => {
  using place = new Place();
  const first = await place.open(place.path, "process");
  await put(first, "s", [title(0)]);
  await using reader = await LongReader.on(place.path);
  await grow(first, place);
  // The reader keeps the log where it is when the store is closed, as a kill would.
  using other = new Place();
  for (const suffix of ["", "-wal"]) {
    // By another process: this one would drop its locks on the files with them.
    expect(Bun.spawnSync(["cp", place.path + suffix, other.path + suffix]).success).toBe(true);
  }
  await reader.leave();
  await first.close();
  expect(walSize(other)).toBeGreaterThan(PROMISED);
  await using store = await other.open(other.path, "worker");
  await poll("a small log", async () => (walSize(other) <= WAL_LIMIT ? true : undefined));
  expect((await store.readFrom("s", 1)).length).toBeGreaterThan(10);
});

test("while the reader stays appends go on, a try waits for nobody, and says when to try again", async () => {
  using place = new Place();
  await using store = await place.open();
  await put(store, "s", [title(0)]);
  await using reader = await LongReader.on(place.path);
  const next = await grow(store, place);
  using database = place.raw();
  database.run("PRAGMA busy_timeout = 5000");
  const begun = performance.now();
  expect(tidyWal(database, `${place.path}-wal`)).toBeGreaterThan(0);
  expect(performance.now() - begun).toBeLessThan(2_500);
  expect(database.query("PRAGMA busy_timeout").get()).toEqual({ timeout: 5_000 });
  expect(walSize(place)).toBeGreaterThan(PROMISED);
  await store.append("s", [titleAt(next)]);
  await reader.leave();
  expect(tidyWal(database, `${place.path}-wal`)).toBeUndefined();
  expect(walSize(place)).toBe(0);
});

test("it is small after a few commits, too, where writing goes on without a pause", async () => {
  using place = new Place();
  await using store = await place.open(place.path, "worker");
  await put(store, "s", [title(0)]);
  await using reader = await LongReader.on(place.path);
  const next = await grow(store, place);
  await reader.leave();
  let commits = 0;
  for (; walSize(place) > WAL_LIMIT && commits < 1_000; commits += 1) {
    await store.append("s", [titleAt(next + commits)]);
  }
  expect(commits).toBeLessThan(1_000);
});

test("a small log is left as it is: the next commits use its space again", async () => {
  using place = new Place();
  await using store = await place.open();
  await put(store, "s", [title(0)]);
  const size = walSize(place);
  using database = place.raw();
  expect(tidyWal(database, `${place.path}-wal`)).toBeUndefined();
  expect(walSize(place)).toBe(size);
  expect(tidyWal(database, `${place.path}-no-such-log`)).toBeUndefined();
});
