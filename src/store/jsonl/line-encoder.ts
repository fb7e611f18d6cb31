import { StorageFailedError } from "../errors.ts";
import { encodeFrame, MAX_FRAME_BYTES } from "./frame-codec.ts";
import type { Encoding } from "./layout.ts";

/* From the texts of one batch to its bytes; line-decoder.ts is the way back. */

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
