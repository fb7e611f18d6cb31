import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { constants } from "node:zlib";
import { recordTexts } from "../../../src/session/records.ts";
import { CorruptError, HoldfastError } from "../../../src/store/errors.ts";
import type { SessionPersistence } from "../../../src/store/persistence.ts";
import { rejectionOf } from "../../contract/support.ts";
import { turnEnd, turnStart, userMessage } from "../../fixtures/event-drafts.ts";
import {
  encodeBatch,
  frameOf,
  headerText,
  randomBytes,
  rawFrame,
  seeded,
  streamedFrame,
  textsOf,
  titleText,
} from "./log-bytes.ts";
import { Place, type Reading, readLog } from "./place.ts";

const SEED = 20_260_101;
const FLIPS = 2_000;
const TIMEOUT = 30_000;

interface Frame {
  readonly offset: number;
  readonly end: number;
  /** Seq of its first event. */
  readonly seq: number;
  readonly texts: readonly string[];
}

interface FramedLog {
  readonly bytes: Buffer;
  readonly frames: readonly Frame[];
}

const lines = (texts: readonly string[]) => `${texts.join("\n")}\n`;
const noise = (length: number, seed: number) => randomBytes(length, seeded(seed)).toString("base64");

/** Batches of small events, of events that do not compress, of one that spans blocks, and of runs. */
function batches(): string[][] {
  const small = textsOf([
    [turnStart(1), userMessage("first")],
    [{ type: "session/title", data: "x".repeat(400) }, turnEnd(1)],
    [turnStart(2), userMessage("second"), turnEnd(2)],
  ]);
  let seq = small.flat().length;
  const more: string[][] = [];
  for (const count of [1, 3, 1, 2, 4, 1, 2]) {
    more.push(Array.from({ length: count }, () => titleText(seq, noise(20 + 3 * seq, seq++))));
  }
  return [...small, ...more];
}

/** The same events in frames of one kind. */
async function build(kind: string): Promise<FramedLog> {
  const stored = [encodeBatch([headerText("s")], "zstd")];
  const frames: Frame[] = [];
  let seq = 0;
  for (const texts of batches()) {
    const offset = Buffer.concat(stored).length;
    const content = lines(texts);
    const cuts = [content.slice(0, 50), content.slice(50, 90), content.slice(90)];
    if (kind === "size stated") stored.push(frameOf(content));
    else if (kind === "size not stated")
      stored.push(frameOf(content, { [constants.ZSTD_c_contentSizeFlag]: 0 }));
    else if (kind === "stored blocks") stored.push(rawFrame(cuts).bytes);
    else stored.push((await streamedFrame(cuts)).bytes);
    frames.push({ offset, end: Buffer.concat(stored).length, seq, texts });
    seq += texts.length;
  }
  return { bytes: Buffer.concat(stored), frames };
}

/** Flips one bit; what is read must be what was written, up to an error at the right place. */
async function checkFlip(
  store: SessionPersistence,
  { frames }: FramedLog,
  at: number,
): Promise<"equal" | "corrupt" | "torn"> {
  const all = frames.flatMap(({ texts }) => texts);
  const hit = frames.findIndex(({ end }) => at < end);
  const frame = frames[hit];
  if (frame === undefined) throw new Error(`no frame holds byte ${at}`);
  const reading: Reading = await readLog(store, "s");
  const { texts, torn, fault } = reading;
  expect(texts).toEqual(all.slice(0, texts.length));
  if (!torn && fault === undefined) {
    expect(texts.length).toBe(all.length);
    return "equal";
  }
  expect(texts.length).toBeGreaterThanOrEqual(frame.seq);
  if (hit === frames.length - 1) {
    expect([torn, fault]).toEqual([true, undefined]);
    return "torn";
  }
  expect([torn, texts.length]).toEqual([false, frame.seq]);
  if (!(fault instanceof CorruptError)) throw fault;
  // The header is frame 1.
  expect(fault.place).toMatchObject({ sessionId: "s", row: hit + 2, offset: frame.offset, seq: frame.seq });
  return "corrupt";
}

