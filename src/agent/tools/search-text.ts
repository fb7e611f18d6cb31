import { z } from "zod";
import { type Tool, ToolError, type ToolOutput } from "../tool.ts";
import { defineTool } from "./define.ts";
import { type FileMatches, type LineMatch, searchFile } from "./search-file.ts";
import { FileWalk } from "./search-walk.ts";
import { MAX_OUTPUT_BYTES, plural, quote, withNotes } from "./text.ts";
import { quotePath, type Workspace, type WorkspacePath } from "./workspace.ts";

/** Bounds of one search. */
export const MAX_HITS = 100;
const MAX_FILES = 20_000;
export const MAX_SEARCH_BYTES = 64 * 1024 * 1024;
export const MAX_SEARCH_MS = 20_000;

// Files that are read at the same time, to hide the time that each takes to open.
const READ_AHEAD = 16;

export const searchTextSchema = z.strictObject({
  text: z
    .string()
    .min(1)
    .max(1000)
    .regex(/^[^\r\n]*$/),
  path: z.string().min(1).max(4096).optional(),
  caseSensitive: z.boolean().optional(),
});

const parameters = {
  type: "object",
  properties: {
    text: {
      type: "string",
      minLength: 1,
      maxLength: 1000,
      pattern: "^[^\\r\\n]*$",
      description: "Text to look for, literally and within a line.",
    },
    path: {
      type: "string",
      minLength: 1,
      maxLength: 4096,
      description: "File or folder. The workspace itself when absent.",
    },
    caseSensitive: {
      type: "boolean",
      description: "Whether upper and lower case differ. They do not when absent.",
    },
  },
  required: ["text"],
  additionalProperties: false,
};

/**
 * `search_text`: the lines that hold a text, as `path:line: text`, in the order of the names. `now` tells the time in
 * milliseconds since any moment.
 */
export function searchText(workspace: Workspace, now: () => number = () => performance.now()): Tool {
  return defineTool({
    name: "search_text",
    description:
      "Looks for a literal text in the text files of the workspace and returns the lines that hold it, as " +
      `"path:line: text". At most ${MAX_HITS} lines; binary files, links, .git and node_modules are skipped.`,
    parameters,
    schema: searchTextSchema,
    async run({ text, path = ".", caseSensitive = false }, signal) {
      const start = await workspace.resolve(path);
      const end = now() + MAX_SEARCH_MS;
      const search = new Search(workspace, { text, caseSensitive }, signal, () => now() >= end);
      await search.run(start);
      return search.result();
    },
  });
}

interface Query {
  readonly text: string;
  readonly caseSensitive: boolean;
}

interface FileOutcome {
  readonly file: WorkspacePath;
  readonly found?: FileMatches;
  readonly failure?: unknown;
}

class Search {
  readonly #workspace: Workspace;
  readonly #query: Query;
  readonly #signal: AbortSignal;
  readonly #walk: FileWalk;
  readonly #hits: string[] = [];
  #hitBytes = 0;
  #hitFiles = 0;
  #files = 0;
  #bytes = 0;
  #binary = 0;
  #unread = 0;
  #stop: string | undefined;

  constructor(workspace: Workspace, query: Query, signal: AbortSignal, isOver: () => boolean) {
    this.#workspace = workspace;
    this.#query = query;
    this.#signal = signal;
    this.#walk = new FileWalk(workspace, signal, isOver);
  }

