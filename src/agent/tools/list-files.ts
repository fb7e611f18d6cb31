import type { Dirent } from "node:fs";
import { stat } from "node:fs/promises";
import { z } from "zod";
import { clip } from "../../session/text.ts";
import { type Tool, ToolError } from "../tool.ts";
import { defineTool } from "./define.ts";
import { MAX_OUTPUT_BYTES, plural, withNotes } from "./text.ts";
import { childOf, quotePath, type Workspace, type WorkspacePath } from "./workspace.ts";

/** Most entries of one listing. */
export const MAX_ENTRIES = 500;

// Each link that is shown takes a look at where it leads.
const MAX_LINKS = 1000;

/** Folders that are named but not descended into: large, and seldom what is looked for. */
export const NOT_DESCENDED: ReadonlySet<string> = new Set([".git", "node_modules"]);

export const listFilesSchema = z.strictObject({
  path: z.string().min(1).max(4096).optional(),
  depth: z.int().min(1).max(10).optional(),
});

const parameters = {
  type: "object",
  properties: {
    path: {
      type: "string",
      minLength: 1,
      maxLength: 4096,
      description: "Folder to list. The workspace itself when absent.",
    },
    depth: {
      type: "integer",
      minimum: 1,
      maximum: 10,
      description: "How many levels to list. 1 when absent.",
    },
  },
  additionalProperties: false,
};

/** `list_files`: a folder's entries by name, level by level down to a depth; folders end with `/`. */
export function listFiles(workspace: Workspace): Tool {
  return defineTool({
    name: "list_files",
    description:
      "Lists files and folders of the workspace, sorted by name, with paths relative to the workspace. Folders end " +
      `with "/". At most ${MAX_ENTRIES} entries; .git and node_modules are named but not descended into.`,
    parameters,
    schema: listFilesSchema,
    async run({ path = ".", depth = 1 }, signal) {
      const folder = await workspace.resolve(path);
      const listing = new Listing(workspace, signal);
      await listing.walk(folder, depth);
      return listing.result(folder);
    },
  });
}

interface Entry {
  readonly shown: string;
  /** As it stands in the listing. */
  readonly line: string;
  readonly isFolder: boolean;
}

class Listing {
  readonly #workspace: Workspace;
  readonly #signal: AbortSignal;
  readonly #entries: Entry[] = [];
  readonly #closed: string[] = [];
  #bytes = 0;
  #leftOut = 0;
  #unread = 0;
  #special = 0;
  #leading = 0;
  #links = 0;

  constructor(workspace: Workspace, signal: AbortSignal) {
    this.#workspace = workspace;
    this.#signal = signal;
  }

  /** Level by level, so that a listing that reaches its bound shows all of the top rather than one deep branch. */
  async walk(root: WorkspacePath, depth: number): Promise<void> {
    let level = [root];
    for (let left = depth; left > 0 && level.length > 0; left -= 1) {
      const next: WorkspacePath[] = [];
      for (const folder of level) {
        this.#signal.throwIfAborted();
        if (this.#leftOut > 0) this.#unread += 1;
        else await this.#readFolder(folder, folder === root, next);
      }
      level = next.filter((folder) => left > 1 && this.#mayDescend(folder));
    }
  }

  result(folder: WorkspacePath): { text: string; meta: Record<string, number> } {
    const folders = this.#entries.filter((entry) => entry.isFolder).length;
    const files = this.#entries.length - folders;
    const lines = this.#entries.sort((a, b) => compareTree(a.shown, b.shown)).map(({ line }) => line);
    const head = `${quotePath(folder.shown)}: ${plural(folders, "folder")}, ${plural(files, "file")}`;
    return {
      text: withNotes([head, ...lines].join("\n"), this.#notes()),
      meta: { folders, files, leftOut: this.#leftOut },
    };
  }

  async #readFolder(folder: WorkspacePath, isRoot: boolean, next: WorkspacePath[]): Promise<void> {
    let dirents: Dirent[];
    try {
      dirents = await this.#workspace.readFolder(folder);
    } catch (error) {
      if (isRoot || !(error instanceof ToolError)) throw error;
      this.#unread += 1;
      return;
    }
    for (const dirent of dirents) {
      this.#signal.throwIfAborted();
      if (this.#leftOut > 0) {
        this.#leftOut += 1;
        continue;
      }
      const child = childOf(folder, dirent.name);
      const kind = dirent.isSymbolicLink() ? await this.#kindOfLink(child) : kindOf(dirent);
      if (kind === "special") this.#special += 1;
      else if (kind === "leading-out") this.#leading += 1;
      else if (kind === "unknown" || !this.#add(child.shown, kind === "folder")) this.#leftOut += 1;
      // A link to a folder is shown and not descended into: it may lead round in circles.
      else if (kind === "folder" && !dirent.isSymbolicLink()) next.push(child);
    }
  }

  #add(shown: string, isFolder: boolean): boolean {
    const line = quotePath(isFolder ? `${shown}/` : shown);
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#entries.length >= MAX_ENTRIES || this.#bytes + bytes > MAX_OUTPUT_BYTES) return false;
    this.#bytes += bytes;
    this.#entries.push({ shown, line, isFolder });
    return true;
  }

  #mayDescend(folder: WorkspacePath): boolean {
    const name = folder.shown.slice(folder.shown.lastIndexOf("/") + 1);
    if (!NOT_DESCENDED.has(name)) return true;
    this.#closed.push(folder.shown);
    return false;
  }

  async #kindOfLink(link: WorkspacePath): Promise<Kind> {
    this.#links += 1;
    if (this.#links > MAX_LINKS) return "unknown";
    try {
      const target = await this.#workspace.resolve(link.shown);
      return kindOf(await stat(target.real));
    } catch {
      return "leading-out";
    }
  }

  #notes(): string[] {
    const notes: string[] = [];
    if (this.#leftOut > 0) {
      notes.push(
        `Left out: ${plural(this.#leftOut, "entry", "entries")}; list a folder of its own to see more.`,
      );
    }
    if (this.#unread > 0) notes.push(`Not read: ${plural(this.#unread, "folder")}.`);
    if (this.#closed.length > 0) notes.push(`Not descended into: ${closedList(this.#closed)}.`);
    if (this.#special > 0) notes.push(`Left out: ${plural(this.#special, "special file")}.`);
    if (this.#leading > 0) {
      notes.push(`Left out: ${plural(this.#leading, "link")} that lead nowhere or out of the workspace.`);
    }
    return notes;
  }
}

type Kind = "file" | "folder" | "special" | "leading-out" | "unknown";

function kindOf(entry: { isFile(): boolean; isDirectory(): boolean }): Kind {
  if (entry.isDirectory()) return "folder";
  return entry.isFile() ? "file" : "special";
}

function closedList(paths: readonly string[]): string {
  const named = paths
    .slice(0, 5)
    .map((path) => clip(quotePath(path), 200))
    .join(", ");
  return paths.length > 5 ? `${named} and ${paths.length - 5} more` : named;
}

/** Order of a tree: name by name, so that what is in a folder follows it. */
function compareTree(a: string, b: string): number {
  const left = a.split("/");
  const right = b.split("/");
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) {
    const x = left[at] ?? "";
    const y = right[at] ?? "";
    if (x !== y) return x < y ? -1 : 1;
  }
  return left.length - right.length;
}
