import type { Encoding } from "../../src/store/jsonl/layout.ts";
import { frameAt, laterFrame, unfold } from "./frames.ts";

const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** What the bytes of a log say, read in the plainest way. */
export interface ReferenceLog {
  /** The first line. */
  readonly header: string | undefined;
  /** The lines behind it, one after the other, up to the first place where the file is not as it should be. */
  readonly lines: readonly string[];
  /** Where that is; the size of a file that is whole lines of UTF-8 from its beginning to its end. */
  readonly end: number;
}

export function readReference(bytes: Buffer, encoding: Encoding): ReferenceLog {
  return encoding === "zstd" ? readFrames(bytes) : readLines(bytes);
}

function readFrames(bytes: Buffer): ReferenceLog {
  const lines: string[] = [];
  let hasHeader = false;
  let at = 0;
  while (at < bytes.length) {
    const frame = frameAt(bytes, at);
    const content = frame === undefined ? undefined : unfold(bytes, frame);
    if (frame === undefined || content === undefined) break;
    const whole = linesOf(content);
    // The first frame holds the header alone.
    if (at === 0) hasHeader = whole.isWhole && whole.lines.length === 1;
    lines.push(...whole.lines);
    if (!whole.isWhole) break;
    at = frame.end;
  }
  const [header, ...rest] = lines;
  return { header: hasHeader ? header : undefined, lines: rest, end: at };
}

function readLines(bytes: Buffer): ReferenceLog {
  const start = bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0;
  const { lines, end } = linesOf(bytes.subarray(start));
  const [header, ...rest] = lines;
  return { header, lines: rest, end: start + end };
}

function linesOf(content: Buffer): {
  readonly lines: string[];
  readonly end: number;
  readonly isWhole: boolean;
} {
  const lines: string[] = [];
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let at = 0;
  while (at < content.length) {
    const newline = content.indexOf(NEWLINE, at);
    if (newline < 0) break;
    try {
      lines.push(decoder.decode(content.subarray(at, newline)));
    } catch {
      break;
    }
    at = newline + 1;
  }
  return { lines, end: at, isWhole: at === content.length && content.length > 0 };
}

/** Why a log that is called torn at `end` is not: something behind it was written as a whole. */
export function notTorn(bytes: Buffer, encoding: Encoding, end: number): string | undefined {
  if (encoding === "zstd") {
    const later = laterFrame(bytes, end + 1);
    return later === undefined ? undefined : `a sound frame begins at ${later}`;
  }
  const later = bytes.subarray(end).toString("latin1").split("\n").slice(1, -1);
  return later.some(isTurnEnd) ? "a later line is a turn/end" : undefined;
}

/** @param line its bytes, as Latin-1 */
function isTurnEnd(line: string): boolean {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      Buffer.from(line, "latin1"),
    );
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && "type" in value && value.type === "turn/end";
  } catch {
    return false;
  }
}
