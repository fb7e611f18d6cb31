import { Decompress } from "fzstd";
import type { Place } from "../../session/errors.ts";
import { type DecodedLines, decodeLines } from "./line-decoder.ts";
import type { LogFile } from "./log-file.ts";
import type { Break } from "./units.ts";

/** Zeros in a row that no writer's block ends with: what a power cut leaves where bytes never reached the disk. */
const ZERO_RUN = 8;
/** Zeros in a row that no writer's blocks hold: a part of the frame that never reached the disk. */
const HOLE = Buffer.alloc(64);
/** As much as the largest commit of this program, about: the lines in the first part of a longer one. */
const MAX_SALVAGE = 16 * 1024 * 1024;
const NEWLINE = 0x0a;
/** Small, since a block of four bytes may unfold to 128 KiB. */
const PIECE = 512;

/** The whole lines that the beginning of a frame yields which the end of the file cuts off. */
export function salvageContent(file: LogFile, { offset, blocksEnd }: Omit<Break, "kind">): Buffer {
  if (blocksEnd <= offset) return Buffer.alloc(0);
  const content = unfold(readBlocks(file, offset, blocksEnd));
  return content.subarray(0, content.lastIndexOf(NEWLINE) + 1);
}

/** The records in these lines that follow each other from the seq `next` on. */
export function salvageLines(file: LogFile, found: Break, next: number, place: Place): DecodedLines {
  const whole = salvageContent(file, found);
  const { records, next: after } = decodeLines(whole, next, place, file.encoding);
  // A line that does not decode ends what can be trusted; there is no checksum to go by.
  return { records, next: after };
}

/** The stored blocks; none when zeros reach into them, since then it is unknown what else never reached the disk. */
function readBlocks(file: LogFile, offset: number, end: number): Buffer {
  const bytes = file.read(offset, end - offset);
  const rest = file.read(end, file.size - end);
  const zeros = trailingZeros(rest);
  const isZeroed = zeros >= ZERO_RUN || (zeros === rest.length && zeros + trailingZeros(bytes) >= ZERO_RUN);
  // Without a checksum nothing tells whether what unfolds from there is what was written.
  return isZeroed || bytes.includes(HOLE) ? bytes.subarray(0, 0) : bytes;
}

function trailingZeros(bytes: Buffer): number {
  let count = 0;
  while (count < bytes.length && bytes[bytes.length - 1 - count] === 0) count += 1;
  return count;
}

/** What the blocks hold. Unlike the strict decoder this one takes a frame without its end. */
function unfold(bytes: Buffer): Buffer {
  // Memory is only taken for what is written to it.
  const content = Buffer.allocUnsafeSlow(bytes.length === 0 ? 0 : MAX_SALVAGE);
  let size = 0;
  const stream = new Decompress((part) => {
    content.set(part.subarray(0, MAX_SALVAGE - size), size);
    size = Math.min(size + part.length, MAX_SALVAGE);
  });
  try {
    for (let at = 0; at < bytes.length && size < MAX_SALVAGE; at += PIECE) {
      stream.push(bytes.subarray(at, at + PIECE));
    }
  } catch {
    // Damaged blocks: what came before them is still worth a look, line by line.
  }
  return content.subarray(0, size);
}
