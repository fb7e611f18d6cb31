import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

/* Reads the documentation: its fenced blocks, tables, headings and links. */

export const ROOT = join(import.meta.dir, "../..");

/** A fenced block, with the line that it begins on. */
export interface Block {
  readonly language: string;
  readonly text: string;
  readonly line: number;
}

export interface Table {
  readonly headers: readonly string[];
  readonly rows: ReadonlyArray<readonly string[]>;
}

export interface Document {
  /** Relative to the repository. */
  readonly path: string;
  readonly text: string;
  readonly blocks: readonly Block[];
  /** The text without its fenced blocks. */
  readonly prose: string;
}

/** README, CHANGELOG, CONTRIBUTING, and every page below docs/. */
export function allDocuments(): Document[] {
  const pages = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" });
  const paths = pages.filter((name) => name.endsWith(".md")).map((name) => join("docs", name));
  return ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", ...paths.sort()].map(readDocument);
}

export function readDocument(path: string): Document {
  const text = readFileSync(join(ROOT, path), "utf8");
  const blocks: Block[] = [];
  const prose: string[] = [];
  let open: { readonly language: string; readonly line: number; readonly lines: string[] } | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    if (!line.startsWith("```")) {
      (open?.lines ?? prose).push(line);
    } else if (open === undefined) open = { language: line.slice(3).trim(), line: index + 1, lines: [] };
    else {
      blocks.push({ language: open.language, text: open.lines.join("\n"), line: open.line });
      open = undefined;
    }
  }
  if (open !== undefined) throw new Error(`${path}:${open.line}: the block is not closed`);
  return { path: relative(ROOT, join(ROOT, path)), text, blocks, prose: prose.join("\n") };
}

export function tablesOf({ prose }: Document): Table[] {
  const tables: Table[] = [];
  let rows: string[][] = [];
  for (const line of [...prose.split("\n"), ""]) {
    if (line.startsWith("|")) rows.push(cellsOf(line));
    else if (rows.length > 0) {
      const [headers = [], , ...body] = rows;
      tables.push({ headers, rows: body });
      rows = [];
    }
  }
  return tables;
}

/** The one table whose first headers are these. */
export function tableWith(document: Document, ...headers: readonly string[]): Table {
  const matching = tablesOf(document).filter((table) =>
    headers.every((name, k) => table.headers[k] === name),
  );
  const [table, ...others] = matching;
  if (table === undefined || others.length > 0) {
    throw new Error(`${document.path} has ${matching.length} tables with the columns ${headers.join(", ")}`);
  }
  return table;
}

/** The text of a cell's code spans; empty when it has none. */
export function codeIn(cell: string | undefined): string[] {
  return [...(cell ?? "").matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}

/** Anchors of the headings, as they are linked to. */
export function anchorsOf({ prose }: Document): Set<string> {
  const headings = [...prose.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) => title);
  return new Set(headings.map(slug));
}

export function headingsOf({ prose }: Document): Set<string> {
  return new Set([...prose.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) => title));
}

export function linksOf({ prose }: Document): string[] {
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
}

function slug(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

function cellsOf(line: string): string[] {
  const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
  return cells.slice(1, -1);
}
