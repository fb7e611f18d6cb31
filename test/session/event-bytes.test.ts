import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { EventBytes } from "../../src/session/event-bytes.ts";
import { decodeRecord, recordTexts, type SessionRecord } from "../../src/session/records.ts";
import { TextBytes } from "../../src/session/text-bytes.ts";
import { arbitraryEvents, batchSizes, oddString } from "../fixtures/arbitraries.ts";
import { recordsOf } from "../fixtures/logs.ts";

/** What is written of the records from one seq to another, with room for so many bytes at a time. */
function written(
  records: readonly SessionRecord[],
  room: number,
  from = 0,
  to = Number.MAX_SAFE_INTEGER,
): string {
  const events = new EventBytes("\n");
  const bytes = new Uint8Array(room);
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (const record of records) {
    events.start(record, from, to);
    for (at = events.fill(bytes, at); !events.isDone; at = events.fill(bytes, 0)) {
      expect(at).toBeGreaterThan(room - 4);
      pieces.push(bytes.slice(0, at));
    }
  }
  pieces.push(bytes.slice(0, at));
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(pieces));
}

function expected(records: readonly SessionRecord[]): string[] {
  return records.flatMap((record) => [...recordTexts(record)]);
}

const room = fc.oneof(fc.integer({ min: 4, max: 40 }), fc.constantFrom(200, 4_096, 65_536));

describe("the events of records as bytes", () => {
  test("are their texts, joined, whatever room there is", () => {
    fc.assert(
      fc.property(arbitraryEvents(), batchSizes(), room, (events, sizes, size) => {
        const records = recordsOf(events, sizes);
        expect(written(records, size)).toBe(expected(records).join("\n"));
      }),
    );
  });

  test("can be those from one seq to another, also within a run", () => {
    fc.assert(
      fc.property(arbitraryEvents(), fc.nat(30), fc.nat(30), room, (events, from, to, size) => {
        const records = recordsOf(events);
        expect(written(records, size, from, to)).toBe(
          expected(records).slice(from, Math.max(from, to)).join("\n"),
        );
      }),
    );
  });

  test("begin with a separator where others stand before", () => {
    const events = new EventBytes(",", 7);
    const [record] = recordsOf([{ type: "session/title", seq: 7, time: 0, data: { title: "a" } }]);
    if (record === undefined) throw new Error("no record");
    events.start(record);
    const bytes = new Uint8Array(200);
    expect(Buffer.from(bytes.subarray(0, events.fill(bytes, 0))).toString()).toBe(`,${record.text}`);
    expect(events.events).toBe(8);
  });
});

/** A JSON string as another writer may write it: with escapes that are not needed, or in other letters. */
function foreignString(text: string, style: number): string {
  const plain = JSON.stringify(text).slice(1, -1);

  const units = Array.from({ length: text.length }, (_, k) => text.charCodeAt(k));
  const every = units.map((unit) => `\\u${unit.toString(16).toUpperCase().padStart(4, "0")}`).join("");
  return `"${[plain, every, plain.replaceAll("/", "\\/"), every.toLowerCase()][style % 4]}"`;
}

const number = fc.oneof(
  fc.nat(),
  fc.constantFrom(0, 8, 9, 98, 999, 9_999_998, 99_999_999_999_998, Number.MAX_SAFE_INTEGER - 100),
);
const gap = fc.oneof(fc.nat(20), fc.constantFrom(0, 1, -1, -30, 999, 1_000_000, 1_000_001, 5_000_000_000));

/** The text of a run, in one of the forms in which it may be stored. */
const foreignRun = fc
  .record({
    type: fc.constantFrom("text-chunks", "reasoning-chunks", "tool-call-chunks"),
    seq0: number.map((n) => Math.min(n, Number.MAX_SAFE_INTEGER - 100)),
    time0: fc.integer({ min: 1_000, max: 2 ** 45 }),
    members: fc.array(fc.record({ text: oddString(), style: fc.nat(3), gap }), {
      minLength: 1,
      maxLength: 9,
    }),
    id: oddString().map((text) => `c${text}`),
    name: fc.option(oddString(), { nil: undefined }),
    form: fc.constantFrom("plain", "spaces", "spaces between", "other order", "twice", "strange id"),
  })
  .map(({ type, seq0, time0, members, id, name, form }) => {
    const isCall = type === "tool-call-chunks";
    const between = form === "spaces between" ? ", " : ",";
    const texts = `[${members.map(({ text, style }) => foreignString(text, style)).join(between)}]`;
    const dt = `[${members.slice(1).map((member) => member.gap)}]`;
    const named = name === undefined ? "" : `,"name":${foreignString(name, form === "strange id" ? 1 : 0)}`;
    const call = isCall ? `"id":${foreignString(id, form === "strange id" ? 1 : 0)}${named},` : "";
    const list = isCall ? "args" : "texts";
    const twice = form === "twice" ? `,"${list}":${texts}` : "";
    const data = `{"turn":1,"step":2,"index":3,"dt":${dt},${call}"${list}":${texts}${twice}}`;
    const head = `"type":"${type}","seq0":${seq0},"time0":${time0}`;
    const text = form === "other order" ? `{"data":${data},${head}}` : `{${head},"data":${data}}`;
    return form === "spaces" ? text.replace('"data":', ' "data" : ').replace(/\}$/, " }") : text;
  });

test("a run in any form in which it may be stored is written as its members would stand alone", () => {
  fc.assert(
    fc.property(fc.array(foreignRun, { minLength: 1, maxLength: 3 }), room, (texts, size) => {
      const records = texts.flatMap((text) => {
        try {
          return [decodeRecord(text, {}).record];
        } catch {
          // A time below zero or beyond the safe integers.
          return [];
        }
      });
      expect(written(records, size)).toBe(expected(records).join("\n"));
    }),
  );
});

test("a text that is longer than the room is never cut within a character", () => {
  fc.assert(
    fc.property(oddString(20), room, (odd, size) => {
      const text = odd.toWellFormed();
      const source = new TextBytes(text);
      const bytes = new Uint8Array(size);
      let read = "";
      while (!source.isDone) {
        const piece = bytes.subarray(0, source.fill(bytes, 0));
        read += new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(piece);
      }
      expect(read).toBe(text);
    }),
  );
});
