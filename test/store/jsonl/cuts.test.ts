import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { recordTexts, type SessionRecord } from "../../../src/session/records.ts";
import type { Encoding } from "../../../src/store/jsonl/layout.ts";
import { titleAt } from "../../contract/support.ts";
import { turnStart, userMessage } from "../../fixtures/event-drafts.ts";
import {
  encodeBatch,
  headerText,
  oneBlock,
  type PieceFrame,
  rawFrame,
  streamedFrame,
  textsOf,
} from "./log-bytes.ts";
import { LOG_NAMES, Place, readLog } from "./place.ts";

/** Frames, or lines, of which each byte is a place to cut at. */
const CUT_UNITS = 3;
const TIMEOUT = 30_000;

/** A Turn that stays open, a frame or line at a time, so that recovery has something to add. */
const BATCHES = textsOf([
  [turnStart(1), userMessage("cut me")],
  ...Array.from({ length: CUT_UNITS }, (_, k) => [
    { type: "session/title" as const, data: { k } },
    { type: "session/title" as const, data: "\u{1f980}" },
    { type: "session/title" as const, data: null },
  ]),
]);

/** A part of a log that is whole or not, with what it takes to get at its content. */
interface Part {
  readonly offset: number;
  readonly frame: PieceFrame;
  readonly lines: string;
}

interface CutLog {
  readonly encoding: Encoding;
  readonly bytes: Buffer;
  readonly parts: readonly Part[];
}

/** Cut within lines and at their ends, so that blocks hold both whole lines and halves. */
function piecesOf(lines: string): string[] {
  const [first = "", second = "", third = ""] = lines.split(/(?<=\n)/);
  const half = second.length >> 1;
  return [
    first.slice(0, 9),
    first.slice(9),
    second.slice(0, half),
    second.slice(half) + third.slice(0, 3),
    third.slice(3),
  ];
}

async function framed(compress: (pieces: string[]) => PieceFrame | Promise<PieceFrame>): Promise<CutLog> {
  const stored = [encodeBatch([headerText("s")], "zstd")];
  const parts: Part[] = [];
  for (const batch of BATCHES) {
    const offset = Buffer.concat(stored).length;
    const lines = `${batch.join("\n")}\n`;
    const frame = await compress(piecesOf(lines));
    parts.push({ offset, frame, lines });
    stored.push(frame.bytes);
  }
  return { encoding: "zstd", bytes: Buffer.concat(stored), parts };
}

/** A line is a part of its own, and nothing of it can be had before its end. */
async function plain(): Promise<CutLog> {
  const stored = [encodeBatch([headerText("s")], "none")];
  const parts: Part[] = [];
  for (const text of BATCHES.flat()) {
    const offset = Buffer.concat(stored).length;
    const bytes = encodeBatch([text], "none");
    parts.push({ offset, frame: { bytes, borders: [] }, lines: `${text}\n` });
    stored.push(bytes);
  }
  return { encoding: "none", bytes: Buffer.concat(stored), parts };
}

interface Cut {
  readonly length: number;
  /** Where the tail begins. */
  readonly offset: number;
  readonly torn: boolean;
  readonly texts: readonly string[];
}

/** What must be left after the first `length` bytes. */
function cutAt({ parts }: CutLog, length: number): Cut {
  let texts: string[] = [];
  let offset = 0;
  for (const part of parts) {
    offset = part.offset;
    const stored = length - offset;
    if (stored < part.frame.bytes.length) {
      const content = part.frame.borders.findLast((border) => border.stored <= stored)?.content ?? 0;
      const yielded = Buffer.from(part.lines).subarray(0, content);
      texts = [...texts, ...linesOf(yielded.toString("utf8", 0, yielded.lastIndexOf("\n") + 1))];
      return { length, offset, torn: stored > 0, texts };
    }
    texts = [...texts, ...linesOf(part.lines)];
  }
  return { length, offset: length, torn: false, texts };
}

function linesOf(text: string): string[] {
  return text.split("\n").slice(0, -1);
}

function cutsOf(log: CutLog): Cut[] {
  const from = log.parts.at(-CUT_UNITS)?.offset ?? 0;
  return Array.from({ length: log.bytes.length - from + 1 }, (_, k) => cutAt(log, from + k));
}

