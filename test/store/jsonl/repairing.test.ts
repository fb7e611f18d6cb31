import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { outcomesOf, titleAt } from "../../contract/support.ts";
import { turnStart, userMessage } from "../../fixtures/event-drafts.ts";
import { FaultyDisk } from "../../fixtures/faulty-disk.ts";
import { buildLog, rawFrame, textsOf, titleText } from "./log-bytes.ts";
import { ENCODINGS, LOG_NAMES, Place, readLog } from "./place.ts";

/** An open Turn, so that there is something to add behind the tail. */
const BATCHES = textsOf([[turnStart(1), userMessage("x")], [{ type: "session/title", data: 1 }]]);
const TEXTS = BATCHES.flat();

interface TornLog {
  readonly bytes: Buffer;
  readonly offset: number;
  /** What the tail still yields. */
  readonly yielded: readonly string[];
}

function tornLog(encoding: (typeof ENCODINGS)[number]): TornLog {
  const { bytes } = buildLog("s", encoding, BATCHES);
  const offset = bytes.length;
  if (encoding === "none") {
    return {
      bytes: Buffer.concat([bytes, Buffer.from(titleText(3, "half").slice(0, -4))]),
      offset,
      yielded: [],
    };
  }
  const tail = rawFrame([`${titleText(3)}\n`, `${titleText(4, "half")}\n`]).bytes.subarray(0, -9);
  return { bytes: Buffer.concat([bytes, tail]), offset, yielded: [titleText(3)] };
}

function quarantine(path: string): Buffer[] {
  return readdirSync(dirname(path))
    .filter((name) => name.includes(".torn-"))
    .map((name) => readFileSync(join(dirname(path), name)));
}

