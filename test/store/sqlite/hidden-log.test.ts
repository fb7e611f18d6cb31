import { describe, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { recordTexts } from "../../../src/session/records.ts";
import type { SessionPersistence } from "../../../src/store/persistence.ts";
import { openSalvageSource } from "../../../src/store/salvage-source.ts";
import { examineSqlite } from "../../../src/store/sqlite/examine.ts";
import { openSqliteReadOnly } from "../../../src/store/sqlite/read-only.ts";
import { planSqliteRepair, repairSqlite } from "../../../src/store/sqlite/repairer.ts";
import { rejectionOf } from "../../contract/support.ts";
import { flip, repair } from "./damaged.ts";
import { FRAME, HIDING, left } from "./left-log.ts";

/* What was committed last lies in the write-ahead log alone, of a process that was killed. */

/** Events that a stream gives out, and how it ends. */
async function streamed(store: SessionPersistence, id: string): Promise<readonly [number, unknown]> {
  let events = 0;
  const error: unknown = await (async () => {
    for await (const page of (await store.stream(id)).pages)
      for (const { record } of page) events += recordTexts(record).length;
  })().catch((reason: unknown) => reason);
  return [events, error];
}

describe("a store whose log is damaged, with commits behind the damage, read by itself", () => {
  test("gives what it has of a session, and then says that its end is hidden, whichever session it is", async () => {
    using place = await left();
    flip(`${place.path}-wal`, HIDING);
    const before = place.contents();
    const hidden = { code: "corrupt", place: { path: `${place.path}-wal`, row: 3 } };
    {
      await using store = await openSqliteReadOnly({ path: place.path, clock: () => 0 });
      expect(await streamed(store, "a")).toEqual([61, expect.objectContaining({ code: "corrupt" })]);
      expect(await streamed(store, "b")).toEqual([2, expect.objectContaining({ code: "corrupt" })]);
      for (const id of ["a", "b", "late"]) {
        expect(await rejectionOf(store.inspect(id))).toMatchObject({
          ...hidden,
          place: { ...hidden.place, sessionId: id },
        });
      }
      expect((await store.readFrom("a", 0, { limit: 61 })).length).toBe(61);
      for (const [from, limit] of [
        [0, 62],
        [60, 2],
        [61, 1],
      ] as const)
        expect(await rejectionOf(store.readFrom("a", from, { limit }))).toMatchObject(hidden);
      expect((await store.list()).items.map(({ id }) => id)).toEqual(["b", "a"]);
      expect(place.contents()).toEqual(before);
      // Repaired while it is open, it is read anew.
      await repair(place.path);
      expect(await streamed(store, "a")).toEqual([64, undefined]);
      expect((await store.inspect("late")).log.length).toBe(2);
    }
  });

  test("is no sound session to whoever salvages, though all of it is found", async () => {
    using place = await left();
    flip(`${place.path}-wal`, HIDING);
    await using source = await openSalvageSource(place.path);
    for await (const { findings } of source.sessions())
      expect(findings).toMatchObject([{ code: "store-damaged" }]);
  });
});

test("a log that is whole, or cut short, hides nothing", async () => {
  using place = await left();
  const log = readFileSync(`${place.path}-wal`);
  for (const [length, events] of [
    [log.length, 64],
    [log.length - FRAME * 2 - 100, 64],
  ] as const) {
    writeFileSync(`${place.path}-wal`, log.subarray(0, length));
    await using store = await openSqliteReadOnly({ path: place.path, clock: () => 0 });
    expect(await streamed(store, "a")).toEqual([events, undefined]);
    expect(await rejectionOf(store.inspect("nobody"))).toMatchObject({ code: "not-found" });
  }
});

describe("a log without its database", () => {
  test.each(["gone", "empty"])("which is %s: every tool says so, and nothing changes", async (how) => {
    using place = await left();
    if (how === "gone") rmSync(place.path);
    else writeFileSync(place.path, "");
    const before = place.contents();
    for (const refusal of [
      openSqliteReadOnly({ path: place.path, clock: () => 0 }),
      examineSqlite(place.path),
      planSqliteRepair(place.path),
      repairSqlite(place.path),
    ]) {
      expect(await rejectionOf(refusal)).toMatchObject({
        code: "corrupt",
        message: expect.stringContaining("without its database"),
        place: { path: `${place.path}-wal` },
        hint: expect.stringContaining("sessions salvage"),
      });
    }
    expect(place.contents()).toEqual(before);
  });

  test.each(["", "-wal"])(
    "gives what it alone holds to whoever salvages, named as the store%s",
    async (suffix) => {
      using place = await left();
      rmSync(place.path);
      const before = place.contents();
      await using source = await openSalvageSource(place.path + suffix);
      const found: Record<string, string[]> = {};
      for await (const session of source.sessions()) {
        const texts: string[] = [];
        found[session.id] = texts;
        for await (const item of session.items())
          if (item.kind === "records")
            for (const { record } of item.records) texts.push(...recordTexts(record));
      }
      expect(found["a"]?.at(-1)).toContain("late 6");
      expect(found["b"]?.at(-1)).toContain("late 7");
      expect(found["late"]?.length).toBe(2);
      expect(place.contents()).toEqual(before);
    },
  );
});
