import { boundary, sniff } from "./text.ts";
import { type OpenedFile, readBlock } from "./workspace.ts";

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
  file: OpenedFile,
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
    const bytesRead = await readBlock(file, buffer.subarray(0, wanted), bytes);
    if (bytesRead === 0) break;
    const block = buffer.subarray(0, bytesRead);
    if (bytes === 0 && sniff(block) !== "text") {
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
  /** Whether the line began before `#rest` does. */
  #isMiddle = false;

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
      this.#check(buffer.slice(start, end), false);
      start = end + 1;
      this.#line += 1;
      this.#isReported = false;
      this.#isMiddle = false;
    }
    this.#rest = buffer.slice(start);
    if (this.#rest.length <= MAX_LINE) return;
    this.#check(this.#rest, true);
    // Twice the text and a little, since a change of case can change the length.
    const overlap = this.#search.text.length * 2 + 8;
    this.#rest = this.#rest.slice(boundary(this.#rest, this.#rest.length - overlap));
    this.#isMiddle = true;
  }

  end(): void {
    if (this.#rest !== "") this.#check(this.#rest, false);
  }

  #check(part: string, goesOn: boolean): void {
    if (this.#isReported || !this.wantsMore) return;
    const at = this.#fold(part).indexOf(this.#needle);
    if (at < 0) return;
    this.#isReported = true;
    const { shown, start, end } = excerpt(part, at, this.#needle.length);
    const text = `${this.#isMiddle || start ? "…" : ""}${shown}${goesOn || end ? "…" : ""}`;
    this.matches.push({ line: this.#line, text });
  }

  #fold(text: string): string {
    return this.#search.caseSensitive ? text : text.toLowerCase();
  }
}

/** The part of a line around a match, cut between characters. `start`, `end`: whether something is left out there. */
function excerpt(line: string, at: number, length: number): { shown: string; start: boolean; end: boolean } {
  const text = line.endsWith("\r") ? line.slice(0, -1) : line;
  if (text.length <= MAX_SHOWN) return { shown: text, start: false, end: false };
  const before = Math.floor(Math.max(0, MAX_SHOWN - length) / 2);
  const start = boundary(text, Math.max(0, Math.min(at - before, text.length - MAX_SHOWN)));
  const end = boundary(text, start + MAX_SHOWN);
  return { shown: text.slice(start, end), start: start > 0, end: end < text.length };
}
