import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import type { SessionPersistence } from "../../../src/store/persistence.ts";
import { turnEnd } from "../../fixtures/event-drafts.ts";
import { buildLog, eventText, frameOf, randomBytes, seeded, titleText } from "./log-bytes.ts";
import { longLog, type Sidecar, sidecarOf } from "./long-log.ts";
import { ENCODINGS, Place } from "./place.ts";

/* A stream from a seq on: its cost follows what is read, and whatever lies beside the log, it is right. */

const BATCHES = 60;

/** Seqs of the records from one on, whether the end is torn, and the code of what the stream ends with. */
async function streamed(store: SessionPersistence, fromSeq: number) {
  const stream = await store.stream("s", { fromSeq });
  const seqs: number[] = [];
  let fault: unknown;
  try {
    for await (const page of stream.pages) seqs.push(...page.map(({ record }) => record.seq));
  } catch (error) {
    fault = Reflect.get(Object(error), "code");
  }
  return { seqs, torn: stream.torn(), fault };
}

const LIES: ReadonlyArray<readonly [string, (sidecar: Sidecar) => object]> = [
  ["right", (sidecar) => sidecar],
  ["one seq off", ({ seqs, ...rest }) => ({ ...rest, seqs: seqs.map((seq) => (seq === 0 ? 0 : seq + 1)) })],
  ["in the middle", ({ offsets, ...rest }) => ({ ...rest, offsets: offsets.map((offset) => offset + 5) })],
  ["for another file", ({ ino, ...rest }) => ({ ...rest, ino: ino + 1 })],
];

for (const encoding of ENCODINGS) {
  describe(`a stream from a seq on, encoding ${encoding}`, () => {
    const random = seeded(11);
    const numbers = Array.from({ length: BATCHES }, (_, seq) => seq);
    const batches = numbers.map((seq) => [titleText(seq, randomBytes(30_000, random).toString("base64"))]);
    // The end of a Turn says that what precedes it is no torn end.
    const log = buildLog("s", encoding, [...batches.slice(0, -1), [eventText(BATCHES - 1, turnEnd(1))]]);

    function damaged(batch: number): Buffer {
      const copy = Buffer.from(log.bytes);
      copy.fill(0, (log.offsets[batch] ?? 0) + 20, (log.offsets[batch] ?? 0) + 30);
      return copy;
    }

    test("does not read what precedes it, and ends at damage that follows", async () => {
      using place = new Place();
      place.put("s", encoding, damaged(5));
      await using store = await place.read();
      expect(await streamed(store, 40)).toEqual({ seqs: numbers.slice(40), torn: false, fault: undefined });
      expect(await streamed(store, 0)).toMatchObject({ seqs: numbers.slice(0, 5), fault: "corrupt" });
      place.put("s", encoding, damaged(50));
      await using other = await place.read();
      expect(await streamed(other, 40)).toEqual({
        seqs: numbers.slice(40, 50),
        torn: false,
        fault: "corrupt",
      });
    });

    test("says that the end of the log is torn", async () => {
      using place = new Place();
      const piece = encoding === "zstd" ? frameOf(titleText(BATCHES)) : Buffer.from(titleText(BATCHES));
      place.put("s", encoding, Buffer.concat([log.bytes, piece.subarray(0, 12)]));
      await using store = await place.read();
      expect(await streamed(store, 55)).toEqual({ seqs: numbers.slice(55), torn: true, fault: undefined });
    });

    test.each(LIES)("is the same with an index beside the log that is %s", async (_, change) => {
      using place = new Place();
      const { bytes, length } = longLog(encoding);
      const path = place.put("s", encoding, bytes);
      const sidecar = await sidecarOf(place, path);
      writeFileSync(`${path}.holdfast-index`, JSON.stringify(change(sidecar)));
      const from = length >> 1;
      await using store = await place.read();
      const { seqs: all } = await streamed(store, 0);
      await using fresh = await place.read();
      const { seqs } = await streamed(fresh, from);
      const first = all.findLastIndex((seq) => seq <= from);
      expect(seqs).toEqual(all.slice(first));
    });
  });
}
