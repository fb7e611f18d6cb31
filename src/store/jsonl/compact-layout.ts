import type { Place } from "../../session/errors.ts";
import { RunMerger } from "../../session/merge-runs.ts";
import type { SessionRecord } from "../../session/records.ts";
import { decodeFrame, encodeFrame } from "./frame-codec.ts";
import type { Encoding } from "./layout.ts";
import { decodeLines } from "./line-decoder.ts";
import type { LogFile } from "./log-file.ts";
import { walkFrames } from "./units.ts";

/*
 * How the lines of a compacted log lie in frames, and how it is seen that they do already. Source: docs/format.md,
 * "Compacted logs".
 */

/**
 * How lines are put into frames. Larger frames are smaller on the disk, and slower to read a few events from: one event
 * costs the decoding of its frame.
 */
export interface Form {
  /** Most text of a frame, in bytes; a longer line has one of its own. */
  readonly text: number;
  readonly level: number | undefined;
}

/** Source of the numbers: docs/decisions/0019-compacted-logs.md. */
export const COMPACT: Form = { text: 256 * 1024, level: 16 };
/** As a copy writes a log (copy.ts). */
export const EXPANDED: Form = { text: 16 * 1024, level: undefined };
/**
 * Most text of the last frame, in bytes. A flipped bit in it looks like a commit that was cut short, and costs the whole
 * frame (docs/durability.md, "Known limits"); and the last events are those that are read most.
 */
const LAST_TEXT = 16 * 1024;
/** Frames of commits are not larger than this, but for large events. */
const COMMIT_TEXT = 64 * 1024;
const NEWLINE = 0x0a;

interface Line {
  readonly text: string;
  /** Bytes, with its end. */
  readonly size: number;
}

/** Puts lines into frames, as many into each as fit. Of plain lines a frame is just these lines. */
export class FrameWriter {
  readonly #form: Form;
  readonly #encoding: Encoding;
  readonly #write: (bytes: Buffer) => void;
  #lines: Line[] = [];
  #size = 0;

  constructor(form: Form, encoding: Encoding, write: (bytes: Buffer) => void) {
    this.#form = form;
    this.#encoding = encoding;
    this.#write = write;
  }

  take(records: readonly SessionRecord[]): void {
    for (const { text } of records) {
      const size = Buffer.byteLength(text) + 1;
      if (this.#size > 0 && this.#size + size > this.#form.text) this.flush();
      this.#lines.push({ text, size });
      this.#size += size;
    }
  }

  /** Writes the lines that are left, the last ones in a short frame. */
  end(): void {
    let last = this.#lines.length - 1;
    let size = this.#lines[last]?.size ?? 0;
    for (; last > 0; last -= 1) {
      size += this.#lines[last - 1]?.size ?? 0;
      if (size > LAST_TEXT) break;
    }
    const short = this.#lines.splice(last);
    this.flush();
    this.#lines = short;
    this.flush();
  }

  /** Writes the frame that is not full yet. */
  flush(): void {
    if (this.#lines.length === 0) return;
    const bytes = Buffer.from(`${this.#lines.map(({ text }) => text).join("\n")}\n`);
    this.#lines = [];
    this.#size = 0;
    this.#write(this.#encoding === "zstd" ? encodeFrame(bytes, this.#form.level) : bytes);
  }
}

interface Frame {
  readonly offset: number;
  /** Bytes that it unfolds to. */
  readonly text: number;
}

/**
 * From where on a log is to be compacted: the offset of a frame, or nothing where it is compact. What lies before the
 * offset is compact, and stays as it is. Only the first frame is decoded.
 *
 * That a log was compacted shows by its first frame, which comes out again to the byte, and by the sizes of the others:
 * no two neighbours fit into one, where the last two count as one.
 */
export function looseFrom(file: LogFile, bodyOffset: number, place: Place): number | undefined {
  if (file.encoding === "none") return bodyOffset;
  let isFirst = true;
  // The frames before the one that is looked at.
  const before: Frame[] = [];
  // One more than what does not fit is written anew, so that the new frames are no neighbours of one they fit into.
  const loose = () => (before.length > 3 ? (before.at(-4)?.offset ?? bodyOffset) : bodyOffset);
  for (const { offset, walk, bytes, start } of walkFrames(file, bodyOffset)) {
    if (walk.kind !== "frame" || !walk.isStated) return loose();
    if (isFirst && !isCompact(bytes.subarray(start, walk.end), walk, place)) return bodyOffset;
    isFirst = false;
    if (before.length > 2 && sizeOf(before.slice(-3, -1)) <= COMPACT.text) return loose();
    before.push({ offset, text: walk.bound });
    if (before.length > 4) before.shift();
  }
  if (before.length > 2 && sizeOf(before.slice(-3)) <= COMPACT.text) return loose();
  return before.length > 1 && sizeOf(before.slice(-2)) <= LAST_TEXT ? loose() : undefined;
}

function sizeOf(frames: readonly Frame[]): number {
  return frames.reduce((sum, { text }) => sum + text, 0);
}

/** Whether a frame, the first one of its log, is what compacting makes of its lines. */
function isCompact(frame: Buffer, size: Parameters<typeof decodeFrame>[1], place: Place): boolean {
  const decoded = decodeFrame(frame, size);
  if (decoded.kind !== "content") return false;
  const { records, fault } = decodeLines(decoded.content, 0, place, "zstd");
  if (fault !== undefined) return false;
  const frames: Buffer[] = [];
  const merger = new RunMerger();
  const writer = new FrameWriter(COMPACT, "zstd", (bytes) => frames.push(bytes));
  for (const record of records) writer.take(merger.take(record));
  writer.take(merger.end());
  writer.flush();
  return frames.length === 1 && frames[0]?.equals(frame) === true;
}

/** Whether a log has frames of more lines than a commit would put into one. */
export function hasLargeFrames(file: LogFile, bodyOffset: number): boolean {
  if (file.encoding === "none") return false;
  for (const { walk, bytes, start } of walkFrames(file, bodyOffset)) {
    if (walk.kind !== "frame") return true;
    if (walk.bound <= COMMIT_TEXT) continue;
    const decoded = decodeFrame(bytes.subarray(start, walk.end), walk);
    if (decoded.kind !== "content" || decoded.content.indexOf(NEWLINE) < decoded.content.length - 1)
      return true;
  }
  return false;
}
