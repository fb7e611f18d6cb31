import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import { jsonDifference, textDifference } from "./expected.ts";
import { allDocuments, type Block, type Document, ROOT } from "./markdown.ts";
import { Scenario } from "./scenario.ts";

/*
 * Runs every command that the documentation shows in an `sh` block, page by page and in order, and holds what it prints
 * against the block that follows. A command that shall fail ends in `# exit N`; one that ends in `&` goes on until all
 * that is shown was printed.
 */

/** Commands that run elsewhere, and where. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "npm test": "it runs this test; CI runs it",
  "bun test test/contract-kit/example-backend.test.ts": "test/contract-kit/outsider.test.ts runs it",
};

interface Command {
  readonly text: string;
  readonly exit: number;
}

function commandsOf(block: Block): Command[] {
  const lines = block.text.replaceAll(/\\\n\s*/g, "").split("\n");
  return lines
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [, text = "", exit = "0"] = /^(.*?)(?:\s+# exit (\d+))?$/.exec(line) ?? [];
      return { text, exit: Number(exit) };
    });
}

function differenceFrom(shown: Block, output: string): string | undefined {
  if (shown.language === "json") return jsonDifference(JSON.parse(shown.text), JSON.parse(output));
  return textDifference(shown.text, output);
}

/** The block behind this one, if nothing but blank lines stand between them. */
function outputBlock({ text, blocks }: Document, block: Block): Block | undefined {
  const next = blocks[blocks.indexOf(block) + 1];
  if (next === undefined || (next.language !== "text" && next.language !== "json")) return undefined;
  const end = block.line + block.text.split("\n").length + 1;
  const between = text.split("\n").slice(end, next.line - 1);
  return between.every((line) => line.trim() === "") ? next : undefined;
}

/** Files that commands find in their folder. */
const FILES = Object.fromEntries(
  ["README.md", "docs/holdfast.json"].map((path) => [basename(path), readFileSync(join(ROOT, path), "utf8")]),
);

const pages = allDocuments().filter(({ blocks }) => blocks.some(({ language }) => language === "sh"));

describe.skipIf(process.platform === "win32")("commands in the documentation", () => {
  for (const page of pages) {
    test(page.path, async () => {
      await using scenario = new Scenario(FILES);
      for (const block of page.blocks) {
        if (block.language !== "sh") continue;
        let output = "";
        for (const { text, exit } of commandsOf(block)) {
          if (!(text in ELSEWHERE)) output += await scenario.run(text, exit);
        }
        const shown = outputBlock(page, block);
        const known = output;
        output += await scenario.followed(
          (text) => shown !== undefined && differenceFrom(shown, known + text) === undefined,
        );
        if (shown === undefined) continue;
        const difference = differenceFrom(shown, output);
        expect(difference, `${page.path}:${shown.line}`).toBeUndefined();
      }
    }, 60_000);
  }
});

const packageSchema = z.object({ scripts: z.record(z.string(), z.string()) });

test("npm start starts the Host that the README stands on", () => {
  const tasks = readFileSync(join(ROOT, "scripts/tasks.ts"), "utf8");
  expect(tasks).toContain('const DATABASE = "data/holdfast.db"');
  expect(tasks).toContain('["--session-db", DATABASE]');
});

test("package scripts that the documentation names exist", () => {
  const { scripts } = packageSchema.parse(JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")));
  for (const { path, text } of allDocuments()) {
    for (const [command, name = ""] of text.matchAll(/\b(?:npm run|bun run|npm(?= start| test)) (\w+)/g)) {
      expect(Object.keys(scripts), `${path}: ${command}`).toContain(name);
    }
  }
});
