import { describe, expect, test } from "bun:test";
import { existsSync, rmSync, statSync } from "node:fs";
import { outcomesOf, titleAt } from "../../contract/support.ts";
import { DrivenStore } from "../../fixtures/driven-store.ts";
import { buildLog, titleText } from "./log-bytes.ts";
import { expectSlices, longLog, sidecarOf, some } from "./long-log.ts";
import { ENCODINGS, Place } from "./place.ts";

for (const encoding of ENCODINGS) {
  describe(`reading from a seq, encoding ${encoding}`, () => {
    const { bytes, length } = longLog(encoding);

    test("gives that part of all events, from every seq: cold, and after the log was read once", async () => {
      using place = new Place();
      place.put("s", encoding, bytes);
      for (const seq of some(length)) {
        await using cold = await place.read();
        await expectSlices(cold, length, [seq], [3]);
      }
      await using store = await place.read();
      await expectSlices(
        store,
        length,
        Array.from({ length: length + 2 }, (_, k) => length + 1 - k),
        [1],
      );
      await store.inspect("s");
      await expectSlices(
        store,
        length,
        Array.from({ length: 40 }, (_, k) => 17 * k),
        [1, 2, 30, 10_000],
      );
      const { log } = await store.inspect("s");
      for (const [seq, limit] of [
        [0, 10_000],
        [4, 25],
        [length - 3, 10],
      ] as const) {
        expect(await store.readFrom("s", seq, { limit })).toEqual(
          log.slice(seq, Math.min(length, seq + limit)),
        );
      }
      expect(await store.readFrom("s", 3, { limit: 0 })).toEqual([]);
    });

    test("goes on over what is appended here, and by another process", async () => {
      using place = new Place();
      place.put("s", encoding, bytes);
      await using reader = await place.read();
      await reader.readFrom("s", length - 1);
      {
        await using store = await place.open();
        await store.readFrom("s", length - 1);
        for (let k = 0; k < 5; k += 1) {
          await store.append("s", [titleAt(length + k)]);
          for (const open of [store, reader])
            await expectSlices(open, length + k + 1, some(length + k + 1), [2]);
        }
      }
      await using driven = await DrivenStore.open(`jsonl:${place.root}`);
      for (let k = 5; k < 8; k += 1) {
        await driven.run("append", "s", length + k);
        await expectSlices(reader, length + k + 1, some(length + k + 1), [2, 10_000]);
      }
      await driven.run("put", "t", 3);
      expect((await reader.readFrom("t", 1)).map(({ seq }) => seq)).toEqual([1, 2]);
      await driven.run("delete", "t");
      expect(await outcomesOf([reader.readFrom("t", 1)])).toEqual(["not-found"]);
    });

    test("keeps an index beside a long log, which nobody needs; none beside a short one, and none by who only reads", async () => {
      using place = new Place();
      const path = place.put("s", encoding, bytes);
      const short = place.put("t", encoding, buildLog("t", encoding, [[titleText(0)]]).bytes);
      {
        await using store = await place.read();
        await store.inspect("s");
      }
      expect(existsSync(`${path}.holdfast-index`)).toBe(false);
      const sidecar = await sidecarOf(place, path);
      expect(sidecar).toMatchObject({ version: 1 });
      expect(sidecar.offsets.length).toBeGreaterThan(4);
      expect(statSync(`${path}.holdfast-index`).mode & 0o777).toBe(0o600);
      expect(existsSync(`${short}.holdfast-index`)).toBe(false);
      await using store = await place.open();
      await expectSlices(store, length, some(length));
      rmSync(`${path}.holdfast-index`);
      await expectSlices(store, length, some(length));
      await store.delete("s");
      expect(Object.keys(place.contents()).filter((name) => name.startsWith("--p--/s"))).toEqual([]);
    });

    test("goes with the session that it belongs to", async () => {
      using place = new Place();
      const path = place.put("s", encoding, bytes);
      await sidecarOf(place, path);
      await using store = await place.open();
      await store.delete("s");
      expect(existsSync(`${path}.holdfast-index`)).toBe(false);
    });
  });
}

describe("reading from a seq where a torn tail begins", () => {
  test("gives nothing of what lies behind it, also after the log was read once", async () => {
    using place = new Place();
    const bad = `{"type":"session/title","seq":2,${"x".repeat(60_000)}`;
    // The part of the file that is decoded at once ends before the last line, which has the seq that would come next.
    const texts = [titleText(0), titleText(1), bad, titleText(2, "y".repeat(10_000))];
    place.put("s", "none", buildLog("s", "none", [texts]).bytes);
    await using store = await place.read();
    expect(await store.readFrom("s", 2)).toEqual([]);
    expect((await store.inspect("s")).torn).toBe(true);
    expect(await store.readFrom("s", 2)).toEqual([]);
    expect((await store.readFrom("s", 1)).map(({ seq }) => seq)).toEqual([1]);
  });
});
