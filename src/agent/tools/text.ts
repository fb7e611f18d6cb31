/** Most bytes of text that one tool call returns, notes aside. */
export const MAX_OUTPUT_BYTES = 64 * 1024;

/** A file is taken for binary when a NUL byte stands among its first bytes, as many as this. */
export const SNIFF_BYTES = 8 * 1024;

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
