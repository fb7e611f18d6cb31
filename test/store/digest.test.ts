import { describe, expect, test } from "bun:test";
import { encodeEvent, type SessionRecord } from "../../src/session/records.ts";
import { LogDigest } from "../../src/store/digest.ts";
import { deltas, title } from "../contract/support.ts";
import { toEvents } from "../fixtures/event-drafts.ts";
import { recordsOf } from "../fixtures/logs.ts";

function digestOf(records: readonly SessionRecord[]): string {
  const digest = new LogDigest();
  for (const record of records) digest.add(record);
  return digest.hex();
}

function sha256(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
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
