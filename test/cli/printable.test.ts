import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { PrintablePieces, printable, printableLine } from "../../src/cli/printable.ts";

describe("text of a log on a terminal", () => {
  test("keeps what can be read as it is", () => {
    const text = "Größe 10 × 12\n\t„naïve“ 日本 👩‍👩‍👧 \u{1f1e9}\u{1f1ea} \\u001b";
    expect(printable(text)).toBe(text);
  });

  test("shows what would steer the terminal as escapes", () => {
    expect(printable("\u001b[2J\u0007\u0000\b\u007f\u009b31m")).toBe(
      "\\u001b[2J\\u0007\\u0000\\u0008\\u007f\\u009b31m",
    );
  });

  test("shows what would turn the direction of the text, or break a line unseen, as escapes", () => {
    for (const character of "\u200e\u200f\u202a\u202e\u2066\u2069\u061c\u2028\u2029\u0085") {
      expect(printable(`a${character}b`)).toMatch(/^a\\u[0-9a-f]{4}b$/);
    }
  });

  test("shows what is not seen as escapes, but for what shapes the characters beside it", () => {
    for (const hidden of "\u00ad\u034f\u180e\u200b\u200c\u200d\u2060\u2064\u3164\ufeff\ufff9\ufffb") {
      expect(printable(`a${hidden}b`)).toMatch(/^a\\u[0-9a-f]{4}b$/);
    }
    expect(printable("a\u{e0041}")).toBe("a\\udb40\\udc41");
    const shaped =
      "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0915\u094d\u200d\u0937 \u2764\ufe0f\u200d\u{1f525}";
    expect(printable(shaped)).toBe(shaped);
  });

  test("shows half a character as an escape, and whole ones as they are", () => {
    expect(printable("\ud83d \u{1f95b} \udc00")).toBe("\\ud83d \u{1f95b} \\udc00");
  });

  test("breaks its lines in one way", () => {
    expect(printable("a\r\nb\nc\rd")).toBe("a\nb\nc\\u000dd");
  });

  test("fits one line where it must", () => {
    expect(printableLine("a\r\nb\tc")).toBe("a\\u000d\\u000ab\\u0009c");
  });
});

describe("a text in pieces", () => {
  test("is shown as the whole of it would be, wherever it is cut", () => {
    const part = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(
        "\r\n",
        "\r",
        "\u001b[31m",
        "\ud83d",
        "\udc00",
        "\u200d",
        "\u200c",
        "\u0645",
        "\u2764\ufe0f",
        "\u{1f525}",
      ),
    );
    fc.assert(
      fc.property(fc.array(part), fc.array(fc.nat(3)), (parts, lengths) => {
        const text = parts.join("");
        const pieces = new PrintablePieces();
        let shown = "";
        let at = 0;
        for (const length of [...lengths, text.length]) {
          shown += pieces.push(text.slice(at, at + length));
          at += length;
        }
        expect(shown + pieces.end()).toBe(printable(text));
      }),
    );
  });
});