describe.each(["size stated", "size not stated", "stored blocks", "flushes"])(
  "a flipped bit, frames with %s",
  (kind) => {
    test(
      "is found out, at its place, wherever it is; no frame after it goes unread in silence",
      async () => {
        const log = await build(kind);
        using place = new Place();
        const path = place.put("s", "zstd", log.bytes);
        await using store = await place.read();
        const random = seeded(SEED);
        const from = log.frames[0]?.offset ?? 0;
        const counts = { equal: 0, corrupt: 0, torn: 0 };
        // Each frame's beginning bit by bit: most of its structure is there. The rest at random.
        const bits = log.frames.flatMap(({ offset }) =>
          Array.from({ length: 8 * 16 }, (_, k) => 8 * offset + k),
        );
        const sampled = Array.from(
          { length: FLIPS },
          () => 8 * from + Math.floor(random() * 8 * (log.bytes.length - from)),
        );
        for (const bit of [...bits, ...sampled]) {
          const flipped = Buffer.from(log.bytes);
          flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
          writeFileSync(path, flipped);
          counts[await checkFlip(store, log, bit >> 3)] += 1;
        }
        expect(counts.corrupt).toBeGreaterThan(FLIPS / 2);
        expect(counts.torn).toBeGreaterThan(20);
        // A larger window, or a bit that no decoder looks at: a few of each frame at most.
        expect(counts.equal).toBeLessThan(FLIPS / 10);
      },
      TIMEOUT,
    );
  },
);

test("in a frame that others follow: load and prepare refuse, nothing is set aside, no byte changes", async () => {
  const log = await build("size stated");
  using place = new Place();
  const path = place.put("s", "zstd", log.bytes);
  await using store = await place.open();
  const random = seeded(SEED);
  const last = log.frames.at(-1)?.offset ?? 0;
  const from = log.frames[0]?.offset ?? 0;
  let refused = 0;
  for (let k = 0; k < 200; k += 1) {
    const flipped = Buffer.from(log.bytes);
    const at = from + Math.floor(random() * (last - from));
    flipped[at] = (flipped[at] ?? 0) ^ (1 << (k & 7));
    writeFileSync(path, flipped);
    const before = place.contents();
    for (const method of ["load", "prepare"] as const) {
      const [outcome] = await Promise.allSettled([store[method]("s")]);
      if (outcome.status === "fulfilled") {
        if ("publish" in outcome.value) await outcome.value[Symbol.asyncDispose]();
        continue;
      }
      expect(outcome.reason).toMatchObject({ code: "corrupt", place: { offset: expect.any(Number) } });
      refused += 1;
    }
    expect(place.contents()).toEqual(before);
  }
  expect(refused).toBeGreaterThan(350);
  writeFileSync(path, log.bytes);
  expect([...(await store.load("s")).log.texts()]).toEqual(log.frames.flatMap(({ texts }) => texts));
});

test("in the header's frame: the session is refused and listed with the reason, its neighbour untouched", async () => {
  const log = await build("size stated");
  using place = new Place();
  const path = place.put("s", "zstd", log.bytes);
  place.put(
    "t",
    "zstd",
    Buffer.concat([encodeBatch([headerText("t")], "zstd"), frameOf(lines([titleText(0)]))]),
  );
  await using store = await place.read();
  const length = log.frames[0]?.offset ?? 0;
  for (let bit = 0; bit < 8 * length; bit += 1) {
    const flipped = readFileSync(path);
    flipped.set(log.bytes);
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    writeFileSync(path, flipped);
    const { items } = await store.list();
    expect(items.map(({ id }) => id)).toEqual(["s", "t"]);
    expect([items[1]?.problem, items[1]?.header?.id]).toEqual([undefined, "t"]);
    const [first] = items;
    if (first?.problem === undefined) {
      expect((await readLog(store, "s")).texts).toEqual(log.frames.flatMap(({ texts }) => texts));
      continue;
    }
    const error = await rejectionOf(store.inspect("s"));
    if (!(error instanceof HoldfastError)) throw error;
    expect([first.problem.state, error.code]).toEqual(["corrupt", "corrupt"]);
  }
});

test("what is damaged in a run of many events is told by the seq of the first one", async () => {
  const text = JSON.stringify({
    type: "text-chunks",
    seq0: 1,
    time0: 1,
    data: { turn: 1, step: 1, index: 0, dt: [0, 0], texts: ["a", "b", "c"] },
  });
  const parts = [
    encodeBatch([headerText("s")], "zstd"),
    frameOf(lines([titleText(0)])),
    frameOf(lines([text])),
    frameOf(lines([titleText(4)])),
  ];
  const record = { seq: 1, count: 3, type: "text-chunks", time: 1, text };
  using place = new Place();
  const bytes = Buffer.concat(parts);
  const path = place.put("s", "zstd", bytes);
  await using store = await place.read();
  expect((await readLog(store, "s")).texts).toEqual([titleText(0), ...recordTexts(record), titleText(4)]);
  const offset = Buffer.concat(parts.slice(0, 2)).length;
  bytes[offset + 20] = (bytes[offset + 20] ?? 0) ^ 1;
  writeFileSync(path, bytes);
  const { texts, fault } = await readLog(store, "s");
  expect(texts).toEqual([titleText(0)]);
  expect(fault).toMatchObject({ code: "corrupt", place: { row: 3, seq: 1, offset } });
});
