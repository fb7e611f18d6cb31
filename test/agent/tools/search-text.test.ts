import { describe, expect, test } from "bun:test";
import { truncate } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { workspaceTools } from "../../../src/agent/tools/index.ts";
import { ToolRegistry } from "../../../src/agent/tools/registry.ts";
import { MAX_SHOWN } from "../../../src/agent/tools/search-file.ts";
import {
  MAX_HITS,
  MAX_SEARCH_BYTES,
  MAX_SEARCH_MS,
  searchText,
} from "../../../src/agent/tools/search-text.ts";
import { Workspace } from "../../../src/agent/tools/workspace.ts";
import { TestFolder } from "./folder.ts";

const never = () => new AbortController().signal;

async function search(folder: TestFolder, args: object, signal = new AbortController().signal) {
  return new ToolRegistry(workspaceTools(folder.root)).call("search_text", JSON.stringify(args), signal);
}

function hitsOf(text: string): string[] {
  const lines = text.split("\n").slice(1);
  const end = lines.indexOf("");
  return end < 0 ? lines : lines.slice(0, end);
}

describe("search_text", () => {
  test("finds lines in the order of the names, with their paths and numbers", async () => {
    await using folder = await TestFolder.create({
      "b.txt": "nothing\nNeedle here\r\n",
      "a/z.txt": "a needle, a needle\n\nneedle",
      "c.txt": "none",
    });
    expect(await search(folder, { text: "needle" })).toEqual({
      text: '3 lines with "needle" in 2 files; 3 files searched\na/z.txt:1: a needle, a needle\na/z.txt:3: needle\nb.txt:2: Needle here',
      meta: { hits: 3, files: 3, bytes: 51, complete: true },
    });
  });

  test("tells case apart only when it is asked to", async () => {
    await using folder = await TestFolder.create({ f: "Größe\ngröße\n" });
    expect(hitsOf((await search(folder, { text: "GRÖSSE" })).text)).toEqual([]);
    expect(hitsOf((await search(folder, { text: "GRÖẞE" })).text)).toEqual(["f:1: Größe", "f:2: größe"]);
    expect(hitsOf((await search(folder, { text: "größe", caseSensitive: true })).text)).toEqual([
      "f:2: größe",
    ]);
  });

  test("takes the text literally", async () => {
    await using folder = await TestFolder.create({ f: "a.c\nabc\n" });
    expect(hitsOf((await search(folder, { text: "a.c" })).text)).toEqual(["f:1: a.c"]);
  });

  test("says when there is nothing", async () => {
    await using folder = await TestFolder.create({ f: "x" });
    expect((await search(folder, { text: "needle" })).text).toBe("Nothing found; 1 file searched");
  });

  test("searches one file or one folder", async () => {
    await using folder = await TestFolder.create({ "a/f": "needle", "b/f": "needle" });
    expect(hitsOf((await search(folder, { text: "needle", path: "a" })).text)).toEqual(["a/f:1: needle"]);
    expect(hitsOf((await search(folder, { text: "needle", path: "b/f" })).text)).toEqual(["b/f:1: needle"]);
  });

  test("says what it skipped: binary files, links, .git, node_modules, special files", async () => {
    await using folder = await TestFolder.create({
      binary: "needle\0",
      ".git/config": "needle",
      "node_modules/m.js": "needle",
      f: "needle",
    });
    await folder.link("link", "f");
    await folder.link("out", folder.outside);
    Bun.spawnSync(["mkfifo", join(folder.root, "pipe")]);
    const { text } = await search(folder, { text: "needle" });
    expect(hitsOf(text)).toEqual(["f:1: needle"]);
    expect(text).toEndWith(
      "[Skipped: 1 binary file, 2 links, 2 folders named .git or node_modules, 1 entry that could not be read.]",
    );
    expect(hitsOf((await search(folder, { text: "needle", path: ".git" })).text)).toEqual([
      ".git/config:1: needle",
    ]);
  });

  test("the number of hits is bounded, and a search that ended early says so", async () => {
    await using folder = await TestFolder.create({ a: "needle\n".repeat(MAX_HITS), b: "nothing" });
    const exact = await search(folder, { text: "needle" });
    expect(hitsOf(exact.text)).toHaveLength(MAX_HITS);
    expect(exact.meta).toMatchObject({ complete: true });
    await folder.write("b", "needle");
    const more = await search(folder, { text: "needle" });
    expect(hitsOf(more.text)).toHaveLength(MAX_HITS);
    expect(more.text).toContain("[The search ended early, after 100 lines;");
    expect(more.meta).toMatchObject({ complete: false });
  });

  test("the bytes searched are bounded", async () => {
    await using folder = await TestFolder.create({ a: "x".repeat(9000), b: "needle" });
    await truncate(join(folder.root, "a"), MAX_SEARCH_BYTES + 1);
    const { text } = await search(folder, { text: "needle" });
    expect(text).toStartWith("Nothing found; 1 file searched");
    expect(text).toContain("[The search ended early, after 64 MiB;");
  });

  test("a long line is shown around its hit, cut between characters", async () => {
    await using folder = await TestFolder.create({ f: `${"😀".repeat(300)}needle${"😀".repeat(300)}` });
    const [hit = ""] = hitsOf((await search(folder, { text: "needle" })).text);
    expect(hit).toStartWith("f:1: …😀");
    expect(hit).toContain("😀needle😀");
    expect(hit).toEndWith("😀…");
    expect(hit.isWellFormed()).toBe(true);
    expect(hit.length).toBeLessThan(MAX_SHOWN + 10);
  });

  test("a hit late in a very long line is shown whole, with a mark where the line goes on", async () => {
    for (const lead of ["", "x"]) {
      for (let pad = 0; pad < 12; pad += 1) {
        // The search goes on in the middle of the line, at any place of a surrogate pair.
        const before = `${lead}${"😀".repeat(32_760 + pad)}`;
        await using folder = await TestFolder.create({ f: `${before}needle${"😀".repeat(40_000)}\nneedle` });
        const [hit = "", next] = hitsOf((await search(folder, { text: "needle" })).text);
        expect(hit.isWellFormed()).toBe(true);
        expect(hit).toMatch(/^f:1: …(😀)*needle(😀)*…$/u);
        expect(next).toBe("f:2: needle");
      }
    }
  });

  test("text in UTF-16 counts as binary, invalid UTF-8 is searched as well as can be", async () => {
    const utf16 = Buffer.from("\ufeff\u6f22\u5b57needle", "utf16le");
    const latin1 = Buffer.from("caf\u00e9 needle\n", "latin1");
    await using folder = await TestFolder.create({ latin1, utf16, mark: "\ufeffneedle" });
    const { text } = await search(folder, { text: "needle" });
    expect(hitsOf(text)).toEqual(["latin1:1: caf\ufffd needle", "mark:1: needle"]);
    expect(text).toEndWith("[Skipped: 1 binary file.]");
  });

  test("a search that takes too long ends early and says so, with what it found", async () => {
    await using folder = await TestFolder.create({ a: "needle", "b/": "", "c/": "", d: "needle" });
    let time = 0;
    // Each look at the clock takes a fourth of the time.
    const tool = searchText(new Workspace(folder.root), () => (time += MAX_SEARCH_MS / 4));
    const outcome = await new ToolRegistry([tool]).call("search_text", '{"text":"needle"}', never());
    expect(hitsOf(outcome.text)).toEqual(["a:1: needle"]);
    expect(outcome.text).toContain("[The search ended early, after 20 s;");
    expect(outcome.meta).toMatchObject({ complete: false });
  });

  test("a hit is found once in a line of any length, and at any place of it", async () => {
    await using folder = await TestFolder.create();
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 65_500, max: 65_560 }),
        fc.integer({ min: 0, max: 200_000 }),
        fc.integer({ min: 1, max: 400 }),
        async (before, after, length) => {
          const needle = "né".repeat(length);
          await folder.write("f", `first\n${"x".repeat(before)}${needle}${"y".repeat(after)}\nlast`);
          const { text } = await search(folder, { text: needle });
          expect(hitsOf(text)).toHaveLength(1);
          expect(hitsOf(text)[0]).toStartWith("f:2: ");
        },
      ),
      { numRuns: 20 },
    );
  });

  test("agrees with a plain look at each line", async () => {
    await using folder = await TestFolder.create();
    const line = fc.string({ unit: fc.constantFrom("a", "B", "é", "😀"), maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 20 }), line, async (lines, needle) => {
        fc.pre(needle !== "");
        await folder.write("f", lines.join("\n"));
        const expected = lines.flatMap((text, k) =>
          text.toLowerCase().includes(needle.toLowerCase()) ? [`f:${k + 1}: ${text}`] : [],
        );
        expect(hitsOf((await search(folder, { text: needle })).text)).toEqual(expected);
      }),
    );
  });

  test("gives the same answer each time, however the reads interleave", async () => {
    const files: Record<string, string> = {};
    for (let k = 0; k < 200; k += 1)
      files[`d${k % 7}/f${k}`] = "x\n".repeat(k * 50) + (k % 3 === 0 ? "needle" : "");
    await using folder = await TestFolder.create(files);
    const first = await search(folder, { text: "needle" });
    for (let k = 0; k < 5; k += 1) expect(await search(folder, { text: "needle" })).toEqual(first);
  });

  test("leaves the event loop live while it searches", async () => {
    await using folder = await TestFolder.create({ f: "x\n".repeat(8_000_000) });
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    await search(folder, { text: "needle" });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(3);
  });

  test("a cancelled search stops with the signal's reason", async () => {
    await using folder = await TestFolder.create({ f: "x\n".repeat(1_000_000), g: "y" });
    const controller = new AbortController();
    const call = search(folder, { text: "needle" }, controller.signal).catch((error: unknown) => error);
    const reason = new Error("enough");
    setImmediate(() => controller.abort(reason));
    expect(await call).toBe(reason);
  });

  test.each([
    [{}, "TOOL_ARGUMENTS_INVALID"],
    [{ text: "" }, "TOOL_ARGUMENTS_INVALID"],
    [{ text: "two\nlines" }, "TOOL_ARGUMENTS_INVALID"],
    [{ text: "x".repeat(1001) }, "TOOL_ARGUMENTS_INVALID"],
    [{ text: "x", path: "nothing" }, "WORKSPACE_NOT_FOUND"],
    [{ text: "x", path: ".." }, "WORKSPACE_OUTSIDE"],
  ])("%j fails with %s", async (args, code) => {
    await using folder = await TestFolder.create();
    expect((await search(folder, args)).error?.code).toBe(code);
  });
});
