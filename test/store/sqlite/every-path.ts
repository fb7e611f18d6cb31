import { expect } from "bun:test";
import { z } from "zod";
import type { EventDraft, SessionEvent } from "../../../src/session/events.ts";
import { recordEvents, recordTexts } from "../../../src/session/records.ts";
import { SqliteReader } from "../../../src/store/sqlite/reader.ts";
import { inBatches } from "../../fixtures/arbitraries.ts";
import { recordsOf } from "../../fixtures/logs.ts";
import { plant } from "../../fixtures/stored-sessions.ts";
import type { Place } from "./place.ts";

/* One session, `s`, stored in batches, and what is read of it in every way that there is. */

/** From this many events on, only some reads go to the end of the log: all of them take time that grows with its square. */
const MANY = 200;
const SOME = 7;

/** Stores the events in batches, each a commit. The store is closed and opened again before the batch `restart`. */
export async function fill(
  place: Place,
  events: readonly SessionEvent[],
  sizes: readonly number[],
  { restart = -1, leastQuoted }: { readonly restart?: number; readonly leastQuoted?: number } = {},
) {
  const batches = inBatches(events, sizes).map((batch) => recordsOf(batch));
  const from = Math.max(0, restart);
  for (const part of [batches.slice(0, from), batches.slice(from)]) {
    await using store = await place.open(place.path, "process", leastQuoted);
    for (const batch of part) await plant(store, "s", batch);
  }
}

const rowSchema = z.object({
  seq: z.number(),
  type: z.string(),
  body: z.string(),
  sources: z.string().nullable(),
});

export function rowsOf(place: Place) {
  using database = place.raw();
  return z.array(rowSchema).parse(database.query("SELECT * FROM records ORDER BY id").all());
}

export function quotingRows(place: Place) {
  return rowsOf(place).filter(({ sources }) => sources?.includes('"quoted"'));
}

const viewSchema = z.object({ seq: z.number(), data: z.string() });

export function viewOf(place: Place): unknown[] {
  using database = place.raw();
  const rows = database.query("SELECT seq, data FROM session_events ORDER BY seq").all();
  return z
    .array(viewSchema)
    .parse(rows)
    .map(({ data }) => JSON.parse(data));
}

export async function readByEveryPath(place: Place, events: readonly SessionEvent[]): Promise<void> {
  const texts = events.map((event) => JSON.stringify(event));
  using reader = new SqliteReader(place.path);
  const whole: string[] = [];
  for await (const page of reader.readStored("s")?.pages ?? []) {
    for (const { record } of page) whole.push(...recordTexts(record));
  }
  expect(whole).toEqual(texts);
  for (let from = 0; from < events.length; from += 1) {
    const isToEnd = events.length < MANY || from % SOME === 0;
    for (const limit of isToEnd ? [1, 3, 10_000] : [1, 3]) {
      const records = reader.readSuffix("s", from, limit) ?? [];
      const read = records.flatMap(({ record }) => recordTexts(record));
      const first = records[0]?.record.seq ?? 0;
      expect(read).toEqual(texts.slice(first, first + read.length));
      expect(records.flatMap(({ record }) => recordEvents(record))).toEqual(
        events.slice(first, first + read.length),
      );
    }
  }
}

/** What SQLite's own text can hold. */
export function isPlain(drafts: readonly EventDraft[]): boolean {
  return JSON.stringify(drafts).isWellFormed() && !/\\u(d[89a-f]|0000)/i.test(JSON.stringify(drafts));
}
