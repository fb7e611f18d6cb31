import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { outcomesOf, titleAt } from "../../contract/support.ts";
import { expectSlices, longLog, type Sidecar, sidecarOf, some } from "./long-log.ts";
import { ENCODINGS, Place } from "./place.ts";

for (const encoding of ENCODINGS) {
  describe(`an index beside a log, encoding ${encoding}`, () => {
    const { bytes, length } = longLog(encoding);

    const LIES: Readonly<Record<string, (sidecar: Sidecar) => unknown>> = {
      "an empty list": () => [],
      "another version": (sidecar) => ({ ...sidecar, version: 2 }),
      "another file's": (sidecar) => ({ ...sidecar, ino: sidecar.ino + 1 }),
      "no points": (sidecar) => ({ ...sidecar, offsets: [], seqs: [] }),
      "fewer seqs than offsets": (sidecar) => ({ ...sidecar, seqs: sidecar.seqs.slice(1) }),
      "a point behind the file's end": ({ offsets, seqs, ...sidecar }) => ({
        ...sidecar,
        offsets: [...offsets, bytes.length + 1],
        seqs: [...seqs, length],
      }),
      "only the first point": ({ offsets, ...sidecar }) => ({
        ...sidecar,
        offsets: offsets.slice(0, 1),
        seqs: [0],
      }),
      "too few points": ({ offsets, seqs, ...sidecar }) => ({
        ...sidecar,
        offsets: offsets.slice(0, 4),
        seqs: seqs.slice(0, 4),
      }),
      "seqs that are one too high": ({ seqs, ...sidecar }) => ({
        ...sidecar,
        seqs: seqs.map((seq) => (seq === 0 ? 0 : seq + 1)),
      }),
      "seqs that are one too low": ({ seqs, ...sidecar }) => ({
        ...sidecar,
        seqs: seqs.map((seq) => Math.max(0, seq - 1)),
      }),
      "seqs that are half of what they are": ({ seqs, ...sidecar }) => ({
        ...sidecar,
        seqs: seqs.map((seq) => seq >> 1),
      }),
      "offsets in the middle": ({ offsets, ...sidecar }) => ({
        ...sidecar,
        offsets: offsets.map((offset) => offset + 5),
      }),
      "offsets one short": ({ offsets, ...sidecar }) => ({
        ...sidecar,
        offsets: offsets.map((offset) => offset - 1),
      }),
      "offsets of the next point": ({ offsets, ...sidecar }) => ({
        ...sidecar,
        offsets: [...offsets.slice(1), bytes.length],
      }),
      "a first point that is not the first": ({ offsets, ...sidecar }) => ({
        ...sidecar,
        offsets: [offsets[1] ?? 0, ...offsets.slice(2)],
        seqs: sidecar.seqs.slice(0, -1),
      }),
      "a first point at the header": ({ offsets, ...sidecar }) => ({
        ...sidecar,
        offsets: [0, ...offsets.slice(1)],
      }),
      "a last point at the end": ({ offsets, seqs, ...sidecar }) => ({
        ...sidecar,
        offsets: [...offsets, bytes.length],
        seqs: [...seqs, (seqs.at(-1) ?? 0) + 1],
      }),
      "only a point at the end": (sidecar) => ({ ...sidecar, offsets: [bytes.length], seqs: [0] }),
      "points in another order": ({ offsets, seqs, ...sidecar }) => ({
        ...sidecar,
        offsets: offsets.toReversed(),
        seqs: seqs.toReversed(),
      }),
      "the same point many times": ({ offsets, seqs, ...sidecar }) => ({
        ...sidecar,
        offsets: offsets.map(() => offsets[0]),
        seqs: seqs.map(() => 0),
      }),
      "numbers that are none": (sidecar) => ({ ...sidecar, offsets: ["1"], seqs: [null] }),
      "negative numbers": ({ offsets, ...sidecar }) => ({
        ...sidecar,
        offsets: offsets.map((offset) => -offset),
      }),
      halves: ({ offsets, ...sidecar }) => ({ ...sidecar, offsets: offsets.map((offset) => offset + 0.5) }),
      "huge numbers": ({ seqs, ...sidecar }) => ({
        ...sidecar,
        seqs: seqs.map((seq, k) => (k === 0 ? 0 : seq + 2 ** 52)),
      }),
    };

    test.each(Object.entries(LIES))("is never trusted over the log: %s", async (_, lie) => {
      using place = new Place();
      const path = place.put("s", encoding, bytes);
      const text = JSON.stringify(lie(await sidecarOf(place, path)));
      for (const seq of [0, length >> 1, length - 30, length - 1, length, length + 1]) {
        writeFileSync(`${path}.holdfast-index`, text);
        // Each read on its own: once the lie is found out, the index in memory is right.
        await using store = await place.read();
        await expectSlices(store, length, [seq, length >> 1, length - 1], [7]);
      }
      {
        await using store = await place.open();
        await store.append("s", [titleAt(length)]);
        await expectSlices(store, length + 1, some(length + 1), [7]);
      }
      await using store = await place.read();
      await expectSlices(store, length + 1, some(length + 1), [7]);
    });

    test.each([
      ["nothing", ""],
      ["half of one", '{"version":1,"ino":5,"offsets":'],
      ["no text", Buffer.from([0xff, 0xfe, 0, 1])],
      ["a depth that no parser takes", "[".repeat(100_000)],
    ])("is done without where it is %s", async (_, content) => {
      using place = new Place();
      const path = place.put("s", encoding, bytes);
      place.file(`${path}.holdfast-index`, content);
      await using store = await place.open();
      await expectSlices(store, length, some(length), [7]);
    });

    test.each([
      ["a folder", (path: string) => mkdirSync(`${path}.holdfast-index/x`, { recursive: true })],
      [
        "a folder in the place of its draft",
        (path: string) => mkdirSync(`${path}.holdfast-index.tmp/x`, { recursive: true }),
      ],
      ["a link to itself", (path: string) => symlinkSync(`${path}.holdfast-index`, `${path}.holdfast-index`)],
    ])("is done without, and the store closes in order, where there is %s", async (_, make) => {
      using place = new Place();
      const path = place.put("s", encoding, bytes);
      make(path);
      const store = await place.open();
      await expectSlices(store, length, some(length), [7]);
      expect(await outcomesOf([store.close()])).toEqual(["ok"]);
      await using again = await place.open();
      await expectSlices(again, length, some(length), [7]);
    });
  });
}
