import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { NearIds } from "../../src/cli/sessions/near-ids.ts";
import { editDistance } from "../../src/host/nearest-name.ts";

function hintFor(given: string, ids: Iterable<string>): string | undefined {
  const near = new NearIds(given);
  for (const id of ids) near.look(id);
  return near.hint;
}

const IDS = ["session-1", "session-2", "milk", "0f9d1c52-7c1b-4d0e-9a55-1f2e3d4c5b6a"];

describe("of an id that no session has", () => {
  test.each([
    ["sesion-1", "Did you mean session-1?"],
    ["SESSION-2", "Did you mean session-2?"],
    ["session-3", "Did you mean session-1 or session-2?"],
    ["mikl", "Did you mean milk?"],
    ["sessino-1", "Did you mean session-1?"],
    ["mlk", "Did you mean milk?"],
    ["butter", undefined],
    ["x", undefined],
    ["xy", undefined],
  ])("%s: those are named that are as it is but for a letter of three", (given, hint) => {
    expect(hintFor(given, IDS)).toBe(hint);
  });

  test.each([
    ["0f9e1c52", "Did you mean 0f9d1c52-7c1b-4d0e-9a55-1f2e3d4c5b6a?"],
    ["0F9D", "Did you mean 0f9d1c52-7c1b-4d0e-9a55-1f2e3d4c5b6a?"],
    ["sesion", "Did you mean session-1 or session-2?"],
    ["0f9e", undefined],
  ])("%s: those whose beginning is near, where no whole one is", (given, hint) => {
    expect(hintFor(given, IDS)).toBe(hint);
  });

  test("three are named at most, each once, the nearest alone, in one order", () => {
    const many = Array.from({ length: 50 }, (_, k) => `session-${k}`);
    expect(hintFor("session-x", many)).toBe("Did you mean session-0, session-1 or session-2?");
    expect(hintFor("session-x", many.toReversed())).toBe(hintFor("session-x", many));
    expect(hintFor("sesion-49", [...many, ...many])).toBe("Did you mean session-49?");
  });

  test("what they hold is shown and not sent, and a long one is cut", () => {
    expect(hintFor("session", ["sess\nion", "sessi\u001bon"])).toBe(
      "Did you mean sess\\u000aion or sessi\\u001bon?",
    );
    expect(hintFor("x".repeat(200), [`${"x".repeat(200)}y`])).toBe(`Did you mean ${"x".repeat(100)}…?`);
  });
});

test("a distance is the same with a limit as without, up to the limit", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 8 });
  const property = fc.property(word, word, fc.nat({ max: 6 }), (from, to, limit) => {
    expect(editDistance(from, to, limit)).toBe(Math.min(editDistance(from, to), limit));
    expect(editDistance(from, to)).toBe(editDistance(to, from));
  });
  fc.assert(property);
});
