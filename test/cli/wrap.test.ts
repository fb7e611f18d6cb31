import { describe, expect, test } from "bun:test";
import { hanging } from "../../src/cli/wrap.ts";

describe("a line of Holdfast's own", () => {
  test("is broken between words, and goes on indented", () => {
    expect(hanging("one two three four", 9, "  ")).toBe("one two\n  three\n  four");
    expect(hanging("one two three", undefined, "  ")).toBe("one two three");
    expect(hanging("one two", 80, "  ")).toBe("one two");
  });

  test("has words that are too wide whole, on lines of their own", () => {
    const path = `/a/${"b".repeat(30)}`;
    expect(hanging(`where: ${path} is it`, 12, "  ")).toBe(`where:\n  ${path}\n  is it`);
    expect(hanging(path, 12, "  ")).toBe(path);
    expect(hanging(`  ${path} x`, 12, "  ")).toBe(`  ${path}\n  x`);
  });
});
