import { describe, expect, test } from "bun:test";

/* The checksums of rows are over UTF-8 bytes; a string in memory has several forms, and all must give the same. */

function rope(pieces: readonly string[]): string {
  let text = "";
  for (let k = 0; k < 50; k += 1) text += `${pieces[k % pieces.length]}${k}`;
  return text;
}

const TEXTS: ReadonlyArray<readonly [string, string]> = [
  ["ASCII", "hello"],
  ["Latin-1", "h\u00e9llo \u00ff"],
  ["CJK", "漢字 \u00e9"],
  ["emoji", "\u{1f980}\u{1f468}\u200d\u{1f469}"],
  ["a rope of Latin-1", rope(["\u00e9"])],
  ["a rope of both", rope(["\u00e9", "漢"])],
  ["a Latin-1 slice of a two-byte string", "漢字\u00e9bc".slice(2)],
  ["an ASCII slice of a two-byte string", "漢字abc".slice(2)],
  ["a large text", "\u00e9".repeat(300_000)],
  ["nothing", ""],
];

describe("crc32 of a string", () => {
  for (const [what, text] of TEXTS) {
    test(`${what}: is the one of its UTF-8 bytes`, () => {
      expect(Bun.hash.crc32(text)).toBe(Bun.hash.crc32(new TextEncoder().encode(text)));
    });
  }

  test("is the CRC-32 that other programs compute", () => {
    expect(Bun.hash.crc32("123456789")).toBe(0xcbf43926);
  });
});
