/*
 * Where a Zstandard frame ends, read off its structure: the frame header, then one block header after the other. The
 * magic number says nothing about an end; it occurs inside of blocks as well. Source: RFC 8878, section 3.1.1.
 */

export const FRAME_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

const MAGIC_NUMBER = FRAME_MAGIC.readUInt32LE();
const MAGIC_SIZE = 4;
const CHECKSUM_SIZE = 4;
const BLOCK_HEADER_SIZE = 3;
/** Most bytes that one block holds, stored or unfolded. */
const MAX_BLOCK = 128 * 1024;
const DICTIONARY_MASK = 0b11;
const CHECKSUM_FLAG = 0b100;
/** Bit 3 is reserved; bit 4 is unused, and no writer sets it. */
const ZERO_BITS = 0b11000;
const SINGLE_SEGMENT_FLAG = 0b100000;
const CONTENT_SIZE_BYTES = [0, 2, 4, 8] as const;

/** What stands at an offset. */
export type Walk =
  | {
      readonly kind: "frame";
      /** Offset after the frame. */
      readonly end: number;
      /** Bytes that it unfolds to, at most. */
      readonly bound: number;
      /** Bytes that it unfolds to, at least: of its blocks that are not compressed. */
      readonly least: number;
      /** Whether the frame says that it unfolds to `bound`. */
      readonly isStated: boolean;
      /** Memory that a decoder needs beside the content, at most; 0 where the content is all. */
      readonly window: number;
    }
  /**
   * The bytes end inside of the frame. `blocksEnd` is the offset after its last whole block; `needs` is the memory that
   * a decoder makes room for before the first one.
   */
  | { readonly kind: "cut"; readonly blocksEnd: number; readonly needs: number }
  /** `reached` is how far the walk came. */
  | { readonly kind: "bad"; readonly found: string; readonly reached: number };

/** Walks over the frame that begins at `start`, as far as `bytes` go. */
export function walkFrame(bytes: Buffer, start: number): Walk {
  const descriptorAt = start + MAGIC_SIZE;
  const hasMagic =
    descriptorAt <= bytes.length
      ? bytes.readUInt32LE(start) === MAGIC_NUMBER
      : FRAME_MAGIC.subarray(0, bytes.length - start).equals(bytes.subarray(start));
  if (!hasMagic) return bad("another magic number", descriptorAt);
  const descriptor = bytes[descriptorAt];
  if (descriptor === undefined) return cut(start);
  if ((descriptor & ZERO_BITS) !== 0) return bad("reserved bits in the frame header", descriptorAt);
  if ((descriptor & DICTIONARY_MASK) !== 0) return bad("a frame that needs a dictionary", descriptorAt);
  if ((descriptor & CHECKSUM_FLAG) === 0) return bad("a frame without a checksum", descriptorAt);
  const single = (descriptor & SINGLE_SEGMENT_FLAG) !== 0;
  const flag = descriptor >> 6;
  const sizeBytes = flag === 0 && single ? 1 : (CONTENT_SIZE_BYTES[flag] ?? 0);
  const sizeAt = descriptorAt + 1 + (single ? 0 : 1);
  let at = sizeAt + sizeBytes;
  if (at > bytes.length) return cut(start);
  const stated = sizeBytes === 0 ? undefined : readSize(bytes, sizeAt, sizeBytes);
  const window = single ? 0 : windowOf(bytes.readUInt8(descriptorAt + 1));
  const needs = single ? (stated ?? 0) : window;
  let blocks = 0;
  let packed = 0;
  let least = 0;
  for (;;) {
    const blocksEnd = blocks === 0 ? start : at;
    if (at + BLOCK_HEADER_SIZE > bytes.length) return { kind: "cut", blocksEnd, needs };
    const header = bytes.readUIntLE(at, BLOCK_HEADER_SIZE);
    const type = (header >> 1) & 0b11;
    const size = header >> 3;
    if (type === 3) return bad("a block of a reserved type", at);
    if (size > MAX_BLOCK) return bad("a block that is too large", at);
    const next = at + BLOCK_HEADER_SIZE + (type === 1 ? 1 : size);
    if (next > bytes.length) return { kind: "cut", blocksEnd, needs };
    at = next;
    blocks += 1;
    if (type === 2) packed += 1;
    else least += size;
    if ((header & 1) === 1) break;
  }
  const end = at + CHECKSUM_SIZE;
  if (end > bytes.length) return { kind: "cut", blocksEnd: at, needs };
  const most = least + packed * MAX_BLOCK;
  const bound = stated ?? most;
  if (bound > most || bound < least) return bad("a content size that is not that of the blocks", end);
  return { kind: "frame", end, bound, least, isStated: stated !== undefined, window };
}

/**
 * Walks over the blocks that stand at the beginning of `bytes`: where the last whole one ends. `isEnd` tells that the
 * frame ends there, with its checksum or with a block that cannot be.
 */
export function walkBlocks(bytes: Buffer): { readonly blocksEnd: number; readonly isEnd: boolean } {
  let at = 0;
  while (at + BLOCK_HEADER_SIZE <= bytes.length) {
    const header = bytes.readUIntLE(at, BLOCK_HEADER_SIZE);
    const size = header >> 3;
    if (size > MAX_BLOCK) return { blocksEnd: at + BLOCK_HEADER_SIZE, isEnd: true };
    const next = at + BLOCK_HEADER_SIZE + (((header >> 1) & 0b11) === 1 ? 1 : size);
    if (next > bytes.length) break;
    at = next;
    if ((header & 1) === 1) return { blocksEnd: at + CHECKSUM_SIZE, isEnd: true };
  }
  return { blocksEnd: at, isEnd: false };
}

function cut(start: number): Walk {
  return { kind: "cut", blocksEnd: start, needs: 0 };
}

/** Bytes of the window that a descriptor asks for. Source: RFC 8878, section 3.1.1.1.2. */
function windowOf(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 0b111);
}

function readSize(bytes: Buffer, at: number, width: number): number {
  switch (width) {
    case 1:
      return bytes.readUInt8(at);
    case 2:
      return bytes.readUInt16LE(at) + 256;
    case 4:
      return bytes.readUInt32LE(at);
    default:
      return Number(bytes.readBigUInt64LE(at));
  }
}

function bad(found: string, reached: number): Walk {
  return { kind: "bad", found, reached };
}
