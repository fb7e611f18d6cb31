import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { excerptOf } from "../../../src/session/search/excerpt.ts";
import { fold } from "../../../src/session/search/fold.ts";
import { patternMatcher, textMatcher } from "../../../src/session/search/matcher.ts";
import { TermSet, termsOf } from "../../../src/store/search/terms.ts";
import { oddString } from "../../fixtures/arbitraries.ts";

const LETTERS = fc.constantFrom(
  "İ",
  "ı",
  "I",
  "i",
  "ß",
  "ẞ",
  "SS",
  "K",
  "k",
  "Σ",
  "σ",
  "ς",
  "Å",
  "A\u030a",
  "𐐀",
  "𐐨",
  "\0",
);
const text = fc.array(fc.oneof(LETTERS, oddString(2)), { maxLength: 8 }).map((pieces) => pieces.join(""));

describe("folding", () => {
  test("keeps every character at its place, whatever stands beside it, in the planes that have letters", () => {
    const faults: string[] = [];
    for (let code = 0; code <= 0x1ffff; code += 1) {
      const character = String.fromCodePoint(code);
      const alone = fold(character);
      if (
        alone.length !== character.length ||
        fold(`A${character}B `) !== `a${alone}b ` ||
        fold(alone) !== alone
      )
        faults.push(code.toString(16));
    }
    expect(faults).toEqual([]);
  });

  test.each([
    ["ΟΔΥΣΣΕΥΣ", "οδυσσευς"],
    ["İstanbul", "istanbul"],
    ["\u212aelvin", "kelvin"],
    ["STRAẞE", "straße"],
    ["𐐀", "𐐨"],
  ])("makes %s and %s equal", (left, right) => {
    expect(fold(left)).toBe(fold(right));
  });
});

describe("a text is found", () => {
  test("where its folded form stands in that of the text, and at that place in the text itself", () => {
    fc.assert(
      fc.property(text, text, text, fc.boolean(), (before, wanted, after, isCaseSensitive) => {
        fc.pre(wanted !== "");
        const searched = before + (isCaseSensitive ? wanted : wanted.toUpperCase()) + after;
        const found = textMatcher(wanted, isCaseSensitive).find(searched);
        const same = (one: string) => (isCaseSensitive ? one : fold(one));
        if (isCaseSensitive || fold(wanted.toUpperCase()) === fold(wanted)) expect(found).toBeDefined();
        if (found === undefined) return;
        expect(same(searched.slice(found.at, found.at + found.length))).toBe(same(wanted));
        expect(same(searched).indexOf(same(wanted))).toBe(found.at);
      }),
    );
  });

  test("by the index wherever it stands: its terms are among those of all texts that hold it", () => {
    const terms = new TermSet();
    fc.assert(
      fc.property(text, text, text, fc.boolean(), (before, wanted, after, isCaseSensitive) => {
        fc.pre(wanted !== "");
        const matcher = textMatcher(wanted, isCaseSensitive);
        const searched = before + wanted + after;
        terms.add(searched);
        const held = new Set(terms.take().split(" "));
        if (matcher.needle === undefined) return;
        expect(termsOf(matcher.needle).filter((term) => !held.has(term))).toEqual([]);
      }),
    );
    expect(termsOf("ab")).toEqual([]);
    expect(termsOf("x".repeat(9))).toHaveLength(1);
  });

  test("by few terms, however long it is", () => {
    const long = Array.from({ length: 2_000 }, (_, k) => `${k} `).join("");
    expect(termsOf(long).length).toBeLessThanOrEqual(40);
    expect(termsOf(long).length).toBeGreaterThan(20);
  });
});

describe("a pattern matches", () => {
  test.each([
    ["in any case", "mi+lk", "the MIILK", { at: 4, length: 5 }],
    ["at each line", "^b$", "a\nb\nc", { at: 2, length: 1 }],
    ["something only", "x*", "a🦀xx", { at: 3, length: 2 }],
    ["whole characters", "^.$", "🦀", { at: 0, length: 2 }],
    ["nothing where there is nothing", "x*", "abc", undefined],
  ])("%s", (_, source, searched, found) => {
    expect(patternMatcher(source, false).find(searched)).toEqual(found);
  });

  test("from the beginning of each text", () => {
    const matcher = patternMatcher("b", true);
    expect([matcher.find("ab"), matcher.find("ab"), matcher.find("B")]).toEqual([
      { at: 1, length: 1 },
      { at: 1, length: 1 },
      undefined,
    ]);
  });
});

describe("an excerpt", () => {
  const family = "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}";
  const room = { before: 3, match: 4, after: 3 };

  test("is all there is where there is room for it", () => {
    expect(excerptOf("xaby", { at: 1, length: 2 }, room)).toEqual({ before: "x", match: "ab", after: "y" });
  });

  test("is cut between characters, and says so", () => {
    const searched = `${family.repeat(5)}abcdef${family.repeat(5)}`;
    const match = { at: family.length * 5, length: 6 };
    expect(excerptOf(searched, match, room)).toEqual({
      before: `…${family.repeat(3)}`,
      match: "abcd…",
      after: `${family.repeat(3)}…`,
    });
  });

  test("never holds more than there is room for, nor text that is not there", () => {
    const wide = (character: string) => Bun.stringWidth(character);
    fc.assert(
      fc.property(text, oddString(), text, (before, match, after) => {
        const found = excerptOf(
          before + match + after,
          { at: before.length, length: match.length },
          room,
          wide,
        );
        expect(before.endsWith(found.before.replace(/^…/, ""))).toBe(true);
        expect(match.startsWith(found.match.replace(/…$/, ""))).toBe(true);
        expect(after.startsWith(found.after.replace(/…$/, ""))).toBe(true);
        expect(wide(found.match.replace(/…$/, ""))).toBeLessThanOrEqual(room.match);
      }),
    );
  });
});
