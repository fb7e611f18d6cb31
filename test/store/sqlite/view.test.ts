import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { z } from "zod";
import type { EventDraft, SessionEvent } from "../../../src/session/events.ts";
import {
  allEventDrafts,
  arbitrarySession,
  batchSizes,
  inBatches,
  toEvents,
} from "../../fixtures/arbitraries.ts";
import { Place } from "./place.ts";

const rowsSchema = z.array(
  z.object({
    session_id: z.string(),
    seq: z.number(),
    type: z.string(),
    time: z.number(),
    data: z.string(),
    source_event_seqs: z.string().nullable(),
    surface_op: z.string().nullable(),
    ignorable: z.union([z.string(), z.number()]).nullable(),
  }),
);

const QUERY = "SELECT * FROM session_events ORDER BY session_id, seq";

/** The rows of the view as events, by session. */
function toSessions(rows: unknown): Map<string, unknown[]> {
  const sessions = new Map<string, unknown[]>();
  for (const row of rowsSchema.parse(rows)) {
    const event = {
      type: row.type,
      seq: row.seq,
      time: row.time,
      data: JSON.parse(row.data),
      ...(row.source_event_seqs === null ? {} : { sourceEventSeqs: JSON.parse(row.source_event_seqs) }),
      ...(row.surface_op === null ? {} : { surfaceOp: JSON.parse(row.surface_op) }),
      ...(row.ignorable === null ? {} : { ignorable: JSON.parse(String(row.ignorable)) }),
    };
    sessions.set(row.session_id, [...(sessions.get(row.session_id) ?? []), event]);
  }
  return sessions;
}

function throughBun(place: Place): Map<string, unknown[]> {
  using database = place.raw();
  return toSessions(database.query(QUERY).all());
}

const shell = Bun.which("sqlite3");

function throughShell(place: Place): Map<string, unknown[]> {
  const { stdout, success } = Bun.spawnSync([shell ?? "", "-readonly", "-json", place.path, QUERY]);
  if (!success) throw new Error("the shell failed");
  return toSessions(JSON.parse(stdout.toString()));
}

/** Lone surrogates, which SQLite's own text cannot hold, and drafts that use them are left out. */
function isPlain(drafts: readonly EventDraft[]): boolean {
  return JSON.stringify(drafts).isWellFormed() && !/\\u(d[89a-f]|0000)/i.test(JSON.stringify(drafts));
}

async function fill(place: Place, id: string, drafts: readonly EventDraft[], sizes: readonly number[]) {
  await using store = await place.open();
  await using session = await store.create({ version: 0, id, createdAt: 1 });
  for (const batch of inBatches(drafts, sizes)) await session.log.appendAll(batch);
  return [...session.log];
}

describe("the view session_events", () => {
  for (const sizes of [[1], [7], [1_000]]) {
    test(`shows exactly the logical events, committed ${sizes[0]} at a time`, async () => {
      using place = new Place();
      const events: SessionEvent[] = await fill(place, "all", allEventDrafts(), sizes);
      const found = throughBun(place).get("all");
      expect(found).toEqual([...events]);
    });
  }

  test.skipIf(shell === null)("shows the same in the sqlite3 shell", async () => {
    using place = new Place();
    const drafts = allEventDrafts().filter(
      (draft) => isPlain([draft]) && draft.sourceEventSeqs === undefined,
    );
    const events = await fill(place, "all", drafts, [40]);
    expect(throughShell(place).get("all")).toEqual([...events]);
  });

  test("keeps large integers as they were written", async () => {
    using place = new Place();
    await fill(place, "s", [{ type: "session/title", data: { n: 1 } }], [1]);
    place.run(`UPDATE records SET body = replace(body, '"n":1', '"n":12345678901234567890')`);
    using database = place.raw();
    expect(database.query("SELECT data FROM session_events").get()).toEqual({
      data: '{"n":12345678901234567890}',
    });
  });

  test("keeps sessions apart", async () => {
    using place = new Place();
    for (const id of ["a", "b"]) await fill(place, id, [{ type: "session/title", data: id }], [1]);
    const sessions = throughBun(place);
    expect([...sessions].map(([id, events]) => [id, events.length])).toEqual([
      ["a", 1],
      ["b", 1],
    ]);
  });

  test("shows the events of any session", async () => {
    using place = new Place();
    let number = 0;
    await fc.assert(
      fc.asyncProperty(arbitrarySession().filter(isPlain), batchSizes(), async (drafts, sizes) => {
        number += 1;
        await fill(place, `session ${number}`, drafts, sizes);
        expect(throughBun(place).get(`session ${number}`)).toEqual(toEvents(drafts));
        place.run("DELETE FROM records", "DELETE FROM sessions");
      }),
      { numRuns: 40 },
    );
  }, 30_000);
});
