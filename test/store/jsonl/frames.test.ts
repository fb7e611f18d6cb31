import { describe, expect, test } from "bun:test";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import fc from "fast-check";
import { decodeFrame, encodeFrame } from "../../../src/store/jsonl/frame-codec.ts";
import { walkFrame } from "../../../src/store/jsonl/frame-walker.ts";
import { type BlockPlan, frameOf, frameOfBlocks, randomBytes, seeded, streamedFrame } from "./log-bytes.ts";

const MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const DESCRIPTOR_AT = 4;
const MAX_BLOCK = 128 * 1024;

type Frame = (content: Buffer) => Buffer | Promise<Buffer>;

function streamed(content: Buffer, piece = Math.max(1, Math.ceil(content.length / 40))): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let at = 0; at < content.length; at += piece) pieces.push(content.subarray(at, at + piece));
  return streamedFrame(pieces).then(({ bytes }) => bytes);
}

function rawBlocks(content: Buffer): BlockPlan[] {
  const blocks: BlockPlan[] = [];
  for (let at = 0; at < content.length || at === 0; at += 1_000 + (at % MAX_BLOCK)) {
    const end = Math.min(content.length, at + 1_000 + (at % MAX_BLOCK));
    blocks.push({ type: 0, content: content.subarray(at, end) });
  }
  return blocks;
}

const COMPRESSORS: ReadonlyArray<readonly [string, Frame]> = [
  ["encodeFrame", encodeFrame],
  ["node, size stated", (content) => frameOf(content)],
  ["node, size not stated", (content) => frameOf(content, { [constants.ZSTD_c_contentSizeFlag]: 0 })],
  ["node, fastest", (content) => frameOf(content, { [constants.ZSTD_c_compressionLevel]: -7 })],
  ["node, level 9", (content) => frameOf(content, { [constants.ZSTD_c_compressionLevel]: 9 })],
  ["node, streamed with flushes", (content) => streamed(content)],
  ["raw blocks", (content) => frameOfBlocks(rawBlocks(content))],
];

const SIZES = [
  0, 1, 2, 255, 256, 257, 4_096, 65_535, 65_536, 65_791, 65_792, 131_071, 131_072, 131_073, 262_145,
  1_000_003, 4_194_304,
];

/** Contents that end in blocks of each type: stored, repeated and compressed. */
function contentsOf(size: number): Buffer[] {
  const random = seeded(size);
  const noise = randomBytes(Math.min(size, 4_096), random);
  const text = Buffer.alloc(size, '{"type":"assistant/chunk","seq":1,"text":"word "}\n');
  for (let at = 0; at < size; at += 37) text[at] = 97 + Math.floor(random() * 26);
  const mixed = Buffer.from(text);
  crypto.getRandomValues(mixed.subarray(0, Math.min(65_536, size >> 1)));
  return [Buffer.alloc(size, noise), Buffer.alloc(size, "z"), text, mixed];
}

