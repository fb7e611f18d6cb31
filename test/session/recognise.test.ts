import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { findEventFault } from "../../src/session/events.ts";
import { recogniseChunk } from "../../src/session/recognise.ts";
import { recordEvents } from "../../src/session/records.ts";
import { arbitraryEvents, oddString } from "../fixtures/arbitraries.ts";

/** What the long way says of a text: its seq and time when it is a sound chunk. */
function parsed(text: string): { readonly seq: number; readonly time: number } | undefined {
  try {
    const event = JSON.parse(text);
    const isSound = findEventFault(event) === undefined && event.type === "assistant/chunk";
    return isSound ? { seq: event.seq, time: event.time } : undefined;
  } catch {
    return undefined;
  }
}

const chunkText = (chunk: unknown, seq = 7, time = 1_786_901_809_409) =>
  JSON.stringify({ type: "assistant/chunk", seq, time, data: { turn: 1, step: 2, chunk } });

describe("recognising a chunk by its text", () => {
  test("takes deltas and block starts as this program writes them, with any text in them", () => {
    fc.assert(
      fc.property(oddString(), fc.nat(), fc.nat(), (text, seq, time) => {
        const chunks = [
          { type: "text-delta", index: 0, text },
          { type: "reasoning-delta", index: 3, text },
          { type: "tool-call-delta", index: 1, id: "call_1", argumentsDelta: text },
          { type: "tool-call-delta", index: 1, id: "call_1", name: "read", argumentsDelta: text },
          { type: "block-start", index: 0, blockType: "text" },
        ];
        for (const chunk of chunks)
          expect(recogniseChunk(chunkText(chunk, seq, time))).toEqual({ seq, time });
      }),
    );
  });

  test("never takes a text that the long way refuses, nor reads another seq or time from it", () => {
    fc.assert(
      fc.property(
        arbitraryEvents(),
        fc.infiniteStream(fc.nat()),
        fc.infiniteStream(fc.string()),
        (events, at, junk) => {
          for (const event of events.filter(({ type }) => type === "assistant/chunk").slice(0, 30)) {
            const text = JSON.stringify(event);
            const place = Number(at.next().value) % (text.length + 1);
            const inserted = String(junk.next().value);
            const texts = [
              text,
              text.slice(0, place),
              text.slice(0, place) + inserted + text.slice(place),
              text.slice(0, place) + text.slice(place + 1),
              text.slice(0, place) + inserted.slice(0, 1) + text.slice(place + 1),
            ];
            for (const candidate of texts) {
              const recognised = recogniseChunk(candidate);
              if (recognised !== undefined)
                expect(recognised).toEqual(parsed(candidate) ?? { seq: -1, time: -1 });
            }
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test.each([
    [
      "a number with a leading zero",
      chunkText({ type: "text-delta", index: 0, text: "x" }).replace('"seq":7', '"seq":07'),
    ],
    [
      "an unsafe number",
      chunkText({ type: "text-delta", index: 0, text: "x" }).replace('"seq":7', '"seq":9007199254740993'),
    ],
    [
      "a raw line break in a string",
      chunkText({ type: "text-delta", index: 0, text: "x" }).replace('"x"', '"\n"'),
    ],
    [
      "an escape that JSON does not have",
      chunkText({ type: "text-delta", index: 0, text: "x" }).replace('"x"', '"\\x"'),
    ],
    ["an empty call id", chunkText({ type: "tool-call-delta", index: 0, id: "", argumentsDelta: "" })],
    ["a further key", chunkText({ type: "text-delta", index: 0, text: "x", more: 1 })],
    ["keys in another order", chunkText({ index: 0, type: "text-delta", text: "x" })],
    ["anything after it", `${chunkText({ type: "text-delta", index: 0, text: "x" })} `],
    ["a line break after it", `${chunkText({ type: "text-delta", index: 0, text: "x" })}\n`],
  ])("leaves %s to the long way", (_, text) => {
    expect(recogniseChunk(text)).toBeUndefined();
  });

  test("gives the event that the long way gives", () => {
    const text = chunkText({ type: "text-delta", index: 0, text: '\ud800 \u2028 \\ " é' });
    const record = { seq: 7, count: 1, type: "assistant/chunk", time: 1_786_901_809_409, text };
    expect(recordEvents(record)).toEqual([JSON.parse(text)]);
  });
});
