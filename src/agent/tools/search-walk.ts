import type { Dirent } from "node:fs";
import { ToolError } from "../tool.ts";
import { NOT_DESCENDED } from "./list-files.ts";
import { childOf, type Workspace, type WorkspacePath } from "./workspace.ts";

/** The regular files below a place, in the order of their names, and counts of what was passed over. */
export class FileWalk {
  links = 0;
  /** Folders that are not descended into. */
  closed = 0;
  /** Folders that could not be read, and what is neither file nor folder. */
  unread = 0;
  readonly #workspace: Workspace;
  readonly #signal: AbortSignal;

  constructor(workspace: Workspace, signal: AbortSignal) {
    this.#workspace = workspace;
    this.#signal = signal;
  }

  /** @throws ToolError when `start` itself cannot be read. A start that is no folder is yielded as it is. */
  async *files(start: WorkspacePath): AsyncGenerator<WorkspacePath, void, undefined> {
    let entries: Dirent[];
    try {
      entries = await this.#workspace.readFolder(start);
    } catch (error) {
      if (!(error instanceof ToolError) || error.code !== "WORKSPACE_NOT_A_FOLDER") throw error;
      yield start;
      return;
    }
    yield* this.#walk(start, entries);
  }

  async *#walk(
    folder: WorkspacePath,
    entries: readonly Dirent[],
  ): AsyncGenerator<WorkspacePath, void, undefined> {
    for (const entry of entries) {
      this.#signal.throwIfAborted();
      const child = childOf(folder, entry.name);
      // What a link inside the workspace leads to is found at its own place.
      if (entry.isSymbolicLink()) this.links += 1;
      else if (entry.isFile()) yield child;
      else if (!entry.isDirectory()) this.unread += 1;
      else if (NOT_DESCENDED.has(entry.name)) this.closed += 1;
      else yield* this.#walk(child, await this.#read(child));
    }
  }

  async #read(folder: WorkspacePath): Promise<Dirent[]> {
    try {
      return await this.#workspace.readFolder(folder);
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      this.unread += 1;
      return [];
    }
  }
}