  /** Reads files ahead and takes their results in order, so that the same files give the same answer. */
  async run(start: WorkspacePath): Promise<void> {
    const ahead: Array<Promise<FileOutcome>> = [];
    const done = new AbortController();
    const signal = AbortSignal.any([this.#signal, done.signal]);
    const takeFirst = async () => {
      const outcome = await ahead.shift();
      if (outcome !== undefined) this.#take(outcome, start);
    };
    try {
      for await (const file of this.#walk.files(start)) {
        ahead.push(this.#search(file, signal));
        if (ahead.length >= READ_AHEAD) await takeFirst();
        if (this.#stop !== undefined) break;
      }
      while (ahead.length > 0 && this.#stop === undefined) await takeFirst();
      if (this.#walk.isCut) this.#stop ??= `${MAX_SEARCH_MS / 1000} s`;
    } finally {
      done.abort();
      await Promise.all(ahead);
    }
  }

  result(): ToolOutput {
    const lines = this.#hits.length;
    const found =
      lines === 0
        ? "Nothing found"
        : `${plural(lines, "line")} with ${quote(this.#query.text)} in ${plural(this.#hitFiles, "file")}`;
    const head = `${found}; ${plural(this.#files, "file")} searched`;
    return {
      text: withNotes([head, ...this.#hits].join("\n"), this.#notes()),
      meta: { hits: lines, files: this.#files, bytes: this.#bytes, complete: this.#stop === undefined },
    };
  }

  /** Never rejects: nobody may be waiting for it any more. */
  async #search(file: WorkspacePath, signal: AbortSignal): Promise<FileOutcome> {
    try {
      const opened = await this.#workspace.openFile(file);
      try {
        // One match more than is wanted, to know whether there are more.
        const maxBytes = Math.min(opened.size, MAX_SEARCH_BYTES);
        const search = { ...this.#query, maxBytes, maxMatches: MAX_HITS + 1 };
        return { file, found: await searchFile(opened, search, signal) };
      } finally {
        await opened.handle.close();
      }
    } catch (failure) {
      return { file, failure };
    }
  }

  #take({ file, found, failure }: FileOutcome, start: WorkspacePath): void {
    if (found === undefined) {
      // What was asked for by name must be readable; what was come across may not be.
      if (file === start || !(failure instanceof ToolError)) throw failure;
      this.#unread += 1;
      return;
    }
    this.#files += 1;
    this.#bytes += found.bytes;
    if (found.isBinary) this.#binary += 1;
    const before = this.#hits.length;
    for (const match of found.matches) if (this.#stop === undefined) this.#addHit(file, match);
    if (this.#hits.length > before) this.#hitFiles += 1;
    if (this.#bytes >= MAX_SEARCH_BYTES) this.#stop ??= `${MAX_SEARCH_BYTES / 1024 / 1024} MiB`;
    if (this.#files >= MAX_FILES) this.#stop ??= plural(MAX_FILES, "file");
  }

  #addHit(file: WorkspacePath, match: LineMatch): void {
    const hit = `${quotePath(file.shown)}:${match.line}: ${match.text}`;
    const bytes = Buffer.byteLength(hit) + 1;
    if (this.#hits.length >= MAX_HITS) this.#stop = plural(MAX_HITS, "line");
    else if (this.#hitBytes + bytes > MAX_OUTPUT_BYTES)
      this.#stop = `${MAX_OUTPUT_BYTES / 1024} KiB of lines`;
    else {
      this.#hits.push(hit);
      this.#hitBytes += bytes;
    }
  }

  #notes(): string[] {
    const notes: string[] = [];
    if (this.#stop !== undefined) {
      notes.push(
        `The search ended early, after ${this.#stop}; search one folder or a longer text to see the rest.`,
      );
    }
    const { links, closed } = this.#walk;
    const unread = this.#unread + this.#walk.unread;
    const skipped: string[] = [];
    if (this.#binary > 0) skipped.push(plural(this.#binary, "binary file"));
    if (links > 0) skipped.push(plural(links, "link"));
    if (closed > 0) skipped.push(`${plural(closed, "folder")} named .git or node_modules`);
    if (unread > 0) skipped.push(`${plural(unread, "entry", "entries")} that could not be read`);
    if (skipped.length > 0) notes.push(`Skipped: ${skipped.join(", ")}.`);
    return notes;
  }
}
