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
  /** Whether it was told that its time is over before it had seen everything. */
  isCut = false;
  readonly #workspace: Workspace;
  readonly #signal: AbortSignal;
  readonly #isOver: () => boolean;

  constructor(workspace: Workspace, signal: AbortSignal, isOver: () => boolean) {
    this.#workspace = workspace;
    this.#signal = signal;
    this.#isOver = isOver;
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
    // The way down, as what is left of each folder: a generator inside another would take a step a level for each file.
    const way = [{ folder: start, left: entries.values() }];
    for (let at = way.at(-1); at !== undefined; at = way.at(-1)) {
      this.#signal.throwIfAborted();
      if (this.#isOver()) {
        this.isCut = true;
        return;
      }
      const { value: entry } = at.left.next();
      if (entry === undefined) {
        way.pop();
        continue;
      }
      const child = childOf(at.folder, entry.name);
      // What a link inside the workspace leads to is found at its own place.
      if (entry.isSymbolicLink()) this.links += 1;
      else if (entry.isFile()) yield child;
      else if (!entry.isDirectory()) this.unread += 1;
      else if (NOT_DESCENDED.has(entry.name)) this.closed += 1;
      else way.push({ folder: child, left: (await this.#read(child)).values() });
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
