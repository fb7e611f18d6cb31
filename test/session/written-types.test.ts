import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { encodeEvent, packBatch } from "../../src/session/encoding.ts";
import type { SessionEvent } from "../../src/session/events.ts";
import { decodeRecord, recordTexts } from "../../src/session/records.ts";
import { MAX_RUN } from "../../src/session/runs.ts";
import { jsonObject, oddString } from "../fixtures/arbitraries.ts";

describe("what may be written", () => {
  test("of any type and data: what is accepted is read back the same", () => {
    const types = fc.oneof(
      oddString(),
      fc.constantFrom("steering/message", "turn/start", "turn/end", "plugin/x"),
    );
    fc.assert(
      fc.property(types, jsonObject(), (type, data) => {
        const event: SessionEvent = { type, seq: 0, time: 1, data, ignorable: true };
        for (const record of accepted(event)) {
          expect(decodeRecord(record.text, {}).record).toEqual(record);
          // As a database column holds it.
          expect(Buffer.from(record.type).toString()).toBe(record.type);
        }
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ["half a character in the type", { type: "plugin/\ud83d", seq: 0, time: 1, data: {}, ignorable: true }],
    [
      "a message of older logs",
      { type: "steering/message", seq: 0, time: 1, data: { text: "x" }, ignorable: true },
    ],
    ["a member of older logs", { type: "turn/start", seq: 0, time: 1, data: { turn: 1, trigger: "user" } }],
  ])("not %s", (_, event) => {
    expect(() => encodeEvent(event)).toThrow(expect.objectContaining({ code: "invalid-event" }));
  });
});

function accepted(event: SessionEvent) {
  try {
    return packBatch([encodeEvent(event)]);
  } catch {
    return [];
  }
}

test("a long stretch of deltas becomes runs of bounded length, and nothing is lost", () => {
  const events = Array.from({ length: 3 * MAX_RUN + 1 }, (_, seq) => ({
    type: "assistant/chunk",
    seq,
    time: seq,
    data: { turn: 1, step: 1, chunk: { type: "text-delta", index: 0, text: "x" } },
  }));
  const records = packBatch(events.map(encodeEvent));
  expect(records.map(({ count }) => count)).toEqual([MAX_RUN, MAX_RUN, MAX_RUN, 1]);
  expect(records.flatMap(recordTexts)).toEqual(events.map((event) => JSON.stringify(event)));
});

test("a delta counts with its call's id and name, which a queue has to hold too", () => {
  const chunk = {
    type: "tool-call-delta",
    index: 0,
    id: "i".repeat(1_000),
    name: "n".repeat(500),
    argumentsDelta: "x",
  };
  const { size } = encodeEvent({
    type: "assistant/chunk",
    seq: 0,
    time: 0,
    data: { turn: 1, step: 1, chunk },
  });
  expect(size).toBeGreaterThan(1_500);
});