for (const encoding of ENCODINGS) {
  const { bytes, offset, yielded } = tornLog(encoding);
  const before = { texts: [...TEXTS, ...yielded], torn: true };
  const tail = bytes.subarray(offset);

  const expectRepaired = async (place: Place) => {
    await using store = await place.open();
    const { log } = await store.load("s");
    expect([...log.texts()].slice(0, before.texts.length)).toEqual(before.texts);
    expect(log.slice(before.texts.length).map(({ type }) => type)).toEqual(["turn/end"]);
    expect(quarantine(place.log("s", encoding)).some((copy) => copy.equals(tail))).toBe(true);
    await store.append("s", [titleAt(log.length)]);
    expect(await readLog(store, "s")).toMatchObject({ torn: false, texts: { length: log.length + 1 } });
  };

  describe(`a repair, encoding ${encoding}`, () => {
    test("copies the tail and syncs it before the log is cut, and syncs the cut before it appends", async () => {
      using place = new Place();
      place.put("s", encoding, bytes);
      const disk = new FaultyDisk();
      await using store = place.openOn(disk, encoding);
      await store.load("s");
      // First the log as it was found.
      expect(disk.calls).toEqual(["fsync", "write", "fsync", "truncate", "fsync", "write", "fdatasync"]);
    });

    test("that fails at any step leaves the log byte for byte as it was, and works when it is tried again", async () => {
      using place = new Place();
      const disk = new FaultyDisk();
      disk.piece = 40;
      let failed = 0;
      for (let step = 0; ; step += 1) {
        const path = place.put("s", encoding, bytes);
        const store = place.openOn(disk, encoding);
        disk.watch((_, call) => call === step);
        const [outcome] = await outcomesOf([store.load("s")]);
        if (outcome === "ok") break;
        failed += 1;
        disk.watch();
        expect({ step, outcome }).toEqual({ step, outcome: "storage-failed" });
        expect({ step, same: readFileSync(path).equals(bytes) }).toEqual({ step, same: true });
        expect(await readLog(store, "s")).toEqual(before);
        await store.close();
        await expectRepaired(place);
      }
      expect(failed).toBeGreaterThan(6);
    });

    test("that fails leaves no copy of the tail behind, whole or in part", async () => {
      using place = new Place();
      const path = place.put("s", encoding, bytes);
      const left = place.contents();
      const disk = new FaultyDisk();
      disk.piece = 40;
      await using store = place.openOn(disk, encoding);
      const odd: number[] = [];
      for (let step = 0; ; step += 1) {
        disk.watch((_, call) => call === step);
        const [outcome] = await outcomesOf([store.load("s")]);
        if (outcome === "ok") break;
        if (!Bun.deepEquals(place.contents(), left)) odd.push(step);
        place.clear();
        place.put("s", encoding, bytes);
      }
      expect(odd).toEqual([]);
      expect(quarantine(path).length).toBe(1);
    });

    test("that finds no space leaves the log as it was, wherever it ends", async () => {
      using place = new Place();
      const path = place.put("s", encoding, bytes);
      const disk = new FaultyDisk();
      await using store = place.openOn(disk, encoding);
      for (let room = 0; ; room += 1) {
        disk.room = room;
        // The bytes that are put back take no more than was cut off: there is room for them again.
        disk.watch((operation) => {
          if (operation === "truncate") disk.room += tail.length;
          return false;
        });
        const [outcome] = await outcomesOf([store.load("s")]);
        if (outcome === "ok") break;
        expect({ room, outcome }).toEqual({ room, outcome: "storage-full" });
        expect({ room, same: readFileSync(path).equals(bytes) }).toEqual({ room, same: true });
        expect(await readLog(store, "s")).toEqual(before);
      }
      disk.room = Number.POSITIVE_INFINITY;
      expect(quarantine(path).some((copy) => copy.equals(tail))).toBe(true);
      await store.close();
      await using again = await place.open();
      expect(await readLog(again, "s")).toMatchObject({
        torn: false,
        texts: { length: before.texts.length + 1 },
      });
    });

    test("on a disk that dies at any step loses nothing: the log's beginning stays, the tail lies in it or beside it", async () => {
      for (let step = 0; ; step += 1) {
        using place = new Place();
        const path = place.put("s", encoding, bytes);
        const disk = new FaultyDisk();
        disk.piece = 40;
        await using store = place.openOn(disk, encoding);
        disk.watch((_, call) => call >= step);
        const [outcome] = await outcomesOf([store.load("s")]);
        if (outcome === "ok") break;
        const left = readFileSync(path);
        expect({ step, same: left.subarray(0, offset).equals(bytes.subarray(0, offset)) }).toEqual({
          step,
          same: true,
        });
        const isThere = left.equals(bytes) || quarantine(path).some((copy) => copy.equals(tail));
        expect({ step, isThere }).toEqual({ step, isThere: true });
        await using other = await place.read();
        expect((await readLog(other, "s")).texts.slice(0, TEXTS.length)).toEqual(TEXTS);
      }
    });

    test("does not touch a log that changed since it was read", async () => {
      using place = new Place();
      place.put("s", encoding, bytes);
      const disk = new FaultyDisk();
      await using store = place.openOn(disk, encoding);
      await store.inspect("s");
      const longer = Buffer.concat([bytes, Buffer.from("more")]);
      const path = place.put("s", encoding, longer);
      // What was inspected is not what is repaired: it is read again.
      expect((await store.load("s")).log.length).toBe(before.texts.length + 1);
      expect(quarantine(path).map((copy) => copy.equals(longer.subarray(offset)))).toEqual([true]);
    });

    test("names a second copy after the first, and writes over none", async () => {
      using place = new Place();
      const path = place.put("s", encoding, bytes);
      for (const name of ["", "-2", "-3"]) place.file(`${path}.torn-${offset}${name}`, `kept${name}`);
      await using store = await place.open();
      await store.load("s");
      const names = readdirSync(dirname(path)).toSorted();
      expect(names).toEqual(
        ["", ...["", "-2", "-3", "-4"].map((name) => `.torn-${offset}${name}`)].map(
          (name) => LOG_NAMES[encoding] + name,
        ),
      );
      expect(readFileSync(`${path}.torn-${offset}-2`, "utf8")).toBe("kept-2");
      expect(readFileSync(`${path}.torn-${offset}-4`).equals(tail)).toBe(true);
    });
  });
}
