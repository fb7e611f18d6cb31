import { describe, expect, test } from "bun:test";
import { CorruptError } from "../../../src/store/errors.ts";
import { rejectionOf } from "../../contract/support.ts";
import { turnEnd } from "../../fixtures/event-drafts.ts";
import { type BuiltLog, buildLog, eventText, frameOf, randomBytes, seeded, titleText } from "./log-bytes.ts";
import { expectSlices, longLog, some } from "./long-log.ts";
import { ENCODINGS, Place } from "./place.ts";

/* A reader that knows nothing of a long log finds its way to an event without reading what precedes it. */

const random = seeded(7);

/** Batches of one event, and some of them so large that nothing begins where the file is halved. */
function lumpyLog(encoding: (typeof ENCODINGS)[number]): BuiltLog {
  const sizes = Array.from({ length: 59 }, (_, k) => (k % 20 === 13 ? 400_000 : 9_000));
  const batches = sizes.map((size, seq) => [titleText(seq, randomBytes(size, random).toString("base64"))]);
  return buildLog("s", encoding, [...batches, [eventText(59, turnEnd(1))]]);
}

function damaged({ bytes, offsets }: BuiltLog, batch: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.fill(0, (offsets[batch] ?? 0) + 20, (offsets[batch] ?? 0) + 30);
  return copy;
}

for (const encoding of ENCODINGS) {
  describe(`a long log of which nothing is known, encoding ${encoding}`, () => {
    const long = longLog(encoding, 3);
    const lumpy = lumpyLog(encoding);

    test("has each event where it is, whichever is asked for first", async () => {
      for (const { bytes, length } of [long, { ...lumpy, length: lumpy.batches.length }]) {
        using place = new Place();
        place.put("s", encoding, bytes);
        for (const seq of some(length)) {
          await using store = await place.read();
          await expectSlices(store, length, [seq, length - 1, length >> 1, seq + 3], [1, 30]);
        }
      }
    });

    test("is not read before the place that is asked for", async () => {
      using place = new Place();
      place.put("s", encoding, damaged(lumpy, 5));
      await using store = await place.read();
      await expectSlices(store, lumpy.batches.length, [58, 40, 59, 30], [1, 10_000]);
      expect(await rejectionOf(store.readFrom("s", 4))).toBeInstanceOf(CorruptError);
    });

    test("is refused at damage as by whoever reads all of it", async () => {
      using place = new Place();
      place.put("s", encoding, damaged(lumpy, 50));
      const errors: unknown[] = [];
      for (const seqs of [[48], [0, 48], [0]]) {
        await using store = await place.read();
        for (const seq of seqs) {
          const error = await rejectionOf(store.readFrom("s", seq));
          if (seq === seqs.at(-1)) errors.push(error);
        }
      }
      const [guessed, known, whole] = errors;
      expect(whole).toBeInstanceOf(CorruptError);
      expect([guessed, known]).toMatchObject([
        { message: String(whole).replace(/^\w+: /, "") },
        { message: String(whole).replace(/^\w+: /, "") },
      ]);
    });

    test("shows what was never fully written at its end to nobody", async () => {
      using place = new Place();
      const piece = encoding === "zstd" ? frameOf(`${titleText(60)}\n`) : Buffer.from(`${titleText(60)}\n`);
      place.put("s", encoding, Buffer.concat([lumpy.bytes, piece.subarray(0, 12)]));
      await using store = await place.read();
      await expectSlices(store, lumpy.batches.length, [59, 60, 61, 10], [1, 20]);
    });

    test("whose lines begin with other seqs than they should is damaged, wherever it is read", async () => {
      using place = new Place();
      const batches = lumpy.batches.map((texts, k) =>
        k < 30 || k === 59 ? texts : [titleText(k + 500, texts[0])],
      );
      place.put("s", encoding, buildLog("s", encoding, batches).bytes);
      await using store = await place.read();
      expect(await rejectionOf(store.readFrom("s", 29))).toBeInstanceOf(CorruptError);
    });
  });
}
