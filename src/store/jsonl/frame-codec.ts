import { errorCode } from "../errors.ts";

/** Most bytes that one frame may hold, unfolded. Writers refuse larger batches, readers larger frames. */
export const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/** Largest window that decoders take without being asked to. */
const MAX_WINDOW = 128 * 1024 * 1024;
const DESCRIPTOR_AT = 4;
const CHECKSUM_FLAG = 0b100;
const CHECKSUM_SIZE = 4;

/** One frame with a content checksum. @param level of compression, where another one than the usual is wanted */
export function encodeFrame(content: Uint8Array, level?: number): Buffer {
  // Bun's compressor writes no checksum: it is the low half of the content's XXH64, and a flag in the header says so.
  const bare = Bun.zstdCompressSync(content, level === undefined ? {} : { level });
  const frame = Buffer.allocUnsafe(bare.length + CHECKSUM_SIZE);
  frame.set(bare);
  frame[DESCRIPTOR_AT] = (bare[DESCRIPTOR_AT] ?? 0) | CHECKSUM_FLAG;
  frame.writeUInt32LE(Number(Bun.hash.xxHash64(content) & 0xffff_ffffn), bare.length);
  return frame;
}

export type DecodedFrame =
  | { readonly kind: "content"; readonly content: Buffer }
  /** Bytes that are not what was written. */
  | { readonly kind: "damaged"; readonly found: string }
  | { readonly kind: "too-large" };

/** What must be known of a frame before it is unfolded; see frame-walker.ts. */
export interface FrameSize {
  readonly bound: number;
  readonly least: number;
  readonly isStated: boolean;
  readonly window: number;
}

/** Frames that unfold to this and more are let go of before the next ones: they would pile up between collections. */
const LARGE = 4 * 1024 * 1024;
/** Bytes of such frames that may wait for a collection. */
const MOST_LARGE = MAX_FRAME_BYTES;
let large = 0;

/** Makes room for one more frame. */
function collect(bound: number): void {
  if (bound < LARGE) return;
  large += Math.min(bound, MAX_FRAME_BYTES);
  if (large <= MOST_LARGE) return;
  Bun.gc(true);
  large = bound;
}

/** Unfolds one whole frame, or several, of which the structure was walked; checks the checksums. Memory stays bounded. */
export function decodeFrame(frame: Buffer, { bound, least, isStated, window }: FrameSize): DecodedFrame {
  // Where the frame itself says so, nothing is unfolded to find out.
  const isTooLarge = least > MAX_FRAME_BYTES || isStated || window > MAX_WINDOW;
  if (bound > MAX_FRAME_BYTES && isTooLarge) return { kind: "too-large" };
  collect(bound);
  try {
    if (bound <= MAX_FRAME_BYTES) return { kind: "content", content: Bun.zstdDecompressSync(frame) };
    // Small blocks may unfold to less than they could. Loaded when it is needed: it brings all of node's streams along.
    const { zstdDecompressSync } = process.getBuiltinModule("node:zlib");
    return { kind: "content", content: zstdDecompressSync(frame, { maxOutputLength: MAX_FRAME_BYTES }) };
  } catch (error) {
    if (errorCode(error) === "ERR_BUFFER_TOO_LARGE") return { kind: "too-large" };
    return { kind: "damaged", found: "content that does not match its checksum" };
  }
}
