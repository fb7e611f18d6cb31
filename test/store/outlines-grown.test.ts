import { afterEach, describe, expect, spyOn, test } from "bun:test";
import { appendFileSync, copyFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import type { EventDraft } from "../../src/session/events.ts";
import { LogFile } from "../../src/store/jsonl/log-file.ts";
import { OutlineCache } from "../../src/store/outlines.ts";
import type { SessionPersistence } from "../../src/store/persistence.ts";
import { RowPages } from "../../src/store/sqlite/row-pages.ts";
import { parseStoreName } from "../../src/store/store-name.ts";
import { arbitrarySession, toEvents } from "../fixtures/arbitraries.ts";
import {
  assistantMessage,
  replacing,
  stepEnd,
  stepStart,
  turnEnd,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";
import { FEW_STORES, fewSessions, plantTurns } from "../fixtures/few-sessions.ts";
import { recordsOf } from "../fixtures/logs.ts";
import { headerText, recordsOfTexts, withStore } from "../fixtures/stored-sessions.ts";
import {
  change,
  compact,
  damage,
  grow,
  known,
  logOf,
  look,
  lookAgain,
  lookInto,
  repair,
  titled,
} from "./growing.ts";

const [DATABASE, FRAMED, PLAIN] = FEW_STORES;
const TIME = 1_700_000_000_000;

afterEach(() => {
  // Spies would count for others.
  for (const spy of spies.splice(0)) spy.mockRestore();
});
const spies: Array<{ mockRestore(): void }> = [];

const STRAY: readonly EventDraft[] = [
  turnStart(1),
  turnEnd(1),
  stepStart({ turn: 1, step: 1 }),
  stepEnd({ turn: 1, step: 1 }),
  { type: "session/title", data: { title: "A title" } },
  { type: "future/thing", data: {} },
];

/** Sessions in which something may be wrong: one event is another one. Each with places where to cut it. */
const cutSessions = fc
  .record({
    drafts: arbitrarySession(),
    stray: fc.option(fc.record({ at: fc.nat(), draft: fc.constantFrom(...STRAY) }), { freq: 2 }),
    cuts: fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
  })
  .map(({ drafts, stray, cuts }) => {
    const at = stray === null ? -1 : stray.at % drafts.length;
    const events = toEvents(drafts.map((draft, k) => (k === at ? (stray?.draft ?? draft) : draft)));
    const ends = new Set([...cuts.map((cut) => 1 + (cut % events.length)), events.length]);
    return { events, ends: [...ends].sort((a, b) => a - b) };
  });

describe.each(FEW_STORES)("a session of %s that has grown", (...kind) => {
  const isDatabase = kind[1] === "a.db";

  test("looks just as one that is read whole, wherever it was cut", async () => {
    await using folder = await fewSessions(kind, async () => {});
    const name = parseStoreName(folder.at(kind[1]));
    const counts = { on: 0, whole: 0 };
    await withStore(
      folder.at(kind[1]),
      async (store) => {
        const property = fc.asyncProperty(cutSessions, async ({ events, ends }) => {
          for (const [k, end] of ends.entries()) {
            const added = events.slice(ends[k - 1] ?? 0, end);
            // Nobody writes events of an unknown type, and packs them.
            const isUnknown = added.some(({ type }) => type === "future/thing");
            const records = isUnknown
              ? recordsOfTexts(added.map((event) => JSON.stringify(event)))
              : recordsOf(added);
            await store.importRecords(headerText("s"), records);
            const { found, ways } = await lookInto(store, {
              cache: OutlineCache.open(folder.at("cache"), name),
            });
            expect(found).toEqual((await lookInto(store)).found);
            for (const way of ways) counts[way] += 1;
          }
        });
        const remove = async () => {
          for (const { id } of (await store.list()).items) await store.delete(id);
        };
        await fc.assert(property.afterEach(remove), { numRuns: 15 });
      },
      kind[2],
    );
    expect(counts.on).toBeGreaterThan(10);
  });

  test("costs what was added: an event behind a long log is read alone", async () => {
    await using folder = await fewSessions(kind, async (store) => {
      const texts = Array.from({ length: 2_000 }, (_, seq) => {
        // Nothing that packs well.
        const hex = [1, 2, 3, 4].map((n) =>
          new Bun.CryptoHasher("sha512").update(`${seq} ${n}`).digest("hex"),
        );
        return titled(seq, hex.join(""));
      });
      await store.importRecords(headerText("s"), recordsOfTexts(texts));
    });
    let bytes = 0;
    let rows = 0;
    const read = LogFile.prototype.read;
    const unpack = RowPages.prototype.unpack;
    spies.push(
      spyOn(LogFile.prototype, "read").mockImplementation(function (this: LogFile, ...args) {
        const found = read.apply(this, args);
        bytes += found.length;
        return found;
      }),
      spyOn(RowPages.prototype, "unpack").mockImplementation(function (this: RowPages, ...args) {
        rows += 1;
        return unpack.apply(this, args);
      }),
    );
    expect((await look(folder, kind)).ways).toEqual(["whole"]);
    const whole = { bytes, rows };
    await grow(folder, kind, { to: 2_001 });
    [bytes, rows] = [0, 0];
    const { found, ways } = await look(folder, kind);
    expect(ways).toEqual(["on"]);
    expect(found).toMatchObject([{ state: "ok", outline: { title: "More", events: 2_001 } }]);
    if (isDatabase) {
      expect({ whole: whole.rows, rows }).toEqual({ whole: 2_000, rows: 1 });
    } else {
      expect(whole.bytes).toBeGreaterThan(500_000);
      // The header, the end that was known twice over, and the event.
      expect(bytes).toBeLessThan(150_000);
    }
  });

  test("that is written while it is read is what it was at its mark, and goes on from there", async () => {
    await using folder = await known(kind);
    const name = folder.at(kind[1]);
    const read = async (store: SessionPersistence) => {
      const { pages, mark } = await store.stream("s", { marks: {} });
      await store.importRecords(headerText("s"), recordsOfTexts([titled(120)]));
      let events = 0;
      for await (const page of pages) for (const { record } of page) events += record.count;
      expect(events).toBe(120);
      const since = mark?.(events);
      if (since === undefined) throw new Error("there is no mark");
      const rest = await store.stream("s", { marks: { since } });
      expect(rest.isContinued).toBe(true);
      const seqs: number[] = [];
      for await (const page of rest.pages) for (const { record } of page) seqs.push(record.seq);
      expect(seqs).toEqual([120]);
    };
    await withStore(name, read, kind[2]);
  });

  test("is read whole where something is wrong behind what is known, and each time until that is mended", async () => {
    await using folder = await known(kind);
    const damaged = (seq: number) =>
      recordsOfTexts([
        `{"type":"turn/end","seq":${seq},"time":5,"data":{"turn":9,"reason":{"kind":"completed"}}}`,
      ]);
    await withStore(
      folder.at(kind[1]),
      (store) => store.importRecords(headerText("s"), damaged(120)),
      kind[2],
    );
    expect(await lookAgain(folder, kind)).toEqual(["on", "whole"]);
    expect(await lookAgain(folder, kind)).toEqual(["whole"]);
    await grow(folder, kind, { to: 122 });
    expect(await lookAgain(folder, kind)).toEqual(["whole"]);
  });

  test("is read whole where a message stands in for one that is known, and then goes on", async () => {
    await using folder = await known(kind);
    const drafts = [turnStart(41), replacing(userMessage("All of it.", "sum"), 1, 4, [1, 4])];
    const events = toEvents(drafts, TIME, 120);
    await withStore(
      folder.at(kind[1]),
      (store) => store.importRecords(headerText("s"), recordsOf(events)),
      kind[2],
    );
    expect(await lookAgain(folder, kind)).toEqual(["on", "whole"]);
    const at = { turn: 41, step: 1 };
    const call = { type: "tool-call", id: "c", name: "look", arguments: "{}" } as const;
    const more = toEvents([stepStart(at), assistantMessage(at, [call])], TIME, 122);
    await withStore(
      folder.at(kind[1]),
      (store) => store.importRecords(headerText("s"), recordsOf(more)),
      kind[2],
    );
    expect(await lookAgain(folder, kind)).toEqual(["on"]);
  });

  test("is read whole where it was cut since, and has grown again", async () => {
    await using folder = await known(kind);
    const path = folder.at(kind[1]);
    await grow(folder, kind, { to: 123 });
    const short = isDatabase ? undefined : readFileSync(logOf(folder, kind));
    await grow(folder, kind, { to: 126 });
    expect(await lookAgain(folder, kind)).toEqual(["on"]);
    // In place: the file stays the same one.
    if (short === undefined) change(path, "DELETE FROM records WHERE seq >= 123");
    else writeFileSync(logOf(folder, kind), short);
    await grow(folder, kind, { to: 160, title: "Other" });
    expect(await lookAgain(folder, kind)).toEqual(["whole"]);
    await grow(folder, kind, { to: 161 });
    expect(await lookAgain(folder, kind)).toEqual(["on"]);
  });

  test("is read whole by a check, which finds what became of its beginning", async () => {
    await using folder = await known(kind);
    await grow(folder, kind, { to: 121 });
    damage(folder, kind);
    expect(await look(folder, kind, true)).toMatchObject({ found: [{ state: "corrupt" }], ways: ["whole"] });
    expect(await lookAgain(folder, kind)).toEqual(["whole"]);
    await repair(folder, kind);
    await grow(folder, kind, { to: 200 });
    expect(await lookAgain(folder, kind)).toEqual(["whole"]);
  });

  test("is read whole where it was repaired and has grown again before anybody looked", async () => {
    await using folder = await known(kind);
    damage(folder, kind);
    await repair(folder, kind);
    await grow(folder, kind, { to: 200 });
    expect(await lookAgain(folder, kind)).toEqual(["whole"]);
  });

  test("is read whole where another one has its id now", async () => {
    await using folder = await known(kind);
    const again = async (store: SessionPersistence) => {
      await store.delete("s");
      await plantTurns(store, "s", { turns: 41 });
    };
    await withStore(folder.at(kind[1]), again, kind[2]);
    expect(await lookAgain(folder, kind)).toEqual(["whole"]);
  });
});

describe.each([DATABASE, FRAMED])("a session of %s that was compacted", (...kind) => {
  test("is read whole, and then goes on", async () => {
    await using folder = await fewSessions(kind, async (store) => {
      // Commits that each take a frame of their own.
      for (let n = 0; n < 40; n += 1) {
        const texts = Array.from({ length: 20 }, (_, k) => titled(20 * n + k));
        await store.importRecords(headerText("s"), recordsOfTexts(texts));
      }
    });
    expect((await look(folder, kind)).ways).toEqual(["whole"]);
    await compact(folder, kind);
    await grow(folder, kind, { to: 801 });
    expect(await lookAgain(folder, kind)).toEqual(["whole"]);
    await grow(folder, kind, { to: 802 });
    expect(await lookAgain(folder, kind)).toEqual(["on"]);
  });
});

describe.each([FRAMED, PLAIN])("one of %s that has grown", (...kind) => {
  test("is read whole where its log is another file, though it begins the same", async () => {
    await using folder = await known(kind);
    const path = logOf(folder, kind);
    copyFileSync(path, `${path}.copy`);
    renameSync(`${path}.copy`, path);
    await grow(folder, kind, { to: 121 });
    expect(await lookAgain(folder, kind)).toEqual(["whole"]);
  });

  test("is read whole while its end is torn, and once more when that was cut off", async () => {
    await using folder = await known(kind);
    appendFileSync(logOf(folder, kind), '{"type":"session/ti');
    expect(await lookAgain(folder, kind)).toEqual(["on", "whole"]);
    await withStore(folder.at(kind[1]), async (store) => void (await store.load("s")), kind[2]);
    await grow(folder, kind, { to: 125 });
    expect(await lookAgain(folder, kind)).toEqual(["whole"]);
    await grow(folder, kind, { to: 126 });
    expect(await lookAgain(folder, kind)).toEqual(["on"]);
  });
});

test("a row at the end that was changed behind the back of its store leads nowhere", async () => {
  await using folder = await known(DATABASE);
  await grow(folder, DATABASE, { to: 121 });
  const other = titled(119, "Other");
  const sum = Bun.hash.crc32(other);
  change(
    folder.at(DATABASE[1]),
    `UPDATE records SET type = 'session/title', time = 1700000000119, body = '${other}', checksum = ${sum} WHERE seq = 119`,
  );
  expect(await lookAgain(folder, DATABASE)).toEqual(["whole"]);
});
