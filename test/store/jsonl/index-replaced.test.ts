import { describe, expect, test } from "bun:test";
import { cpSync, renameSync, writeFileSync } from "node:fs";
import type { SessionPersistence } from "../../../src/store/persistence.ts";
import { buildLog, rawFrame, titleText } from "./log-bytes.ts";
import { ENCODINGS, Place } from "./place.ts";

/* What is known of a log is forgotten when another log lies in its place. */

const SIZE = 400_000;

/** A log of so many events and bytes: frames that are stored as they are, so that sizes can be had exactly. */
function logOf(encoding: (typeof ENCODINGS)[number], count: number, size = SIZE): Buffer {
  const build = (last: number) => {
    const share = Math.floor(size / count) - 150;
    const batches = Array.from({ length: count }, (_, seq) => [
      titleText(seq, `${count}:${"x".repeat(seq === count - 1 ? last : share)}`),
    ]);
    return buildLog("s", encoding, batches, (lines) => rawFrame([lines]).bytes).bytes;
  };
  const log = build(size - build(0).length);
  if (log.length !== size) throw new Error(`${log.length} bytes instead of ${size}`);
  return log;
}

async function expectLog(store: SessionPersistence, count: number): Promise<void> {
  for (const seq of [count - 1, 0, count >> 1, count - 20, count, count + 300, 5]) {
    const events = await store.readFrom("s", seq, { limit: 10 });
    expect({ seq, seqs: events.map((event) => event.seq) }).toEqual({
      seq,
      seqs: Array.from({ length: Math.max(0, Math.min(10, count - seq)) }, (_, k) => seq + k),
    });
    for (const { data } of events) expect(String(data)).toStartWith(`${count}:`);
  }
}

const WAYS: Readonly<Record<string, (path: string, bytes: Buffer) => void>> = {
  "put in its place": (path, bytes) => {
    writeFileSync(`${path}.new`, bytes);
    renameSync(`${path}.new`, path);
  },
  "copied over it": (path, bytes) => {
    writeFileSync(`${path}.new`, bytes);
    cpSync(`${path}.new`, path);
  },
  "written into the same file": (path, bytes) => writeFileSync(path, bytes),
};

for (const encoding of ENCODINGS) {
  describe.each(Object.entries(WAYS))(`another log, %s, encoding ${encoding}`, (_, replace) => {
    test.each([
      ["of as many bytes and more events", 400, SIZE],
      ["of as many bytes and fewer events", 250, SIZE],
      ["of more bytes and more events", 420, SIZE + 60_000],
      ["of more bytes and fewer events", 200, SIZE + 60_000],
      ["of fewer bytes and more events", 380, SIZE - 60_000],
      ["of fewer bytes and fewer events", 120, SIZE - 60_000],
    ])("%s is read as it is", async (_what, count, size) => {
      const first = logOf(encoding, 300);
      const second = logOf(encoding, count, size);
      for (const warm of [true, false]) {
        using place = new Place();
        const path = place.put("s", encoding, first);
        {
          // Leaves an index beside the log.
          await using store = await place.open();
          await expectLog(store, 300);
        }
        await using store = await place.read();
        if (warm) await expectLog(store, 300);
        replace(path, second);
        await expectLog(store, count);
        expect((await store.inspect("s")).log.length).toBe(count);
        await expectLog(store, count);
      }
    });
  });
}
