import { constants, createZstdCompress, zstdCompressSync } from "node:zlib";
import type { EventDraft } from "../../../src/session/events.ts";
import type { Encoding } from "../../../src/store/jsonl/layout.ts";

/*
 * The bytes of logs, made without the code under test: lines by JSON, frames by node's compressor or block by block
 * after RFC 8878.
 */

/** A log with the place of each of its batches. */
export interface BuiltLog {
  readonly bytes: Buffer;
  /** Event texts, batch by batch. */
  readonly batches: ReadonlyArray<readonly string[]>;
  /** Where each batch begins, and where the last one ends. */
  readonly offsets: readonly number[];
}

const MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
/** A checksum, no stated size, a window of 128 KiB. */
const PLAIN_HEADER = Buffer.from([0b100, 0x38]);

/** One frame with a checksum, by node's compressor. */
export function frameOf(content: string | Uint8Array, params: Readonly<Record<number, number>> = {}): Buffer {
  return zstdCompressSync(content, { params: { [constants.ZSTD_c_checksumFlag]: 1, ...params } });
}

/** A block that is stored as it is (0), or one byte that is repeated (1). */
export interface BlockPlan {
  readonly type: 0 | 1;
  readonly content: Uint8Array;
  /** Of a repeated byte. */
  readonly times?: number;
}

/** A frame of these blocks, without the help of any compressor. */
export function frameOfBlocks(blocks: readonly BlockPlan[], header: Uint8Array = PLAIN_HEADER): Buffer {
  const stored = blocks.map(({ type, content, times = content.length }, k) => {
    const head = Buffer.alloc(3);
    head.writeUIntLE((k === blocks.length - 1 ? 1 : 0) | (type << 1) | (times << 3), 0, 3);
    return Buffer.concat([head, content]);
  });
  const whole = Buffer.concat(
    blocks.map(({ content, times = 1 }) => Buffer.concat(Array<Uint8Array>(times).fill(content))),
  );
  return Buffer.concat([MAGIC, header, ...stored, checksumOf(whole)]);
}

/** The low half of the content's XXH64. */
export function checksumOf(content: Uint8Array): Buffer {
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(Number(Bun.hash.xxHash64(content) & 0xffff_ffffn));
  return checksum;
}

/** A frame of blocks that are stored as they are. */
export function rawFrame(pieces: readonly string[]): PieceFrame {
  const bytes = frameOfBlocks(pieces.map((piece) => ({ type: 0, content: Buffer.from(piece) })));
  let stored = MAGIC.length + PLAIN_HEADER.length;
  let content = 0;
  const borders = pieces.map((piece) => {
    content += Buffer.byteLength(piece);
    stored += 3 + Buffer.byteLength(piece);
    return { stored, content };
  });
  return { bytes, borders };
}

/** A frame of one block. */
export function oneBlock(pieces: readonly string[]): PieceFrame {
  const bytes = frameOf(pieces.join(""));
  return { bytes, borders: [{ stored: bytes.length - 4, content: Buffer.byteLength(pieces.join("")) }] };
}

/** A frame, and how many of its bytes it takes to hold what was written up to some places of its content. */
export interface PieceFrame {
  readonly bytes: Buffer;
  readonly borders: ReadonlyArray<{ readonly stored: number; readonly content: number }>;
}

/** As a program makes it that flushes after each of its writes: a block for each, and no stated size. */
export async function streamedFrame(pieces: ReadonlyArray<string | Uint8Array>): Promise<PieceFrame> {
  const stream = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } });
  const parts: Buffer[] = [];
  const borders: Array<{ stored: number; content: number }> = [];
  let content = 0;
  stream.on("data", (part: Buffer) => parts.push(part));
  for (const piece of pieces) {
    stream.write(piece);
    await new Promise<void>((resolve) => stream.flush(constants.ZSTD_e_flush, resolve));
    content += Buffer.byteLength(piece);
    borders.push({ stored: parts.reduce((sum, { length }) => sum + length, 0), content });
  }
  const ended = new Promise((resolve) => stream.on("end", resolve));
  stream.end();
  await ended;
  return { bytes: Buffer.concat(parts), borders };
}

export function headerText(id: string, more: object = {}): string {
  return JSON.stringify({
    type: "session",
    version: 0,
    id,
    createdAt: 1,
    cwd: "/p",
    delegationDepth: 0,
    ...more,
  });
}

/** Makes a frame of lines. */
export type Compressor = (content: string) => Buffer;

/** Lines as they are stored, in one frame or plain. */
export function encodeBatch(
  texts: readonly string[],
  encoding: Encoding,
  compress: Compressor = frameOf,
): Buffer {
  const lines = `${texts.join("\n")}\n`;
  return encoding === "zstd" ? compress(lines) : Buffer.from(lines);
}

/** A log of these event texts, batch by batch. `compress` makes the frames of the batches. */
export function buildLog(
  id: string,
  encoding: Encoding,
  batches: ReadonlyArray<readonly string[]>,
  compress: Compressor = frameOf,
): BuiltLog {
  const parts = [encodeBatch([headerText(id)], encoding)];
  for (const batch of batches) parts.push(encodeBatch(batch, encoding, compress));
  let end = 0;
  const offsets = parts.map(({ length }) => {
    end += length;
    return end;
  });
  return { bytes: Buffer.concat(parts), batches, offsets };
}

/** The text of an event. */
export function eventText(seq: number, { type, time = 1_000 + seq, ...rest }: EventDraft): string {
  return JSON.stringify({ type, seq, time, ...rest });
}

/** A small event without any effect on the conversation. */
export function titleText(seq: number, data: unknown = { n: seq }): string {
  return eventText(seq, { type: "session/title", data });
}

/** Batches of drafts as batches of event texts, with seqs from 0. */
export function textsOf(batches: ReadonlyArray<readonly EventDraft[]>): string[][] {
  let seq = 0;
  return batches.map((batch) => batch.map((draft) => eventText(seq++, draft)));
}

/** Random numbers from 0 to below 1, the same for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function randomBytes(count: number, random: () => number): Buffer {
  return Buffer.from(Array.from({ length: count }, () => Math.floor(random() * 256)));
}
