import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { encodeEvent } from "../../src/session/encoding.ts";
import { decodeRecord, recordTexts, type SessionRecord } from "../../src/session/records.ts";
import { LogDigest } from "../../src/store/digest.ts";
import { deltas, title } from "../contract/support.ts";
import { arbitraryEvents, batchSizes } from "../fixtures/arbitraries.ts";
import { toEvents } from "../fixtures/event-drafts.ts";
import { recordsOf } from "../fixtures/logs.ts";
import { sha256 } from "../fixtures/sha256.ts";

function digestOf(records: readonly SessionRecord[]): string {
  const digest = new LogDigest();
  for (const record of records) digest.add(record);
  return digest.hex();
}

const EVENTS = toEvents([title(0), ...deltas(9), title(1), ...deltas(2), title(2)]);
const TEXTS = EVENTS.map((event) => JSON.stringify(event));

describe("the digest of a log", () => {
  test("is SHA-256 over the texts of its events, joined by line feeds", () => {
    expect(digestOf(recordsOf(EVENTS))).toBe(sha256(TEXTS.join("\n")));
    expect(digestOf([])).toBe(sha256(""));
  });

  test("does not depend on how the events are packed", () => {
    const expected = digestOf(recordsOf(EVENTS));
    for (const sizes of [[14], [5, 9], [4, 4, 6], [1, 2, 3, 8]]) {
      expect(digestOf(recordsOf(EVENTS, sizes)), sizes.join()).toBe(expected);
    }
    const single = EVENTS.map((event) => {
      const encoded = encodeEvent(event);
      return { seq: encoded.seq, count: 1, type: event.type, time: encoded.time, text: encoded.text() };
    });
    expect(digestOf(single)).toBe(expected);
  });

  test("takes a text as it is stored, whatever a parser makes of it", () => {
    const texts = ['{ "n" : 12345678901234567890 }', '{"é":"\\u00e9\\ud800\u2028"}'];
    const records = texts.map((text, seq) => ({ seq, count: 1, type: "session/title", time: 0, text }));
    expect(digestOf(records)).toBe(sha256(texts.join("\n")));
  });

  test("can be asked for on the way, also in the middle of a run", () => {
    const records = recordsOf(EVENTS);
    for (let cut = 0; cut <= EVENTS.length; cut += 1) {
      const digest = new LogDigest();
      for (const record of records)
        digest.add(record, record.seq, Math.max(record.seq, Math.min(cut, record.seq + record.count)));
      expect(digest.events).toBe(cut);
      expect(digest.hex()).toBe(sha256(TEXTS.slice(0, cut).join("\n")));
      for (const record of records)
        digest.add(record, Math.max(record.seq, Math.min(cut, record.seq + record.count)));
      expect(digest.hex()).toBe(sha256(TEXTS.join("\n")));
    }
  });
});

test("the digest of any log is that of its events, also of records as they were read", () => {
  fc.assert(
    fc.property(arbitraryEvents(), batchSizes(), (events, sizes) => {
      const records = recordsOf(events, sizes);
      const expected = sha256(events.map((event) => JSON.stringify(event)).join("\n"));
      expect(digestOf(records)).toBe(expected);
      const digest = new LogDigest();
      for (const { text } of records) digest.add(decodeRecord(text, {}).record);
      expect(digest.hex()).toBe(expected);
    }),
  );
});

test("the digest of runs is that of their members, whatever their numbers", () => {
  const number = fc.oneof(
    fc.nat(),
    fc.maxSafeNat().map((n) => Math.min(n, 2 ** 53 - 1000)),
    fc.constantFrom(0, 8, 98, 9_999_998, 99_999_999_999_998),
  );
  const run = fc.record({
    seq0: number,
    time0: number,
    gaps: fc.array(fc.oneof(fc.constant(0), fc.nat(20)), { minLength: 3, maxLength: 9 }),
    id: fc.constantFrom("a", "b"),
  });
  fc.assert(
    fc.property(fc.array(run, { maxLength: 4 }), (runs) => {
      const records = runs.flatMap(({ seq0, time0, gaps, id }) => {
        let time = time0;
        const data = (k: number) => ({
          type: "tool-call-delta" as const,
          index: 0,
          id,
          argumentsDelta: `${k}`,
        });
        const events = gaps.map((gap, k) => {
          time += gap;
          return { type: "assistant/chunk", seq: seq0 + k, time, data: { turn: 1, step: 1, chunk: data(k) } };
        });
        return recordsOf(events);
      });
      const texts = records.flatMap((record) => recordTexts(record));
      expect(digestOf(records)).toBe(sha256(texts.join("\n")));
    }),
  );
});
