import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { encodeDraft, encodeEvent, packBatch } from "../../src/session/encoding.ts";
import type { EventDraft, SessionEvent } from "../../src/session/events.ts";
import { decodeRecord, recordEvents, recordTexts, type SessionRecord } from "../../src/session/records.ts";
import { allEventDrafts, arbitraryEvents, batchSizes, inBatches, toEvents } from "../fixtures/arbitraries.ts";
import { encodeRecord } from "../fixtures/encode-record.ts";
import { callDelta, chunk, reasoningDelta, textDelta, userMessage } from "../fixtures/event-drafts.ts";
import { recordsOf } from "../fixtures/logs.ts";

const AT = { turn: 1, step: 1 };

/** Shapes of the records that one batch of drafts makes: `type×count`. */
function shapes(drafts: readonly EventDraft[]): string[] {
  return packBatch(toEvents(drafts).map(encodeEvent)).map(({ type, count }) => `${type}×${count}`);
}

function texts(count: number, at = AT): EventDraft[] {
  return Array.from({ length: count }, (_, k) => textDelta(at, `t${k}`));
}

describe("any session in any batches", () => {
  test("packs, decodes and expands to equal events and equal texts", () => {
    fc.assert(
      fc.property(arbitraryEvents(), batchSizes(), (events, sizes) => {
        const records = recordsOf(events, sizes);
        const decoded = records.map(({ text }) => decodeRecord(text, {}));
        expect(decoded.map(({ record }) => record)).toEqual(records);
        expect(records.flatMap(recordEvents)).toEqual([...events]);
        expect(records.flatMap(recordTexts)).toEqual(events.map((event) => JSON.stringify(event)));
        expect(records.every(({ text }) => text.isWellFormed() && !text.includes("\n"))).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  test("makes records that lie without gaps, and never across a batch", () => {
    fc.assert(
      fc.property(arbitraryEvents(), batchSizes(), (events, sizes) => {
        let next = 0;
        for (const batch of inBatches(events, sizes)) {
          for (const { seq, count } of packBatch(batch.map(encodeEvent))) {
            expect(seq).toBe(next);
            next += count;
          }
          expect(next).toBe((batch.at(-1)?.seq ?? 0) + 1);
        }
        expect(next).toBe(events.length);
      }),
    );
  });

  test("is copied to another log with its texts unchanged", () => {
    fc.assert(
      fc.property(arbitraryEvents(), batchSizes(), (events, sizes) => {
        const records = recordsOf(events, sizes);
        const copies = records.flatMap((record) => packBatch(encodeRecord(record)));
        expect(copies.flatMap(recordTexts)).toEqual(records.flatMap(recordTexts));
      }),
      { numRuns: 50 },
    );
  });

  test("of all event types goes through the codec", () => {
    const events = toEvents(allEventDrafts());
    const records = recordsOf(events);
    expect(records.map(({ text }) => decodeRecord(text, {}).record)).toEqual(records);
    expect(records.flatMap(recordEvents)).toEqual(events);
  });
});

describe("packing", () => {
  test("makes a run of three deltas and more, not of fewer", () => {
    expect(shapes(texts(1))).toEqual(["assistant/chunk×1"]);
    expect(shapes(texts(2))).toEqual(["assistant/chunk×1", "assistant/chunk×1"]);
    expect(shapes(texts(3))).toEqual(["text-chunks×3"]);
    expect(shapes(texts(500))).toEqual(["text-chunks×500"]);
  });

  test.each<[what: string, next: (count: number) => EventDraft[], type: string]>([
    ["kind", (n) => texts(n).map((_, k) => reasoningDelta(AT, `r${k}`)), "reasoning-chunks"],
    ["Turn", (n) => texts(n, { turn: 2, step: 1 }), "text-chunks"],
    ["Step", (n) => texts(n, { turn: 1, step: 2 }), "text-chunks"],
    ["block index", (n) => texts(n).map((_, k) => textDelta(AT, `i${k}`, 1)), "text-chunks"],
  ])("ends a run at a change of %s", (_what, next, type) => {
    expect(shapes([...texts(3), ...next(4)])).toEqual(["text-chunks×3", `${type}×4`]);
  });

  test("ends a run at a change of call id or name", () => {
    const calls = (id: string, name?: string) =>
      ["{", '"', "}"].map((piece) => callDelta(AT, id, piece, name === undefined ? {} : { name }));
    expect(shapes([...calls("a", "n"), ...calls("b", "n"), ...calls("b", "m"), ...calls("b")])).toEqual([
      "tool-call-chunks×3",
      "tool-call-chunks×3",
      "tool-call-chunks×3",
      "tool-call-chunks×3",
    ]);
  });

  test("ends a run at any other event, which stands alone", () => {
    expect(shapes([...texts(3), userMessage("steer"), ...texts(3)])).toEqual([
      "text-chunks×3",
      "user/message×1",
      "text-chunks×3",
    ]);
  });

  test("ends a run at a gap in the seqs", () => {
    const before = toEvents(texts(3));
    const after = toEvents(texts(3), 0, 7);
    expect(packBatch([...before, ...after].map(encodeEvent)).map(({ seq, count }) => [seq, count])).toEqual([
      [0, 3],
      [7, 3],
    ]);
  });

  test("leaves a delta alone that is not of the exact shape", () => {
    const odd: EventDraft = {
      type: "assistant/chunk",
      data: { turn: 1, step: 1, chunk: { type: "text-delta", index: 0, text: "x", extra: 1 } },
    };
    const marked: EventDraft = { ...textDelta(AT, "m"), ignorable: true };
    expect(shapes([...texts(3), odd, ...texts(3), marked, ...texts(3)])).toEqual([
      "text-chunks×3",
      "assistant/chunk×1",
      "text-chunks×3",
      "assistant/chunk×1",
      "text-chunks×3",
    ]);
  });

  test("keeps times that run backwards", () => {
    const times = [500, 400, 900, 100];
    const drafts = texts(4).map((draft, k) => ({ ...draft, time: times[k] ?? 0 }));
    const [record] = packBatch(toEvents(drafts).map(encodeEvent));
    expect(record && recordEvents(record).map(({ time }) => time)).toEqual(times);
  });
});

describe("encoding an event", () => {
  test("gives a draft its seq, the clock's time unless it has one, and the key order of the format", () => {
    const draft = { ...userMessage("hi"), sourceEventSeqs: [1], ignorable: true };
    expect(Object.keys(JSON.parse(encodeDraft(draft, 3, 77).text()))).toEqual([
      "type",
      "seq",
      "time",
      "data",
      "sourceEventSeqs",
      "surfaceOp",
      "ignorable",
    ]);
    expect(encodeDraft(draft, 3, 77).event).toMatchObject({ seq: 3, time: 77 });
    expect(encodeDraft({ ...draft, time: 5 }, 3, 77).event.time).toBe(5);
  });

  test("refuses what breaks the vocabulary, naming the member", () => {
    const event: SessionEvent = { type: "turn/start", seq: 2, time: 0, data: { turn: "one" } };
    expect(() => encodeEvent(event)).toThrow(
      expect.objectContaining({
        code: "invalid-event",
        message: 'The event is malformed: expected number, found "one"',
        place: { eventType: "turn/start", seq: 2, field: "data.turn" },
      }),
    );
  });

  test("refuses an unknown type that may not be ignored, and the names of storage records", () => {
    for (const type of ["future/event", "text-chunks", "session", "steering/message"]) {
      expect(() => encodeEvent({ type, seq: 0, time: 0, data: {} })).toThrow(
        expect.objectContaining({ code: "invalid-event" }),
      );
    }
  });

  test("refuses -0 also in the seq and time of a delta", () => {
    const [delta] = toEvents(texts(1));
    for (const key of ["seq", "time"]) {
      const event: SessionEvent = { type: "assistant/chunk", seq: 1, time: 1, data: delta?.data, [key]: -0 };
      expect(() => encodeEvent(event)).toThrow(expect.objectContaining({ code: "not-serialisable" }));
    }
  });

  test("does not follow later changes of the draft", () => {
    const data = { turn: 1, step: 1, chunk: { type: "text-delta" as const, index: 0, text: "a" } };
    const encoded = encodeDraft({ type: "assistant/chunk", data }, 0, 0);
    data.chunk.text = "b";
    expect(encoded.text()).toContain('"text":"a"');
    expect(encoded.event.data).toMatchObject({ chunk: { text: "a" } });
  });
});

describe("decoding a text", () => {
  test.each([
    ["odd key order", '{"data":{"turn":1},"time":5,"seq":0,"type":"turn/start"}'],
    ["a 19-digit integer", '{"type":"session/title","seq":0,"time":5,"data":{"n":1234567890123456789}}'],
    [
      "escapes that need none",
      '{"type":"session/title","seq":0,"time":5,"data":{"t":"\\u0041\\/\\ud800\\u2028"}}',
    ],
    ["white space", ' {"type" :"turn/start", "seq":0,"time":5,"data":{ "turn":1 } }\r'],
    ["a number written at length", '{"type":"turn/start","seq":0,"time":5.0e0,"data":{"turn":1.0}}'],
    ["extra keys of the envelope", '{"type":"turn/start","seq":0,"time":5,"data":{"turn":1},"later":[1]}'],
  ])("keeps it byte for byte: %s", (_name, text) => {
    const { record } = decodeRecord(text, {});
    expect(record.text).toBe(text);
    expect(recordTexts(record)).toEqual([text]);
  });

  test("keeps a __proto__ key", () => {
    const text = '{"type":"session/title","seq":0,"time":5,"data":{"__proto__":{"a":1}},"__proto__":2}';
    const record = decodeRecord(text, {}).record;
    expect(JSON.stringify(recordEvents(record)[0])).toBe(text);
  });

  test("reads runs of one and two members, which are never written", () => {
    const text =
      '{"type":"text-chunks","seq0":4,"time0":9,"data":{"turn":1,"step":1,"index":0,"dt":[],"texts":["a"]}}';
    const { record } = decodeRecord(text, {});
    expect(record).toEqual({ seq: 4, count: 1, type: "text-chunks", time: 9, text });
    expect(recordTexts(record)).toEqual([JSON.stringify(toEvents([textDelta(AT, "a")], 9, 4)[0])]);
  });

  test("tells an unknown type apart, without an error", () => {
    const decoded = decodeRecord('{"type":"future/event","seq":0,"time":0,"data":null}', {});
    expect(decoded.unknownType).toBe(true);
    expect(
      decodeRecord('{"type":"future/event","seq":0,"time":0,"data":null,"ignorable":true}', {}).unknownType,
    ).toBe(false);
  });

  const PLACE = { path: "/f", row: 12 };
  test.each<[name: string, text: string, place: object]>([
    ["half a line", '{"type":"turn/start","seq":0', {}],
    ["no text", "", {}],
    ["a list", "[1]", {}],
    ["a number", "7", {}],
    [
      "a missing member",
      '{"type":"turn/start","seq":3,"time":0,"data":{}}',
      { seq: 3, eventType: "turn/start", field: "data.turn" },
    ],
    [
      "an infinite number",
      '{"type":"a/b","seq":3,"time":0,"data":[1e999]}',
      { seq: 3, eventType: "a/b", field: "data[0]" },
    ],
    [
      "a number made infinite by its digits and its exponent together",
      `{"type":"a/b","seq":3,"time":0,"data":[${"9".repeat(215)}e99]}`,
      { seq: 3, eventType: "a/b", field: "data[0]" },
    ],
    [
      "a broken run",
      '{"type":"text-chunks","seq0":3,"time0":0,"data":{}}',
      { eventType: "text-chunks", field: "data.turn" },
    ],
    [
      "a header line",
      '{"type":"session","version":0,"id":"a","createdAt":0,"seq":1,"time":0,"data":0}',
      { field: "type" },
    ],
  ])("refuses %s as corrupt, with its place", (_name, text, place) => {
    expect(() => decodeRecord(text, PLACE)).toThrow(
      expect.objectContaining({ code: "corrupt", place: expect.objectContaining({ ...PLACE, ...place }) }),
    );
  });

  test("refuses every cut of a record, never reading half of it", () => {
    const records: SessionRecord[] = recordsOf(
      toEvents([...texts(4), userMessage("hi"), chunk(AT, { type: "finish", reason: { kind: "stop" } })]),
    );
    for (const { text } of records) {
      for (let end = 0; end < text.length; end += 1) {
        expect(() => decodeRecord(text.slice(0, end), {})).toThrow(
          expect.objectContaining({ code: "corrupt" }),
        );
      }
    }
  });
});
