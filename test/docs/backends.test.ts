import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BROKEN } from "../contract-kit/broken/index.ts";
import { PassThrough } from "../contract-kit/pass-through.ts";
import { codeIn, ROOT, readDocument, tableWith } from "./markdown.ts";

/* docs/backends.md against the hooks, the example and the broken backends. test/contract-kit/outsider.test.ts runs it. */

const page = readDocument("docs/backends.md");

function without(text: string): string {
  return text.replace(/ \(needs \w+\)$/, "");
}

/** Lines without their indentation, which depends on where they stand. */
function linesOf(text: string): string {
  return text
    .trim()
    .split("\n")
    .map((line) => line.trim())
    .join("\n");
}

test("the page is short", () => {
  expect(page.text.trimEnd().split("\n").length).toBeLessThanOrEqual(150);
});

test("the table of hooks has every hook of a backend, and no other", () => {
  const { rows } = tableWith(page, "hook", "what it promises");
  const hooks = Object.getOwnPropertyNames(PassThrough.prototype).filter(
    (name) => name !== "constructor" && name !== "name",
  );
  expect(rows.map(([hook]) => codeIn(hook)[0] ?? "")).toEqual(hooks);
});

test("code that is shown stands in the example", () => {
  const files = ["example-backend.test.ts", "example-file.ts"].map((name) =>
    linesOf(readFileSync(join(ROOT, "test/contract-kit", name), "utf8")),
  );
  const shown = page.blocks.filter(({ language }) => language === "ts");
  expect(shown.length).toBe(2);
  for (const { text, line } of shown) {
    expect(
      files.some((file) => file.includes(linesOf(text))),
      `docs/backends.md:${line}`,
    ).toBe(true);
  }
});

describe("mistakes", () => {
  const { rows } = tableWith(page, "mistake", "seen by");

  test.each(rows.map(([mistake = "", groups = ""]) => [mistake, groups]))(
    "%s: seen by %s",
    (mistake, groups) => {
      const broken = BROKEN.find(({ fault }) => fault === mistake);
      const seenBy = new Set(broken?.caughtBy.map(([group]) => without(group)));
      expect(groups.split(", ").toSorted()).toEqual([...seenBy].toSorted());
    },
  );
});
