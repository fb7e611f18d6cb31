import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { StreamedWrap } from "../../src/cli/conversation/streamed-wrap.ts";
import { graphemes } from "../../src/cli/sessions/shorten.ts";

/** What comes out of these pieces, after each of them and at the end. */
function wrapped(pieces: readonly string[], columns = 10): string[] {
  const lines = new StreamedWrap(() => columns);
  return [...pieces.map((piece) => lines.push(piece)), lines.end()];
}

/** Text as models write it, and as nobody should. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        " ",
        "  ",
        "\n",
        "\t",
        "```",
        "\n```ts\n",
        "\u00a0",
        "漢字",
        "。",
        "「",
        "👨‍👩‍👧",
        "🧑🏽‍❤️‍💋‍🧑🏿",
        "❤️",
        "🇩🇪",
        "🇫🇷🇩",
        "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
        "1️⃣",
        "\u200d",
        "e\u0301",
        "\u0301\u0327",
        "\u0301".repeat(300),
        "각",
        "שלום",
      ),
      fc.stringMatching(/^[a-z.,-]{1,12}$/),
      fc.string({ unit: "grapheme", maxLength: 4 }),
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(""));

/** A text cut anywhere but within a character of Unicode. */
const pieces = fc.tuple(text, fc.array(fc.nat(200))).map(([whole, cuts]) => {
  const points = Array.from(whole);
  const ends = [...new Set([...cuts.map((cut) => Math.min(cut, points.length)), points.length])];
  let from = 0;
  return ends
    .toSorted((x, y) => x - y)
    .map((end) => {
      const piece = points.slice(from, end).join("");
      from = end;
      return piece;
    });
});

/** Whether a text is another one with line breaks put in. */
function isBroken(broken: string, whole: string): boolean {
  let at = 0;
  for (const unit of broken) {
    if (whole.startsWith(unit, at)) at += unit.length;
    else if (unit !== "\n") return false;
  }
  return at === whole.length;
}

describe("an answer while it comes", () => {
  test("loses nothing, however it is cut and the window is resized; only breaks are put in", () => {
    fc.assert(
      fc.property(pieces, fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }), (given, widths) => {
        let asked = 0;
        const lines = new StreamedWrap(() => widths[asked++ % widths.length] ?? 80);
        const shown = given.map((piece) => lines.push(piece)).join("") + lines.end();
        expect(isBroken(shown, given.join(""))).toBe(true);
      }),
    );
  });

  test("is broken within no character, as a person counts these, however it is cut", () => {
    fc.assert(
      fc.property(pieces, fc.integer({ min: 1, max: 20 }), (given, columns) => {
        const whole = given.join("");
        const borders = new Set([...graphemes(whole)].map(({ index }) => index));
        let at = 0;
        for (const unit of wrapped(given, columns).join("")) {
          if (whole.startsWith(unit, at)) at += unit.length;
          else expect(borders).toContain(at);
        }
      }),
      { numRuns: 300 },
    );
    const family = Array.from("한❤️ aaaaaaaaa👨‍👩‍👧」");
    for (const size of [1, 2, 3, 20]) {
      const cut = family.flatMap((_, k) => (k % size === 0 ? [family.slice(k, k + size).join("")] : []));
      expect(wrapped(cut, 7).join("")).toContain("👨‍👩‍👧」");
    }
  });

  test("has no line that is too long, but for code and words that are", () => {
    const words = fc.array(
      fc.oneof(fc.stringMatching(/^[a-z]{1,9}$/), fc.constantFrom("漢字漢字", "👍", "漢。")),
    );
    fc.assert(
      fc.property(words, fc.integer({ min: 1, max: 7 }), (list, size) => {
        const points = Array.from(list.join(" "));
        const given = points.flatMap((_, k) => (k % size === 0 ? [points.slice(k, k + size).join("")] : []));
        const lines = wrapped(given).join("").split("\n");
        for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(10);
        // Nor is one broken too early: the next word would not fit.
        for (const [k, line] of lines.entries()) {
          const [next = ""] = /^(?:[a-z]+|[^a-z]{1,2})/u.exec(lines[k + 1] ?? "") ?? [];
          if (next !== "") expect(Bun.stringWidth(line + next)).toBeGreaterThanOrEqual(10);
        }
      }),
    );
  });

  test("is shown word by word, and a word that is longer than a line as it comes", () => {
    expect(wrapped(["Hel", "lo ", "my wor", "ld\n", "!"])).toEqual([
      "",
      "Hello ",
      "my ",
      "\nworld\n",
      "",
      "!",
    ]);
    expect(wrapped(["see http", "s://example.org", "/a", "b c"])).toEqual([
      "see ",
      "\nhttps://example.org",
      "/a",
      "b ",
      "c",
    ]);
  });

  test("is broken between wide characters, but before none that closes and behind none that opens", () => {
    expect(wrapped(["漢字漢字漢字"]).join("")).toBe("漢字漢字\n漢字");
    expect(wrapped(["漢字漢字。「漢字」"]).join("")).toBe("漢字漢\n字。「漢\n字」");
    // The last character may go on.
    expect(wrapped(["👨", "‍👩", "‍👧", "漢"])).toEqual(["", "", "", "👨‍👩‍👧", "漢"]);
  });

  test("leaves indented words and lines of code to the terminal", () => {
    const code = "So:\n```sh\nfor x in a b c d e f; do\n```\n";
    expect(wrapped([code]).join("")).toBe(code);
    expect(wrapped([`${code}one two three`]).join("")).toBe(`${code}one two \nthree`);
    expect(wrapped(["        word"]).join("")).toBe("        word");
    // A fence within a line is text.
    expect(wrapped(["So: ```js is it\n"]).join("")).toBe("So: ```js \nis it\n");
  });
});
