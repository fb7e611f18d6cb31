import { describe, expect, test } from "bun:test";
import { appendFileSync, readFileSync, statSync } from "node:fs";
import type { Session } from "../../../src/session/session.ts";
import type { SessionPersistence } from "../../../src/store/persistence.ts";
import { outcomesOf, rejectionOf, title, titleAt } from "../../contract/support.ts";
import { FaultyDisk, type Operation } from "../../fixtures/faulty-disk.ts";
import { ENCODINGS, Place, readLog } from "./place.ts";

const header = (id: string) => ({ version: 0, id, createdAt: 1, cwd: "/p" }) as const;
const TEXT = "x".repeat(50);

/** An open session with one event, over a disk that works so far. */
async function begin(place: Place, disk: FaultyDisk, encoding: (typeof ENCODINGS)[number]) {
  const store = place.openOn(disk, encoding);
  const session = await store.create(header("s"));
  await session.log.append(title(0));
  disk.watch();
  return { store, session, path: place.log("s", encoding) };
}

/** What memory, readers here and readers elsewhere have of the session is the same. */
async function expectSame(place: Place, store: SessionPersistence, session: Session): Promise<void> {
  const texts = [...session.log.texts()];
  expect(await readLog(store, "s")).toEqual({ texts, torn: false });
  await using other = await place.read();
  expect(await readLog(other, "s")).toEqual({ texts, torn: false });
  expect([...(await other.inspect("s")).log.texts()]).toEqual(texts);
}

for (const encoding of ENCODINGS) {
  describe(`appends, encoding ${encoding}`, () => {
    test("are whole however little a write takes at once", async () => {
      const bytes: Buffer[] = [];
      for (const piece of [1, 7, Number.POSITIVE_INFINITY]) {
        using place = new Place();
        const disk = new FaultyDisk();
        disk.piece = piece;
        const { store, session, path } = await begin(place, disk, encoding);
        await using _ = store;
        await session.log.appendAll([title(1), { type: "session/title", data: TEXT }]);
        await expectSame(place, store, session);
        bytes.push(readFileSync(path));
      }
      expect(new Set(bytes.map((content) => content.toString("hex"))).size).toBe(1);
    });

    test("that find no space leave nothing, wherever it ends; with space they go on without a gap", async () => {
      using place = new Place();
      const disk = new FaultyDisk();
      const { store, session, path } = await begin(place, disk, encoding);
      await using _ = store;
      for (let room = 0; ; room += 1) {
        const before = readFileSync(path);
        const { length } = session.log;
        disk.room = room;
        const [outcome] = await outcomesOf([session.log.append(title(7))]);
        disk.room = Number.POSITIVE_INFINITY;
        if (outcome === "ok") {
          expect(room).toBeGreaterThan(40);
          break;
        }
        expect([outcome, session.log.length]).toEqual(["storage-full", length]);
        expect(readFileSync(path).equals(before)).toBe(true);
        if (room % 8 > 0) continue;
        expect((await session.log.append(title(room))).seq).toBe(length);
        await expectSame(place, store, session);
      }
      await expectSame(place, store, session);
    });

    test.each([
      ["write", "EIO"],
      ["write", "EDQUOT"],
      ["fdatasync", "EIO"],
      ["fdatasync", "ENOSPC"],
    ] as const)(
      "of which %s fails with %s leave nothing, and the next one goes on without a gap",
      async (failing, code) => {
        using place = new Place();
        const disk = new FaultyDisk();
        const { store, session, path } = await begin(place, disk, encoding);
        await using _ = store;
        const before = readFileSync(path);
        disk.watch((operation) => operation === failing, code);
        const queued = [session.log.append(title(1)), session.log.append(title(2))];
        const full = code === "EIO" ? "storage-failed" : "storage-full";
        expect(await outcomesOf(queued)).toEqual([full, full]);
        disk.watch();
        expect(readFileSync(path).equals(before)).toBe(true);
        expect(session.log.length).toBe(1);
        expect((await session.log.append(title(3))).seq).toBe(1);
        await expectSame(place, store, session);
        expect(await store.health()).toMatchObject({ writable: true });
      },
    );

    test("are cut off and synced again, in that order, before they are said to have failed", async () => {
      using place = new Place();
      const disk = new FaultyDisk();
      const { store, session } = await begin(place, disk, encoding);
      await using _ = store;
      disk.watch((operation) => operation === "fdatasync");
      await outcomesOf([session.log.append(title(1))]);
      expect(disk.calls).toEqual(["write", "fdatasync", "truncate", "fsync"]);
    });

    for (const rollback of ["truncate", "fsync"] as const satisfies readonly Operation[]) {
      for (const failing of ["write", "fdatasync"] as const) {
        const name = `that fail in ${failing} and cannot be cut off (${rollback}) close just that session for writing`;
        test(name, async () => {
          using place = new Place();
          const disk = new FaultyDisk();
          const { store, session, path } = await begin(place, disk, encoding);
          const acknowledged = [...session.log.texts()];
          const other = await store.create(header("t"));
          await other.log.append(title(0));
          disk.piece = 20;
          disk.watch((operation, call) => (operation === failing && call > 0) || operation === rollback);
          expect(await rejectionOf(session.log.append(title(1)))).toMatchObject({ code: "storage-failed" });
          disk.watch();
          disk.piece = Number.POSITIVE_INFINITY;
          const size = statSync(path).size;

          for (let round = 0; round < 2; round += 1) {
            const error = await rejectionOf(session.log.append(title(2)));
            expect(error).toMatchObject({ code: "storage-failed", place: { path } });
            expect(statSync(path).size).toBe(size);
            expect([...session.log.texts()]).toEqual(acknowledged);
            // Readers here: nothing but what was acknowledged, even where all of the batch is in the file.
            expect(await readLog(store, "s")).toEqual({ texts: acknowledged, torn: false });
            expect((await store.readFrom("s", 0)).length).toBe(1);
            expect(await store.readFrom("s", 1)).toEqual([]);
            expect(await store.health()).toMatchObject({ writable: false, problem: "storage-failed" });
            await other.log.append(title(round));
          }
          await session[Symbol.asyncDispose]();
          expect(await outcomesOf([store.append("s", [titleAt(1)])])).toEqual(["storage-failed"]);
          expect((await store.inspect("s")).log.length).toBe(1);
          await store.close();

          // Opened again it is as good as new; what was written and never acknowledged may be part of it or not.
          await using again = await place.open();
          const { log } = await again.load("s");
          expect([...log.texts()].slice(0, 1)).toEqual(acknowledged);
          await again.append("s", [titleAt(log.length)]);
          expect((await readLog(again, "s")).texts.length).toBe(log.length + 1);
          expect((await again.inspect("t")).log.length).toBe(3);
        });
      }
    }
  });
}

