import { describe, expect, test } from "bun:test";
import { renameSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { HoldfastError } from "../../../src/store/errors.ts";
import { LARGE_LOG } from "../../../src/store/jsonl/large-log.ts";
import { title } from "../../contract/support.ts";
import { turnStart } from "../../fixtures/event-drafts.ts";
import { buildLog, eventText, frameOf, rawFrame, titleText } from "./log-bytes.ts";
import { ENCODINGS, Place, readLog } from "./place.ts";

/* The texts of a large log are read again where they are asked for: never other ones than were read first. */

const TIMEOUT = 30_000;
const LARGE_BATCHES = 17;

/** An open Turn, then small batches between large ones: units of one frame, of many, and of many lines. */
function largeLog(encoding: (typeof ENCODINGS)[number]) {
  const share = Math.ceil(LARGE_LOG / LARGE_BATCHES);
  const batches: string[][] = [[eventText(0, turnStart(1))]];
  let seq = 1;
  for (let k = 0; k < LARGE_BATCHES; k += 1) {
    for (let n = 0; n < 20; n += 1) batches.push([titleText(seq++), titleText(seq++, "x".repeat(n * 50))]);
    batches.push([titleText(seq++, { k }), titleText(seq++, "y".repeat(share)), titleText(seq++)]);
  }
  const compress = (lines: string) =>
    lines.length > 10_000 ? rawFrame(pieces(lines)).bytes : frameOf(lines);
  return { ...buildLog("s", encoding, batches, compress), texts: batches.flat() };
}

/** No block holds more than 128 KiB. */
function pieces(lines: string): string[] {
  const size = 100_000;
  return Array.from({ length: Math.ceil(lines.length / size) }, (_, k) =>
    lines.slice(k * size, (k + 1) * size),
  );
}

/** Whether all texts are there, without printing megabytes where they are not. */
function expectTexts(found: Iterable<string>, texts: readonly string[]): void {
  let k = 0;
  for (const text of found) {
    if (k < texts.length && text !== texts[k])
      throw new Error(`text ${k} is another one: ${text.slice(0, 80)}`);
    k += 1;
  }
  expect(k).toBeGreaterThanOrEqual(texts.length);
}

describe.each(ENCODINGS)("a large log, encoding %s", (encoding) => {
  const { bytes, texts } = largeLog(encoding);

  for (const cut of [0, 7]) {
    const what = cut === 0 ? "whole" : "torn at its end";
    test(
      `that is ${what} gives out the texts that it was read with, in any order, also after more was appended`,
      async () => {
        using place = new Place();
        const path = place.put("s", encoding, bytes);
        if (cut > 0) truncateSync(path, bytes.length - cut);
        const kept = cut === 0 ? texts : texts.slice(0, -3);
        await using store = await place.open();
        await using session = (await store.prepare("s")).publish();
        const { log } = session;
        expectTexts(log.texts(), kept);
        for (const seq of [kept.length - 1, 0, 40, 39, 41, kept.length >> 1, 3]) {
          expectTexts(log.texts(seq, seq + 1), kept.slice(seq, seq + 1));
          expect(log.at(seq).seq).toBe(seq);
        }
        const closed = log.length;
        expect(log.at(closed - 1).type).toBe("turn/end");
        for (let n = 0; n < 3; n += 1) await log.append(title(n));
        expectTexts(log.texts(), kept);
        expect(log.length).toBe(closed + 3);
        expect((await readLog(store, "s")).texts.length).toBe(closed + 3);
        expect((await store.inspect("s")).log.length).toBe(closed + 3);
      },
      TIMEOUT,
    );
  }

  test.each([
    ["deleted", (path: string) => rmSync(path)],
    [
      "replaced",
      (path: string, bytes: Buffer) => {
        writeFileSync(`${path}.new`, bytes);
        renameSync(`${path}.new`, path);
      },
    ],
    ["cut", (path: string) => truncateSync(path, statSync(path).size >> 1)],
    ["zeroed", (path: string, bytes: Buffer) => writeFileSync(path, Buffer.alloc(bytes.length))],
  ])(
    "that was %s while it is open fails with a typed error, and never gives out other texts",
    async (_, change) => {
      using place = new Place();
      const path = place.put("s", encoding, bytes);
      await using store = await place.open();
      await using session = (await store.prepare("s")).publish();
      const before = [...session.log.texts(0, 1)];
      expect(before).toEqual(texts.slice(0, 1));
      change(path, bytes);
      for (const seq of [texts.length - 1, texts.length >> 1]) {
        try {
          // What lies in a part that nobody touched may still be read.
          expectTexts(session.log.texts(seq, seq + 1), texts.slice(seq, seq + 1));
        } catch (error) {
          expect(error).toBeInstanceOf(HoldfastError);
        }
      }
      expect(() => [...session.log.texts(texts.length - 1)].map((text) => JSON.parse(text))).toThrow(
        HoldfastError,
      );
    },
    TIMEOUT,
  );
});
