import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { allDocuments, anchorsOf, headingsOf, linksOf, ROOT, readDocument } from "./markdown.ts";

/* What every page of the documentation keeps to. */

const documents = allDocuments();

test("the README is short", () => {
  expect(readDocument("README.md").text.trimEnd().split("\n").length).toBeLessThanOrEqual(120);
});

describe("links", () => {
  for (const document of documents) {
    test(`of ${document.path} resolve`, () => {
      for (const link of linksOf(document)) {
        if (/^https?:/.test(link)) continue;
        const [file = "", anchor] = link.split("#");
        const path = file === "" ? document.path : join(dirname(document.path), file);
        expect(existsSync(join(ROOT, path)), link).toBeTrue();
        if (anchor !== undefined) expect([...anchorsOf(readDocument(path))], link).toContain(anchor);
      }
    });
  }
});

test("files and folders that are named exist", () => {
  for (const { path, prose } of documents) {
    for (const [, named = ""] of prose.matchAll(/`((?:src|test|docs|scripts|bench)\/[\w./-]*)`/g)) {
      expect(existsSync(join(ROOT, named)), `${path}: ${named}`).toBeTrue();
    }
  }
});

test("pages and headings that the sources refer to exist", () => {
  const sources = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" });
  let references = 0;
  for (const name of sources.filter((path) => path.endsWith(".ts"))) {
    const text = readFileSync(join(ROOT, "src", name), "utf8");
    for (const [reference, page = "", heading] of text.matchAll(/(docs\/[\w/-]+\.md)(?:, "([^"]+)")?/g)) {
      references += 1;
      expect(existsSync(join(ROOT, page)), `src/${name}: ${reference}`).toBeTrue();
      if (heading !== undefined)
        expect([...headingsOf(readDocument(page))], `src/${name}`).toContain(heading);
    }
  }
  expect(references).toBeGreaterThan(0);
});

test("decisions are numbered without gaps and say the same three things", () => {
  const pages = documents.filter(({ path }) => path.startsWith("docs/decisions/"));
  for (const [index, page] of pages.entries()) {
    const number = String(index + 1).padStart(4, "0");
    expect(basename(page.path)).toStartWith(`${number}-`);
    expect(page.text).toStartWith(`# ${number}: `);
    expect([...headingsOf(page)].slice(1)).toEqual(["Question", "What we chose", "What we gave up"]);
    expect(page.text.split("\n").length, page.path).toBeLessThanOrEqual(60);
  }
});

test("no page names a path of one machine or a package registry", () => {
  for (const { path, text } of documents) {
    expect(text, path).not.toMatch(/(?:^|[\s("'`])\/(?:work|tmp|home|root|Users|opt)\//m);
    expect(text, path).not.toMatch(/registry\.|npmjs\.|\bmirror\b/i);
  }
});
