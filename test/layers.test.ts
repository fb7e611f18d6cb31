import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { importsOf, type SourceFile, sourceFiles } from "./fixtures/source-tree.ts";

/** The layers from the top down. Imports go down this list, or stay in their layer. */
const LAYERS: readonly string[] = ["main.ts", "cli", "host", "routes", "agent", "store", "session"];
const BACKENDS = ["memory", "sqlite", "jsonl"] as const;
const MOST_LINES = 350;

/** Where a package may be imported; anywhere when it is not listed. Subpaths count as their package. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  "bun:sqlite": ["src/store/"],
  "node:fs": ["src/store/", "src/host/", "src/agent/tools/"],
  "node:worker_threads": ["src/store/"],
  "node:crypto": ["src/routes/"],
  elysia: ["src/routes/"],
  "@elysiajs/openapi": ["src/routes/"],
  "@commander-js/extra-typings": ["src/cli/"],
  "@logtape/logtape": ["src/cli/", "src/host/"],
  openai: ["src/agent/providers/openai-compatible/"],
  "@anthropic-ai/sdk": ["src/agent/providers/anthropic/"],
};

/** Clocks, chance, and the world outside: what pure code gets as parameters or not at all. */
const IMPURE =
  /\b(Date\.now|new Date\b|performance\.|Math\.random|randomUUID|getRandomValues|setTimeout|setInterval|process\.|fetch\(|console\.|Bun\.(file|write|spawn|env|sleep|serve|connect|nanoseconds))/;

function layerOf(path: string): number {
  return LAYERS.indexOf(path.split("/")[1] ?? "");
}

function packageOf(name: string): string {
  const parts = name.split("/");
  return parts.slice(0, name.startsWith("@") ? 2 : 1).join("/");
}

/** The rules that a file breaks by what it imports. */
function importFaults(file: SourceFile): string[] {
  return importsOf(file).flatMap((name) => {
    if (name === "package.json") return [];
    if (!name.startsWith("src/")) {
      const homes = HOMES[packageOf(name)];
      const allowed = homes === undefined || homes.some((home) => file.path.startsWith(home));
      return allowed ? [] : [`${file.path} imports ${name}`];
    }
    if (layerOf(name) < 0 || layerOf(name) < layerOf(file.path)) return [`${file.path} imports ${name}`];
    const [from, to] = [file.path, name].map((path) =>
      BACKENDS.find((backend) => path.startsWith(`src/store/${backend}/`)),
    );
    const isCrossing = from !== undefined && to !== undefined && from !== to;
    return isCrossing ? [`${file.path} imports ${name}`] : [];
  });
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, "");
}

/** Statements of a text, comments apart. */
function statementsIn(sql: string): number {
  const bare = sql.replace(/--[^\n]*/g, "").replace(/'[^']*'/g, "''");
  return bare.split(";").filter((statement) => statement.trim() !== "").length;
}

const sources = sourceFiles(".ts").filter(({ path }) => !path.endsWith(".d.ts"));
const queries = sourceFiles(".sql");

describe("the layers", () => {
  test("are all there is in src", () => {
    expect(sources.length).toBeGreaterThan(50);
    expect(sources.filter(({ path }) => layerOf(path) < 0)).toEqual([]);
  });

  test("import only from themselves and from below, and packages only where they belong", () => {
    expect(sources.flatMap(importFaults)).toEqual([]);
  });

  test.each([
    [
      "a layer above, also for its types",
      "src/session/log.ts",
      'import type { X } from "../store/errors.ts";',
    ],
    ["a layer above, on demand", "src/agent/turn.ts", 'const x = await import("../routes/app.ts");'],
    ["another backend", "src/store/sqlite/rows.ts", 'export { x } from "../memory/backend.ts";'],
    ["files where there are none", "src/routes/app.ts", 'import { readFile } from "node:fs/promises";'],
    ["files in the session", "src/session/log.ts", 'import { open } from "node:fs";'],
    ["the database beyond the store", "src/host/host.ts", 'import { Database } from "bun:sqlite";'],
    ["HTTP below the routes", "src/agent/agent.ts", 'import {\n  Elysia,\n} from "elysia";'],
    ["something for its effects", "src/agent/agent.ts", 'import "../cli/serve.ts";'],
  ])("would be seen to break their rules by importing %s", (_, path, text) => {
    expect(importFaults({ path, text })).toHaveLength(1);
  });
});

describe("the session layer", () => {
  const session = sources.filter(({ path }) => path.startsWith("src/session/"));

  test("has no clock, no chance and no world outside", () => {
    const faults = session.flatMap(({ path, text }) => {
      const found = IMPURE.exec(withoutComments(text));
      return found === null ? [] : [`${path} has ${found[0]}`];
    });
    expect(faults).toEqual([]);
  });

  test("needs nothing of the system it runs on", () => {
    const packages = new Set(session.flatMap(importsOf).filter((name) => !name.startsWith("src/")));
    expect([...packages]).toEqual(["zod"]);
  });
});

describe("SQL", () => {
  test("stands in files of one statement each, and each file is used", () => {
    expect(queries.length).toBeGreaterThan(10);
    expect(queries.filter(({ text }) => statementsIn(text) !== 1).map(({ path }) => path)).toEqual([]);
    const imported = new Set(sources.flatMap(importsOf));
    expect(queries.map(({ path }) => path).filter((path) => !imported.has(path))).toEqual([]);
  });

  test("is never written in code", () => {
    const inline =
      /\.(run|query|prepare|exec)\(\s*["'`]|["'`]\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|PRAGMA) /;
    const faults = sources.filter(({ text }) => inline.test(withoutComments(text))).map(({ path }) => path);
    expect(faults).toEqual([]);
  });

  test("of a pragma is one that SQLite takes", () => {
    using database = new Database(":memory:");
    for (const { text } of queries.filter(({ text }) => text.startsWith("PRAGMA"))) {
      expect(() => database.query(text).all()).not.toThrow();
    }
  });
});

test(`no file in src is longer than ${MOST_LINES} lines`, () => {
  const long = [...sources, ...queries].flatMap(({ path, text }) => {
    const lines = text.split("\n").length - 1;
    return lines > MOST_LINES ? [`${path} has ${lines}`] : [];
  });
  expect(long).toEqual([]);
});
