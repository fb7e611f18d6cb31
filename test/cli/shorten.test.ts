import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { grouped } from "../../src/cli/counted.ts";
import { amountOf, characters, fitting, shortened } from "../../src/cli/sessions/shorten.ts";
import { wrapped } from "../../src/cli/wrap.ts";

/** Characters of one and of several code points, of no and of two columns, and line ends. */
const PIECES = [
  "a",
  "Z",
  " ",
  "\n",
  "é",
  "e\u0301",
  "漢",
  "ا",
  "\u{1F44B}\u{1F3FD}",
  "👨‍👩‍👧",
  "🇫🇷",
  "\u{20BB7}",
  "\t",
];
const TEXT = fc.array(fc.constantFrom(...PIECES), { maxLength: 400 }).map((pieces) => pieces.join(""));
const MOST = fc.record({ lines: fc.integer({ min: 1, max: 12 }), length: fc.integer({ min: 10, max: 300 }) });

function borders(text: string): Set<number> {
  const segments = new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text);
  return new Set([...Array.from(segments, ({ index }) => index), text.length]);
}

describe("a text that is shortened", () => {
  test("is head, middle and tail, cut between characters, and what is kept has no more than may be", () => {
    fc.assert(
      fc.property(TEXT, MOST, (text, most) => {
        const short = shortened(text, most);
        if (short === undefined) return;
        const { head, middle, tail } = short;
        expect(head + middle + tail).toBe(text);
        const all = borders(text);
        expect([all.has(head.length), all.has(head.length + middle.length)]).toEqual([true, true]);
        expect(head.length + tail.length).toBeLessThanOrEqual(most.length);
        const kept = head.replace(/\n$/, "").split("\n").length + (tail === "" ? 0 : tail.split("\n").length);
        expect(kept).toBeLessThanOrEqual(most.lines + 1);
        expect(middle.length).toBeGreaterThan(0);
      }),
      { numRuns: 500 },
    );
  });

  test("is left whole where it is short, or where next to nothing would be left out", () => {
    const lines = (count: number) => Array.from({ length: count }, (_, k) => `line ${k}`).join("\n");
    expect(shortened(lines(6), { lines: 6, length: 100 })).toBeUndefined();
    expect(shortened(lines(7), { lines: 6, length: 100 })).toBeUndefined();
    expect(shortened(lines(9), { lines: 6, length: 100 })).toEqual({
      head: "line 0\nline 1\nline 2\nline 3\n",
      middle: "line 4\nline 5\nline 6\n",
      tail: "line 7\nline 8",
    });
    expect(shortened("x".repeat(1_000), { lines: 6, length: 300 })).toMatchObject({
      head: "x".repeat(200),
      tail: "x".repeat(100),
    });
  });

  test("says how much is left out, in lines and characters", () => {
    expect(amountOf("a\nb\n")).toBe("2 lines, 4 characters");
    expect(amountOf("\u{1F44B}")).toBe("1 character");
    expect(amountOf("x".repeat(1_234_567))).toBe("1,234,567 characters");
    expect([grouped(0), grouped(999), grouped(1_000)]).toEqual(["0", "999", "1,000"]);
    expect(characters("a\ud800b\u{1F44B}")).toBe(4);
  });
});

test("what fits into columns ends between characters, and is as much as fits", () => {
  fc.assert(
    fc.property(TEXT, fc.nat(40), (text, columns) => {
      const line = text.replaceAll(/[\n\t]/g, "");
      const kept = fitting(line, columns);
      expect(line.startsWith(kept)).toBe(true);
      expect(borders(line).has(kept.length)).toBe(true);
      expect(Bun.stringWidth(kept)).toBeLessThanOrEqual(columns);
      if (kept !== line) expect(Bun.stringWidth(kept)).toBeGreaterThanOrEqual(columns - 1);
    }),
  );
});

describe("a line that is wrapped", () => {
  test("has all of its characters but spaces at breaks, none of them split, and no line is too wide", () => {
    fc.assert(
      fc.property(TEXT, fc.integer({ min: 2, max: 30 }), (text, columns) => {
        const line = text.replaceAll(/[\n\t]/g, "");
        const lines = wrapped(line, columns);
        for (const part of lines) expect(Bun.stringWidth(part)).toBeLessThanOrEqual(columns);
        const words = (value: string) => value.replaceAll(" ", "");
        expect(words(lines.join(""))).toBe(words(line));
        const parts = lines.flatMap((part) => [...new Intl.Segmenter().segment(words(part))]);
        expect(parts.length).toBe([...new Intl.Segmenter().segment(words(line))].length);
      }),
    );
  });

  test("is broken between words where it can be, and keeps how far it is indented", () => {
    expect(wrapped("one two  three", 8)).toEqual(["one two", "three"]);
    expect(wrapped("    deep in code", 9)).toEqual(["    deep", "in code"]);
    expect(wrapped("漢字漢字", 5)).toEqual(["漢字", "漢字"]);
    expect(wrapped("a\tb", 20)).toEqual(["a       b"]);
    expect(wrapped("", 20)).toEqual([""]);
  });
});
