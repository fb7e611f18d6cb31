/** Most bytes of text that one tool call returns, notes aside. */
export const MAX_OUTPUT_BYTES = 64 * 1024;

/** A file is taken for binary when a NUL byte stands among its first bytes, as many as this. */
const SNIFF_BYTES = 8 * 1024;

/** What a file seems to hold, judged by its first {@link SNIFF_BYTES}. */
export function sniff(block: Uint8Array): "text" | "utf-16" | "binary" {
  // No UTF-8 begins like these byte order marks.
  const mark = ((block[0] ?? 0) << 8) | (block[1] ?? 0);
  if (mark === 0xfffe || mark === 0xfeff) return "utf-16";
  return block.subarray(0, SNIFF_BYTES).includes(0) ? "binary" : "text";
}

/** `bytes` without an incomplete UTF-8 character at its end, so that a cut never splits one. */
export function trimPartial(bytes: Uint8Array): Uint8Array {
  // A character has at most 4 bytes, so that its first one is among the last 3 if it is cut.
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0x80 && byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

// Control characters, line ends of any kind, and what turns the direction of writing.
const UNSEEN = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** Whether a text stands on one line and shows all that it holds. */
export function isPlainLine(text: string): boolean {
  return !UNSEEN.test(text);
}

/** A text as a JSON string on one line, with all that cannot be seen escaped. */
export function quote(text: string): string {
  return JSON.stringify(text).replace(
    new RegExp(UNSEEN, "gu"),
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** `count` with its noun: `1 file`, `2 files`. */
export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : many}`;
}

/** A result's body, with notes about what it leaves out in brackets below a blank line. */
export function withNotes(body: string, notes: readonly string[]): string {
  if (notes.length === 0) return body;
  const gap = body === "" ? "" : body.endsWith("\n") ? "\n" : "\n\n";
  return `${body}${gap}[${notes.join(" ")}]`;
}

// Longer than any character of a language. What is longer is cut where it must be.
const LONGEST_CHARACTER = 64;
let characters: Intl.Segmenter | undefined;

/** The beginning of `text`: at most `maxBytes` of UTF-8, cut between characters and never inside one. */
export function cutBytes(text: string, maxBytes: number): string {
  const { read } = new TextEncoder().encodeInto(text.slice(0, maxBytes), new Uint8Array(maxBytes));
  // A slice that ends inside a surrogate pair ends with what counts as a lone surrogate.
  const end = boundary(text, read);
  if (end >= text.length) return text;
  const from = boundary(text, Math.max(0, end - LONGEST_CHARACTER));
  characters ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  const at = characters.segment(text.slice(from, end + LONGEST_CHARACTER)).containing(end - from)?.index ?? 0;
  return text.slice(0, at === 0 ? end : from + at);
}

/** `at`, or one less where it would fall inside a surrogate pair. */
export function boundary(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  const previous = text.charCodeAt(at - 1);
  return unit >= 0xdc00 && unit <= 0xdfff && previous >= 0xd800 && previous <= 0xdbff ? at - 1 : at;
}
