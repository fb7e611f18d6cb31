import { type Pause, pause, STRETCH, withoutPause } from "../breathe.ts";
import { decodeFrame, type FrameSize, MAX_FRAME_BYTES } from "./frame-codec.ts";
import { FRAME_MAGIC, walkFrame } from "./frame-walker.ts";
import type { LogFile } from "./log-file.ts";

/*
 * Where frames go on after damage. The magic number may stand anywhere, so that a frame counts as found only when all of
 * it is sound: its structure, its checksum, and the line feed at its end.
 */

/** Bytes read at once. */
const WINDOW = 1024 * 1024;
/** The last window but one that a frame is looked for in; the next one holds any frame that can be read. */
const MAX_PROOF = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Looks for sound frames in one file. */
export class FrameSearch {
  readonly #file: LogFile;
  /** Bytes that may still be walked over, read or unfolded for candidates that turn out to be none. */
  #budget: number;

  constructor(file: LogFile) {
    this.#file = file;
    this.#budget = 8 * file.size + 4 * MAX_FRAME_BYTES;
  }

  /**
   * Offset of the first sound frame from `from` on; nothing when there is none. `unknown` when the search was given up: no
   * writer leaves that many beginnings of frames that lead nowhere, and looking at all of them would take for ever.
   */
  next(from: number): number | "unknown" | undefined {
    return withoutPause(this.search(from));
  }

  /** The same, for those who let others have their turn meanwhile. */
  *search(from: number): Generator<Pause, number | "unknown" | undefined> {
    let before = this.#budget;
    for (let base = from; base < this.#file.size; ) {
      const bytes = this.#file.read(base, WINDOW);
      for (let at = bytes.indexOf(FRAME_MAGIC); at >= 0; at = bytes.indexOf(FRAME_MAGIC, at + 1)) {
        if (this.#budget < 0) return "unknown";
        if (this.#isSound(bytes, at, base)) return base + at;
        if (before - this.#budget < STRETCH) continue;
        yield pause(before - this.#budget);
        before = this.#budget;
      }
      if (bytes.length < FRAME_MAGIC.length || base + bytes.length >= this.#file.size) return undefined;
      yield pause(bytes.length);
      // A magic number may stand across the border.
      base += bytes.length - (FRAME_MAGIC.length - 1);
    }
    return undefined;
  }

  /** Whether a sound frame begins at `at` in the window, which begins at `base` in the file. */
  #isSound(bytes: Buffer, at: number, base: number): boolean {
    const walk = walkFrame(bytes, at);
    if (walk.kind === "bad") this.#budget -= walk.reached - at;
    else if (walk.kind === "frame") return this.#isSoundContent(bytes.subarray(at, walk.end), walk);
    // Only what the window cuts off, and not the file, is read once more.
    else if (base + bytes.length < this.#file.size) return this.#isSoundFrame(base + at);
    else this.#budget -= bytes.length - at;
    return false;
  }

  #isSoundFrame(offset: number): boolean {
    for (let length = WINDOW; ; length *= 4) {
      const bytes = this.#file.read(offset, length);
      this.#budget -= bytes.length;
      const walk = walkFrame(bytes, 0);
      if (walk.kind === "bad") return false;
      if (walk.kind === "frame") return this.#isSoundContent(bytes.subarray(0, walk.end), walk);
      if (offset + bytes.length >= this.#file.size || length > MAX_PROOF) return false;
    }
  }

  #isSoundContent(frame: Buffer, size: FrameSize): boolean {
    const decoded = decodeFrame(frame, size);
    this.#budget -= Math.min(size.bound, MAX_FRAME_BYTES);
    return decoded.kind === "content" && decoded.content.at(-1) === NEWLINE;
  }
}
