import type { Tool } from "../tool.ts";
import { listFiles } from "./list-files.ts";
import { readFile } from "./read-file.ts";
import { searchText } from "./search-text.ts";
import { Workspace } from "./workspace.ts";

/**
 * The built-in tools. They only read, and only below `root`, a folder that has to exist when they are called.
 * `protectedFiles`: files that they never open; see {@link Workspace}.
 */
export function workspaceTools(root: string, protectedFiles?: () => readonly string[]): Tool[] {
  const workspace = new Workspace(root, protectedFiles);
  return [listFiles(workspace), readFile(workspace), searchText(workspace)];
}