describe("where a frame ends", () => {
  for (const [name, compress] of COMPRESSORS) {
    test.each(SIZES)(`is found as the decoder has it: ${name}, %d bytes`, async (size) => {
      for (const content of contentsOf(size)) {
        const frame = await compress(content);
        // A decoder refuses a frame that is cut or that has bytes after it.
        expect(zstdDecompressSync(frame).equals(content)).toBe(true);
        const before = randomBytes(7, seeded(size));
        for (const after of [Buffer.alloc(0), Buffer.alloc(9), frame.subarray(0, 9)]) {
          const walk = walkFrame(Buffer.concat([before, frame, after]), before.length);
          if (walk.kind !== "frame") throw new Error(`${walk.kind} instead of a frame`);
          expect(walk.end).toBe(before.length + frame.length);
          expect(walk.bound).toBeGreaterThanOrEqual(size);
          const decoded = decodeFrame(frame, walk);
          expect(decoded.kind === "content" && decoded.content.equals(content)).toBe(true);
        }
      }
    });
  }

  test("is known only with the last byte; a cut says how many whole blocks there are", async () => {
    const content = Buffer.from("line of a log\n".repeat(30));
    const frame = await streamed(content, 60);
    const borders = new Set<number>();
    for (let length = 0; length < frame.length; length += 1) {
      const walk = walkFrame(frame.subarray(0, length), 0);
      if (walk.kind !== "cut") throw new Error(`${walk.kind} after ${length} bytes`);
      expect(walk.blocksEnd).toBeLessThanOrEqual(length);
      borders.add(walk.blocksEnd);
    }
    expect(borders.size).toBeGreaterThan(content.length / 60);
    expect(walkFrame(frame, 0).kind).toBe("frame");
  });

  test("is never looked for in garbage: any bytes are walked over, or refused", () => {
    const bytes = fc.uint8Array({ maxLength: 64 }).map((tail) => Buffer.concat([MAGIC, tail]));
    fc.assert(
      fc.property(fc.oneof(bytes, fc.uint8Array({ maxLength: 64 }).map(Buffer.from)), (garbage) => {
        const walk = walkFrame(garbage, 0);
        if (walk.kind === "frame") expect(walk.end).toBeLessThanOrEqual(garbage.length);
        if (walk.kind === "cut") expect(walk.blocksEnd).toBeLessThanOrEqual(garbage.length);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a frame that is written", () => {
  test("is what node's compressor makes with a checksum, for any content", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), fc.nat(400), (bytes, times) => {
        const content = Buffer.concat(Array<Uint8Array>(times).fill(bytes));
        expect(encodeFrame(content).equals(frameOf(content))).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  test.each(SIZES)("is what node's compressor makes with a checksum, %d bytes", (size) => {
    for (const content of contentsOf(size)) expect(encodeFrame(content).equals(frameOf(content))).toBe(true);
  });

  test("has another checksum for every other content", () => {
    const content = Buffer.from("one line of a log\n");
    const frame = encodeFrame(content);
    for (let bit = 0; bit < 32; bit += 1) {
      const at = frame.length - 4 + (bit >> 3);
      const flipped = Buffer.from(frame);
      flipped[at] = (frame[at] ?? 0) ^ (1 << (bit & 7));
      expect(decodeFrame(flipped, { bound: content.length, least: 0, isStated: true, window: 0 }).kind).toBe(
        "damaged",
      );
    }
  });
});

describe("a frame that is refused", () => {
  const content = Buffer.from("one line of a log\n".repeat(20));
  const frame = frameOf(content);
  const withDescriptor = (change: (descriptor: number) => number) => {
    const other = Buffer.from(frame);
    other[DESCRIPTOR_AT] = change(other[DESCRIPTOR_AT] ?? 0);
    return other;
  };
  const withBlock = (header: number) =>
    Buffer.concat([MAGIC, Buffer.from([0b100, 0x38, header & 255, (header >> 8) & 255, header >> 16])]);
  const skippable = (kind: number) => {
    const head = Buffer.alloc(8);
    head.writeUInt32LE(0x184d2a50 + kind, 0);
    head.writeUInt32LE(5, 4);
    return Buffer.concat([head, Buffer.from("skip\n")]);
  };

  test.each([
    ["has no checksum", zstdCompressSync(content)],
    ["says that it has no checksum", withDescriptor((bits) => bits & ~0b100)],
    ["names a dictionary in one byte", withDescriptor((bits) => bits | 1)],
    ["names a dictionary in two bytes", withDescriptor((bits) => bits | 2)],
    ["names a dictionary in four bytes", withDescriptor((bits) => bits | 3)],
    ["has the reserved bit", withDescriptor((bits) => bits | 0b1000)],
    ["has the unused bit", withDescriptor((bits) => bits | 0b10000)],
    ["is skippable, of the first kind", skippable(0)],
    ["is skippable, of the last kind", skippable(15)],
    ["has a block of the reserved type", withBlock((3 << 1) | (5 << 3))],
    ["has a stored block of more than 128 KiB", withBlock((MAX_BLOCK + 1) << 3)],
    ["has a repeated block of more than 128 KiB", withBlock((1 << 1) | ((MAX_BLOCK + 1) << 3))],
    ["has another magic number", Buffer.concat([Buffer.alloc(4), frame.subarray(4)])],
    ["is of an older format", Buffer.concat([Buffer.from([0x27, 0xb5, 0x2f, 0xfd]), frame.subarray(4)])],
    ["is no frame but a line", Buffer.from('{"type":"session"}\n')],
  ])("%s", (_, bytes) => {
    const walk = walkFrame(bytes, 0);
    if (walk.kind !== "bad") throw new Error(`${walk.kind} instead of a refusal`);
    expect(walk.found.length).toBeGreaterThan(0);
  });
});
