import { StorageFailedError } from "../errors.ts";
import { encodeFrame, MAX_FRAME_BYTES } from "./frame-codec.ts";
import type { Encoding } from "./layout.ts";

/* From the texts of one batch to its bytes; line-decoder.ts is the way back. */

/** Text of one frame of a file that is written as a whole, in UTF-16 units. */
const FRAME_LENGTH = 256 * 1024;

/**
 * The stored bytes of the lines that a file begins with, which gets its name when they are durable: frames that a reader
 * can pass over, and where there are several, the last line alone in the last one. A flipped byte in the last frame of a log looks
 * like a commit that was cut short, and costs that frame.
 * @throws StorageFailedError
 */
export function encodeFirstLines(texts: readonly string[], encoding: Encoding, path: string): Buffer {
  if (encoding !== "zstd") return encodeLines(texts, encoding, path);
  const groups: string[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const text of texts) {
    if (length + text.length > FRAME_LENGTH) {
      groups.push([]);
      length = 0;
    }
    groups.at(-1)?.push(text);
    length += text.length + 1;
  }
  const tail = groups.length > 1 && (groups.at(-1)?.length ?? 0) > 1 ? groups.at(-1)?.splice(-1) : undefined;
  if (tail !== undefined) groups.push(tail);
  return Buffer.concat(groups.map((group) => encodeLines(group, encoding, path)));
}

/** The stored bytes of lines: one frame, or the lines themselves. @throws StorageFailedError when they are too many */
export function encodeLines(texts: readonly string[], encoding: Encoding, path: string): Buffer {
  const bytes = Buffer.from(`${texts.join("\n")}\n`);
  const lines = texts.every((text) => !text.includes("\n"));
  if (lines && bytes.length <= MAX_FRAME_BYTES) return encoding === "zstd" ? encodeFrame(bytes) : bytes;
  const what = lines ? `More than ${MAX_FRAME_BYTES} bytes in one batch` : "A record that spans lines";
  throw new StorageFailedError(`${what} cannot be stored in a session log`, {
    place: { path },
    hint: "Nothing was written. Use a SQLite store for it, or smaller batches.",
  });
}
