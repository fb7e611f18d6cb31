import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { clip } from "../../src/session/text.ts";
import { oddString } from "../fixtures/arbitraries.ts";

describe("clip", () => {
  test("leaves a text alone that fits", () => {
    expect(clip("abc", 3)).toBe("abc");
    expect(clip("", 0)).toBe("");
  });

  test.each([
    ["plain text", "abcd", 3, "abc…"],
    ["a surrogate pair", "ab\u{1f980}", 3, "ab…"],
    ["an emoji of several code points", "a\u{1f468}\u200d\u{1f469}\u200d\u{1f467}b", 5, "a…"],
    ["a flag", "\u{1f1e9}\u{1f1ea}\u{1f1eb}\u{1f1f7}", 6, "\u{1f1e9}\u{1f1ea}…"],
    ["a letter with its accent", "e\u0301e\u0301", 3, "e\u0301…"],
  ])("never cuts inside %s", (_name, text, max, expected) => {
    expect(clip(text, max)).toBe(expected);
  });

  test("gives at most the asked length and an ellipsis, and a beginning of the text", () => {
    fc.assert(
      fc.property(oddString(), fc.nat(20), (text, max) => {
        const cut = clip(text, max);
        if (text.length <= max) return cut === text;
        return cut.endsWith("…") && cut.length <= max + 1 && text.startsWith(cut.slice(0, -1));
      }),
    );
  });

  test("makes no half of a pair where the text had whole ones", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.nat(20), (text, max) => clip(text, max).isWellFormed()),
    );
  });
});