describe.each([
  ["frames of one block", () => framed(oneBlock)],
  ["frames of stored blocks", () => framed(rawFrame)],
  ["frames with flushes", () => framed(streamedFrame)],
  ["plain lines", plain],
])("a log that is cut anywhere: %s", (_, build) => {
  test(
    "yields just what is whole, and is torn unless it is cut at a border",
    async () => {
      const log = await build();
      using place = new Place();
      const path = place.put("s", log.encoding, log.bytes);
      await using store = await place.read();
      for (const { length, torn, texts } of cutsOf(log)) {
        writeFileSync(path, log.bytes.subarray(0, length));
        expect(await readLog(store, "s")).toEqual({ texts, torn });
        const { log: view, torn: isTorn, closers } = await store.inspect("s");
        expect([length, view.length, isTorn]).toEqual([length, texts.length + closers.length, torn]);
        expect((await store.readFrom("s", 1)).map(({ seq }) => seq)).toEqual(texts.map((_, k) => k).slice(1));
      }
    },
    TIMEOUT,
  );

  test(
    "is repaired by load: the very bytes of the tail are set aside, once, and the session goes on",
    async () => {
      const log = await build();
      const cuts = cutsOf(log);
      using place = new Place();
      for (const { length } of cuts) place.put(`s-${length}`, log.encoding, withId(log, length));
      const grown = new Map<string, readonly string[]>();
      {
        await using store = await place.open();
        for (const { length, offset, torn, texts } of cuts) {
          const id = `s-${length}`;
          const shift = withId(log, length).length - length;
          const path = place.log(id, log.encoding);
          const loaded = await store.load(id);
          const kept = [...loaded.log.texts()];
          expect(kept.slice(0, texts.length)).toEqual([...texts]);
          expect(loaded.log.slice(texts.length).map(({ type }) => type)).toEqual(["turn/end"]);
          expect(loaded.torn).toBe(false);

          const names = readdirSync(dirname(path)).filter((name) => name !== LOG_NAMES[log.encoding]);
          expect(names).toEqual(torn ? [`${LOG_NAMES[log.encoding]}.torn-${offset + shift}`] : []);
          for (const name of names) {
            const quarantine = join(dirname(path), name);
            expect(readFileSync(quarantine).equals(log.bytes.subarray(offset, length))).toBe(true);
            expect(statSync(quarantine).mode & 0o777).toBe(0o600);
          }
          const after = readFileSync(path);
          expect(
            after.subarray(0, offset + shift).equals(withId(log, length).subarray(0, offset + shift)),
          ).toBe(true);
          const again = await store.load(id);
          expect([again.revision, [...again.log.texts()]]).toEqual([loaded.revision, kept]);
          expect(readFileSync(path).equals(after)).toBe(true);

          await store.append(id, [titleAt(kept.length)]);
          grown.set(id, [...kept, JSON.stringify(titleAt(kept.length))]);
        }
      }
      await using store = await place.read();
      for (const [id, texts] of grown) expect(await readLog(store, id)).toEqual({ texts, torn: false });
    },
    TIMEOUT,
  );
});

/** The first `length` bytes of the log under an id of its own, which takes another header. */
function withId({ bytes, encoding, parts }: CutLog, length: number): Buffer {
  const header = encodeBatch([headerText(`s-${length}`)], encoding);
  return Buffer.concat([header, bytes.subarray(parts[0]?.offset, length)]);
}

test("a whole line of a cut frame is kept once, also where it is a run of many events", async () => {
  const run: SessionRecord["text"] = JSON.stringify({
    type: "text-chunks",
    seq0: 1,
    time0: 1,
    data: { turn: 1, step: 1, index: 0, dt: [0, 0, 0], texts: ["a", "b", "c", "d"] },
  });
  const frame = rawFrame([`${run}\n`, `${JSON.stringify(titleAt(5))}\n`]);
  using place = new Place();
  const whole = [encodeBatch([headerText("s")], "zstd"), encodeBatch([JSON.stringify(titleAt(0))], "zstd")];
  place.put("s", "zstd", Buffer.concat([...whole, frame.bytes.subarray(0, -9)]));
  const record = { seq: 1, count: 4, type: "text-chunks", time: 1, text: run };
  const texts = [JSON.stringify(titleAt(0)), ...recordTexts(record)];
  {
    await using store = await place.open();
    expect(await readLog(store, "s")).toEqual({ texts, torn: true });
    expect((await store.load("s")).log.length).toBe(5);
    await store.append("s", [titleAt(5)]);
  }
  await using store = await place.read();
  expect(await readLog(store, "s")).toEqual({ texts: [...texts, JSON.stringify(titleAt(5))], torn: false });
});