test("a commit of many sessions of which one fails: the others are durable, the one goes on later", async () => {
  using place = new Place();
  const disk = new FaultyDisk();
  await using store = place.openOn(disk);
  const sessions = await Promise.all(["a", "b", "c"].map((id) => store.create(header(id))));
  await Promise.all(sessions.map(({ log }) => log.append(title(0))));
  const appendAll = () => outcomesOf(sessions.map(({ log }) => log.append(title(1))));
  // The second session's sync: each has a write and a sync.
  disk.watch((operation, call) => operation === "fdatasync" && call === 3);
  expect(await appendAll()).toEqual(["ok", "storage-failed", "ok"]);
  disk.watch();
  expect(await appendAll()).toEqual(["ok", "ok", "ok"]);
  expect(sessions.map(({ log }) => log.length)).toEqual([3, 2, 3]);
  await using other = await place.read();
  for (const [k, id] of ["a", "b", "c"].entries()) {
    expect((await readLog(other, id)).texts).toEqual([...(sessions[k]?.log.texts() ?? [])]);
  }
});

test("a batch of more than a frame may hold is refused before one byte is written", async () => {
  using place = new Place();
  const disk = new FaultyDisk();
  for (const encoding of ENCODINGS) {
    await using store = place.openOn(disk, encoding);
    const session = await store.create(header(encoding));
    await session.log.append(title(0));
    const before = place.contents();
    disk.watch();
    const large = { type: "session/title" as const, data: "y".repeat(33 * 1024 * 1024) };
    expect(await outcomesOf([session.log.appendAll([large, large])])).toEqual(["storage-failed"]);
    expect([disk.calls, place.contents()]).toEqual([[], before]);
    expect((await session.log.append(title(1))).seq).toBe(1);
  }
});

test("appends go on in a session that grew by what another program appended in turn, once it is loaded again", async () => {
  using place = new Place();
  await using store = await place.open("none");
  {
    await using session = await store.create(header("s"));
    await session.log.append(title(0));
    appendFileSync(place.log("s", "none"), `${JSON.stringify(titleAt(1))}\n`);
    expect(await outcomesOf([session.log.append(title(1))])).toEqual(["sequence-conflict"]);
  }
  expect((await store.load("s")).log.length).toBe(2);
  await store.append("s", [titleAt(2)]);
  expect((await readLog(store, "s")).texts.length).toBe(3);
});
