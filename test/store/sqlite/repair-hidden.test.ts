import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { planSqliteRepair } from "../../../src/store/sqlite/repairer.ts";
import { title } from "../../contract/support.ts";
import { errorsIn, flip, goOn, long, ordinaryContents, overwrite, PAGE, repair, rowsIn } from "./damaged.ts";
import { FRAME, HIDING } from "./left-log.ts";
import { Place, put } from "./place.ts";

/* What a repair brings back of the part of a write-ahead log that SQLite does not take. Pages 2 to 4: the table sessions
   and its indexes. */

const LOG_HEADER = 32;
const [SESSIONS, KEYS] = [2, 3];

/** A store with `a`, and a log that a killed process left with more of `a`, and what `act` does; and all that was in it. */
async function left(act: (store: Awaited<ReturnType<Place["open"]>>) => Promise<void>) {
  using source = new Place();
  await source.fill({ a: [title(0)] });
  await using store = await source.open();
  for (let n = 0; n < 8; n += 1) {
    if (n === 4) await act(store);
    await using session = (await store.prepare("a")).publish();
    await session.log.append({ type: "session/title", data: `late ${n}` });
  }
  const place = new Place();
  for (const suffix of ["", "-wal"]) writeFileSync(place.path + suffix, readFileSync(source.path + suffix));
  return { place, sound: await ordinaryContents(place.path) };
}

/** Flips a byte in each frame of the log that holds one of these pages. */
function spoilFrames(path: string, pages: readonly number[]): void {
  const log = readFileSync(`${path}-wal`);
  for (let at = LOG_HEADER; at + FRAME <= log.length; at += FRAME)
    if (pages.includes(log.readUInt32BE(at))) flip(`${path}-wal`, at + FRAME - 1);
}

describe("of commits that a damaged frame hides", () => {
  test("rows come back that go on in pages which the database did not have before", async () => {
    const { place, sound } = await left((store) =>
      put(
        store,
        "late",
        Array.from({ length: 30 }, (_, n) => long(n, 3 * PAGE)),
      ),
    );
    using _ = place;
    flip(`${place.path}-wal`, HIDING);
    await repair(place.path);
    expect(await errorsIn(place.path)).toEqual([]);
    expect(await ordinaryContents(place.path)).toEqual(sound);
    await goOn(place);
  });

  test("sessions come back of which neither row nor key is left, and the plan counts them", async () => {
    const { place, sound } = await left((store) =>
      put(
        store,
        "late",
        Array.from({ length: 30 }, (_, n) => long(n, 300)),
      ),
    );
    using _ = place;
    spoilFrames(place.path, [SESSIONS, KEYS]);
    const { steps } = await planSqliteRepair(place.path);
    expect(steps).toMatchObject([
      { kind: "store", keptSessions: 2, keptEvents: 39, leaving: { sessions: 0, events: 0 } },
      { kind: "session", id: "session-2", header: "made", keptEvents: 30 },
    ]);
    await repair(place.path);
    expect(await errorsIn(place.path)).toEqual([]);
    const { a = [], late = [] } = sound;
    expect(await ordinaryContents(place.path)).toEqual({ a, "session-2": late });
  });

  test("what was deleted stays deleted", async () => {
    const { place } = await left(async (store) => {
      await put(
        store,
        "gone",
        Array.from({ length: 40 }, (_, n) => long(n, 700)),
      );
      await store.delete("gone");
    });
    using _ = place;
    flip(`${place.path}-wal`, HIDING);
    await repair(place.path);
    expect(Object.keys(await ordinaryContents(place.path))).toEqual(["a"]);
  });
});

test("where the list of free pages is damaged, sessions without a header are set aside, and the plan says how many", async () => {
  using place = new Place();
  await place.fill({ a: [title(0)], b: Array.from({ length: 30 }, (_, n) => long(n, 300)) });
  const { b = [] } = await ordinaryContents(place.path);
  place.run("DELETE FROM sessions WHERE key = 'b'");
  // More pages than there are.
  overwrite(place.path, 32, Uint8Array.of(0, 0, 0x7f, 0));
  const { steps } = await repair(place.path);
  const quarantine = `${place.path}.quarantine-1`;
  expect(steps).toMatchObject([
    { kind: "store", keptSessions: 1, leaving: { sessions: 1, events: b.length }, quarantine },
  ]);
  expect(rowsIn(quarantine).length).toBe(b.length);
  expect(Object.keys(await ordinaryContents(place.path))).toEqual(["a"]);
});
