import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Hit, hitText } from "../../src/cli/sessions/search/search-text.ts";
import { oddString } from "../fixtures/arbitraries.ts";

function hit(text: string, match: string, more: { readonly id?: string; readonly tool?: string } = {}): Hit {
  const place = { seq: 1, turn: 1, text };
  const said =
    more.tool === undefined
      ? { ...place, who: "user" as const }
      : { ...place, who: "tool" as const, tool: more.tool, part: "result" as const };
  const at = text.indexOf(match);
  return { kind: "hit", sessionId: more.id ?? "garden-6", said, match: { at, length: match.length } };
}

const shown = (found: Hit, width: number) => hitText(found, { mark: ["[", "]"], width }).trimEnd();
const HEAD = "garden-6  seq 1  turn 1  user  ";
const LONG =
  "one two three four five six seven eight nine ten milk one two three four five six seven eight nine";

describe("a hit on a terminal", () => {
  test("is shown whole where there is room for it", () => {
    const text = "Where are the tomatoes\n  in bed 6, please?";
    expect(shown(hit(text, "tomatoes"), 80)).toBe(`${HEAD}Where are the [tomatoes] in bed 6, please?`);
    expect(shown(hit(LONG, "milk"), 140)).toContain(LONG.replace("milk", "[milk]"));
  });

  test("fills the line, and one side has what the other one leaves", () => {
    // The marks stand for what has no width.
    const widthAt = (text: string, match: string, width: number) =>
      Bun.stringWidth(shown(hit(text, match), width)) - 2;
    for (const width of [60, 80, 100]) expect(widthAt(LONG, "milk", width)).toBe(width);
    for (const match of ["one two", "nine ten"]) expect(widthAt(LONG, match, 80)).toBe(80);
    expect(shown(hit(LONG, "one"), 80)).toStartWith(`${HEAD}[one] two three`);
    expect(shown(hit(`${LONG}.`, "nine."), 80)).toEndWith("eight [nine.]");
    expect(shown(hit(LONG, "milk"), 80)).toMatch(/ …[a-z ]+\[milk\][a-z ]+…$/);
  });

  test("tells less of its place on a narrow terminal, and stays one line", () => {
    const found = hit(LONG, "milk", { id: "0d5c2a1e-77aa-4bd0", tool: "search_text" });
    expect(shown(found, 100)).toStartWith("0d5c2a1e-77aa-4bd0  seq 1  turn 1  tool search_text result  …");
    expect(shown(found, 72)).toStartWith("0d5c2a1e…  seq 1  tool search_text result  …");
    expect(shown(found, 50)).toStartWith("0d5c2a1e…  seq 1  tool  …");
  });

  test("keeps text that runs from right to left from turning the rest around, and shows turns as escapes", () => {
    expect(shown(hit("יש חלב milk", "milk", { id: "שלום" }), 80)).toBe(
      "\u2068שלום\u2069  seq 1  turn 1  user  \u2068יש חלב [milk]\u2069",
    );
    expect(shown(hit("a\u202emilk", "milk"), 80)).toBe(`${HEAD}a\\u202e[milk]`);
    // Programs get the text alone.
    expect(hitText(hit("חלב milk", "milk"), { mark: ["", ""], width: undefined })).toBe(`${HEAD}חלב milk\n`);
  });

  test("is never wider than the terminal, and holds the match or its beginning", () => {
    const parts = fc.tuple(oddString(), fc.stringMatching(/^[a-z]{1,90}$/), oddString());
    fc.assert(
      fc.property(parts, fc.integer({ min: 30, max: 120 }), ([before, match, after], width) => {
        const text = `${before}${match}${after}`;
        const found = hit(text, match);
        const line = hitText(
          { ...found, match: { ...found.match, at: before.length } },
          { mark: ["", ""], width },
        );
        expect(line).toEndWith("\n");
        expect(Bun.stringWidth(line.slice(0, -1))).toBeLessThanOrEqual(width);
        expect(line).toContain(match.slice(0, Math.min(match.length, 5)));
      }),
      // What follows has no width.
      { examples: [[["\\u0041\ud800", "aaaa", "\ufe00"], 30]] },
    );
  });
});
