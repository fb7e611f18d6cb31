import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import fc from "fast-check";
import { rangeOfTurns } from "../../src/cli/sessions/show/turn-range.ts";
import { UsageError } from "../../src/host/usage.ts";
import type { SessionEvent } from "../../src/session/events.ts";
import { PersistenceCoordinator } from "../../src/store/coordinator.ts";
import { CorruptError } from "../../src/store/errors.ts";
import { MemoryBackend } from "../../src/store/memory/backend.ts";
import { openStoreReadOnly } from "../../src/store/open-store.ts";
import { openSqlite } from "../../src/store/sqlite/index.ts";
import { headerOf } from "../contract/rig.ts";
import { rejectionOf, title } from "../contract/support.ts";
import { textDelta, toEvents, turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

/** A log of Turns with numbers that go up, and of other events before, in and between them. */
const log = fc
  .array(fc.record({ skipped: fc.nat(2), pieces: fc.nat(20), titles: fc.nat(9), isOpen: fc.boolean() }), {
    minLength: 1,
    maxLength: 8,
  })
  .map((list) => {
    let turn = 0;
    const drafts = list.flatMap(({ skipped, pieces, titles, isOpen }, k) => {
      turn += 1 + skipped;
      const at = { turn, step: 1 };
      return [
        ...(k === 0 ? [title(0)] : []),
        turnStart(turn),
        userMessage("Hi"),
        ...Array.from({ length: pieces }, () => textDelta(at, "x")),
        ...(isOpen ? [] : [turnEnd(turn)]),
        ...Array.from({ length: titles }, (_, n) => title(n)),
      ];
    });
    return toEvents(drafts);
  });

async function storeOf(events: readonly SessionEvent[]) {
  const store = new PersistenceCoordinator(new MemoryBackend(), { clock: () => 0, chunkWindowMs: 0 });
  await using session = await store.create(headerOf("s"));
  await store.append(session.id, events);
  return store;
}

test("a Turn is found wherever it stands, as a reading of the whole log finds it; one that is not there is not", async () => {
  await fc.assert(
    fc.asyncProperty(log, fc.nat(12), fc.nat(3), async (events, first, more) => {
      const starts = events.flatMap(({ type, seq, data }) =>
        type === "turn/start" ? [{ seq, turn: Number(Reflect.get(Object(data), "turn")) }] : [],
      );
      const last = first + more;
      await using store = await storeOf(events);
      const range = rangeOfTurns(store, "s", { first, last });
      const from = starts.find(({ turn }) => turn === first)?.seq;
      if (from === undefined || !starts.some(({ turn }) => turn === last)) {
        expect(await rejectionOf(range)).toBeInstanceOf(UsageError);
        return;
      }
      const next = starts.find(({ turn }) => turn > last)?.seq;
      expect(await range).toEqual({ from, ...(next === undefined ? {} : { to: next - 1 }) });
    }),
  );
});

test("an event that is gone costs no other Turn, and none is cut off without a word", async () => {
  await using folder = await TempFolder.create();
  const whole = { kind: "sqlite", path: folder.at("whole.db") } as const;
  const turns = [1, 2, 3, 4, 5];
  const events = toEvents(
    turns.flatMap((turn) => [
      turnStart(turn),
      userMessage("Hi"),
      ...[1, 2, 3].map((n) => title(n)),
      turnEnd(turn),
      ...[1, 2].map((n) => title(n)),
    ]),
  );
  {
    await using store = await openSqlite({ path: whole.path, clock: () => 0, chunkWindowMs: 0 });
    await using session = await store.create(headerOf("s"));
    await store.append(session.id, events);
  }
  const length = events.length / turns.length;
  for (const { seq: gone } of events) {
    const path = folder.at(`without-${gone}.db`);
    copyFileSync(whole.path, path);
    {
      using database = new Database(path, { strict: true });
      expect(database.run("DELETE FROM records WHERE seq = ?", [gone]).changes).toBe(1);
    }
    await using store = await openStoreReadOnly({ kind: "sqlite", path }, { clock: () => 0 });
    for (const turn of turns) {
      const [from, next] = [(turn - 1) * length, turn * length];
      const what = `Turn ${turn} without event ${gone}`;
      const range = await rangeOfTurns(store, "s", { first: turn, last: turn }).catch((error) => error);
      // The end is found, or left to whoever reads on.
      const ends = [next - 1, undefined];
      if (range instanceof CorruptError) expect(gone, what).toBeLessThan(next);
      else {
        expect(range.from, what).toBe(from);
        expect(ends, what).toContain(range.to);
        if (turn < turns.length && gone > next) expect(range.to, what).toBe(next - 1);
      }
    }
  }
});
