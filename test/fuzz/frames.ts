import { zstdDecompressSync } from "node:zlib";

/*
 * Frames of a log, found and unfolded without the code under test: RFC 8878 by hand, and node's decompressor.
 */

export const MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const NEWLINE = 0x0a;
const MAX_BLOCK = 128 * 1024;
/** Nothing larger is read. */
const MOST = 64 * 1024 * 1024;

/** A frame of a log, from `start` to `end`. */
export interface Frame {
  readonly start: number;
  readonly end: number;
  /** Offsets of its block headers. */
  readonly blocks: readonly number[];
}

/** The frame that begins at `start`, if a whole one does; its checksum is not looked at. */
export function frameAt(bytes: Buffer, start: number): Frame | undefined {
  if (!bytes.subarray(start, start + 4).equals(MAGIC)) return undefined;
  const descriptor = bytes[start + 4];
  if (descriptor === undefined || (descriptor & 0b11011) !== 0 || (descriptor & 0b100) === 0)
    return undefined;
  const single = (descriptor & 0b100000) !== 0;
  const sizeBytes = [single ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  let at = start + 5 + (single ? 0 : 1) + sizeBytes;
  const blocks: number[] = [];
  for (;;) {
    if (at + 3 > bytes.length) return undefined;
    const header = bytes.readUIntLE(at, 3);
    const type = (header >> 1) & 0b11;
    const size = header >> 3;
    if (type === 3 || size > MAX_BLOCK) return undefined;
    blocks.push(at);
    at += 3 + (type === 1 ? 1 : size);
    if ((header & 1) === 1) break;
  }
  return at + 4 <= bytes.length ? { start, end: at + 4, blocks } : undefined;
}

/** Content of a frame; nothing where it, or its checksum, is not as it should be. */
export function unfold(bytes: Buffer, { start, end }: Frame): Buffer | undefined {
  try {
    const content = zstdDecompressSync(bytes.subarray(start, end), { maxOutputLength: MOST });
    const checksum = Number(Bun.hash.xxHash64(content) & 0xffff_ffffn);
    return checksum === bytes.readUInt32LE(end - 4) ? content : undefined;
  } catch {
    return undefined;
  }
}

/** The frames that a log begins with, as far as their structure is whole. */
export function framesOf(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length; ) {
    const frame = frameAt(bytes, at);
    if (frame === undefined) break;
    frames.push(frame);
    at = frame.end;
  }
  return frames;
}

/** Where a frame that can be unfolded, to lines that are whole, begins behind `from`, if one does. */
export function laterFrame(bytes: Buffer, from: number): number | undefined {
  for (let at = bytes.indexOf(MAGIC, from); at >= 0; at = bytes.indexOf(MAGIC, at + 1)) {
    const frame = frameAt(bytes, at);
    const content = frame === undefined ? undefined : unfold(bytes, frame);
    if (content !== undefined && content.at(-1) === NEWLINE) return at;
  }
  return undefined;
}
