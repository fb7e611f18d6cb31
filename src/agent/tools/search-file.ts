import type { FileHandle } from "node:fs/promises";
import { SNIFF_BYTES } from "./text.ts";

/** A line that holds the text. `text` is the part of the line around it. */
export interface LineMatch {
  readonly line: number;
  readonly text: string;
}

export interface FileSearch {
  readonly text: string;
  readonly caseSensitive: boolean;
  /** Bytes to read at most. */
  readonly maxBytes: number;
  readonly maxMatches: number;
}

/** What one file held. Each line is reported once. */
export interface FileMatches {
  readonly matches: readonly LineMatch[];
  /** Bytes read. */
  readonly bytes: number;
  readonly isBinary: boolean;
}

/** Most UTF-16 units of a line that are shown. */
export const MAX_SHOWN = 200;

// A longer line is searched in parts.
const MAX_LINE = 64 * 1024;
const BLOCK_BYTES = 64 * 1024;

/** Searches one open file, block by block. Each block waits for the disk, so that the event loop stays live. */
export async function searchFile(
  handle: FileHandle,
  search: FileSearch,
  signal: AbortSignal,
): Promise<FileMatches> {
  const matcher = new LineMatcher(search);
  const decoder = new TextDecoder("utf-8");
  const buffer = new Uint8Array(BLOCK_BYTES);
  let bytes = 0;
  while (bytes < search.maxBytes && matcher.wantsMore) {
    signal.throwIfAborted();
    const wanted = Math.min(BLOCK_BYTES, search.maxBytes - bytes);
    const { bytesRead } = await handle.read(buffer, 0, wanted, bytes);
    if (bytesRead === 0) break;
    const block = buffer.subarray(0, bytesRead);
    if (bytes === 0 && block.subarray(0, SNIFF_BYTES).includes(0)) {
      return { matches: [], bytes: bytesRead, isBinary: true };
    }
    bytes += bytesRead;
    matcher.add(decoder.decode(block, { stream: true }));
  }
  matcher.add(decoder.decode());
  matcher.end();
  return { matches: matcher.matches, bytes, isBinary: false };
}

/** Finds a text in lines that arrive in pieces. A very long line is searched in overlapping parts. */
class LineMatcher {
  readonly matches: LineMatch[] = [];
  readonly #search: FileSearch;
  readonly #needle: string;
  #line = 1;
  #rest = "";
  #isReported = false;

  constructor(search: FileSearch) {
    this.#search = search;
    this.#needle = this.#fold(search.text);
  }

  get wantsMore(): boolean {
    return this.matches.length < this.#search.maxMatches;
  }

  add(text: string): void {
    const buffer = this.#rest + text;
    let start = 0;
    for (let end = buffer.indexOf("\n"); end >= 0; end = buffer.indexOf("\n", start)) {
      this.#check(buffer.slice(start, end));
      start = end + 1;
      this.#line += 1;
      this.#isReported = false;
    }
    this.#rest = buffer.slice(start);
    if (this.#rest.length <= MAX_LINE) return;
    this.#check(this.#rest);
    // Twice the text and a little, since a change of case can change the length.
    const overlap = this.#search.text.length * 2 + 8;
    this.#rest = this.#rest.slice(this.#rest.length - overlap);
  }

  end(): void {
    if (this.#rest !== "") this.#check(this.#rest);
  }

  #check(line: string): void {
    if (this.#isReported || !this.wantsMore) return;
    const at = this.#fold(line).indexOf(this.#needle);
    if (at < 0) return;
    this.#isReported = true;
    this.matches.push({ line: this.#line, text: excerpt(line, at, this.#needle.length) });
  }

  #fold(text: string): string {
    return this.#search.caseSensitive ? text : text.toLowerCase();
  }
}

/** The part of a line around a match, cut between characters, with `…` where something is left out. */
function excerpt(line: string, at: number, length: number): string {
  const text = line.endsWith("\r") ? line.slice(0, -1) : line;
  if (text.length <= MAX_SHOWN) return text;
  const before = Math.floor(Math.max(0, MAX_SHOWN - length) / 2);
  const start = boundary(text, Math.max(0, Math.min(at - before, text.length - MAX_SHOWN)));
  const end = boundary(text, start + MAX_SHOWN);
  return `${start > 0 ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`;
}

/** `at`, or one less where it would fall inside a surrogate pair. */
function boundary(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  const previous = text.charCodeAt(at - 1);
  return unit >= 0xdc00 && unit <= 0xdfff && previous >= 0xd800 && previous <= 0xdbff ? at - 1 : at;
}
