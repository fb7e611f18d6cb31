import { constants, type Dirent, realpathSync, type Stats, statSync } from "node:fs";
import { type FileHandle, lstat, open, readdir, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { z } from "zod";
import { clip } from "../../session/text.ts";
import { ToolError } from "../tool.ts";

export type WorkspaceCode =
  | "WORKSPACE_OUTSIDE"
  | "WORKSPACE_NOT_FOUND"
  | "WORKSPACE_NOT_A_FILE"
  | "WORKSPACE_NOT_A_FOLDER"
  | "WORKSPACE_BINARY"
  | "WORKSPACE_PROTECTED"
  | "WORKSPACE_DENIED"
  | "WORKSPACE_PAST_END"
  | "WORKSPACE_FAILED";

export function workspaceError(code: WorkspaceCode, message: string): ToolError {
  return new ToolError("WorkspaceError", code, message);
}

/** A place in the workspace. */
export interface WorkspacePath {
  /** Absolute, free of symbolic links, below the real root. For the file system only. */
  readonly real: string;
  /** Relative to the root, with `/`; the root itself is `.`. For people and models. */
  readonly shown: string;
}

/** A folder that tools may read, and nothing beside it: not by `..`, nor by absolute path, nor by symbolic link. */
export class Workspace {
  readonly #root: string;
  readonly #protectedFiles: () => readonly string[];

  /**
   * `protectedFiles` are never opened, under whatever name they lie in the workspace: the store of this very process.
   * POSIX drops all locks that a process holds on a file as soon as the process closes any descriptor of it. Of a
   * folder among them, nothing below it is opened.
   */
  constructor(root: string, protectedFiles: () => readonly string[] = () => []) {
    this.#root = resolve(root);
    this.#protectedFiles = protectedFiles;
  }

  /** @throws ToolError with a {@link WorkspaceCode}: outside, not found, denied. */
  async resolve(path: string): Promise<WorkspacePath> {
    const shownAsked = clip(path, 200);
    if (path.includes("\0"))
      throw workspaceError("WORKSPACE_NOT_FOUND", "A path cannot hold a NUL character.");
    const root = await realRoot(this.#root);
    // An absolute path is taken as one below the root, spelled either way; the checks below decide.
    const inRoot = isAbsolute(path) ? relative(isInside(this.#root, path) ? this.#root : root, path) : path;
    const asked = resolve(root, inRoot);
    if (!isInside(root, asked)) throw outside(shownAsked);
    const target = await realOrAncestor(asked, shownAsked);
    if (!isInside(root, target.path)) throw outside(shownAsked);
    if (!target.exists) throw notFound(shownAsked);
    return { real: target.path, shown: toShown(relative(root, asked)) };
  }

  /**
   * Opens a regular file for reading. The caller closes the handle.
   *
   * Never waits for a pipe or device, and checks after opening that the file is still the one inside the workspace.
   */
  async openFile(path: WorkspacePath): Promise<{ readonly handle: FileHandle; readonly size: number }> {
    const handle = await openRegular(path, this.#protectedFiles());
    try {
      const opened = await handle.stat({ bigint: true });
      const again = await this.resolve(path.shown);
      const found = await lstat(again.real, { bigint: true });
      if (!opened.isFile() || found.ino !== opened.ino || found.dev !== opened.dev) {
        throw workspaceError(
          "WORKSPACE_FAILED",
          `${quoted(path.shown)} changed while it was opened. Try again.`,
        );
      }
      return { handle, size: Number(opened.size) };
    } catch (error) {
      await handle.close();
      throw toToolError(error, path.shown);
    }
  }

  /** Entries of a folder, sorted by name. Checks after reading that the folder still lies inside the workspace. */
  async readFolder(path: WorkspacePath): Promise<Dirent[]> {
    try {
      const entries = await readdir(path.real, { withFileTypes: true });
      const again = await this.resolve(path.shown);
      if (again.real !== path.real) throw outside(path.shown);
      return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      if (errorCode(error) === "ENOTDIR") {
        throw workspaceError("WORKSPACE_NOT_A_FOLDER", `${quoted(path.shown)} is not a folder.`);
      }
      throw toToolError(error, path.shown);
    }
  }
}

function quoted(shown: string): string {
  return JSON.stringify(shown);
}

/** The place of `name` in a folder, without a look at the file system: right only for what is no symbolic link. */
export function childOf(folder: WorkspacePath, name: string): WorkspacePath {
  return { real: join(folder.real, name), shown: folder.shown === "." ? name : `${folder.shown}/${name}` };
}

/** A path as it stands in a result: quoted as JSON when it holds control characters, which would fake lines. */
export function quotePath(shown: string): string {
  return /[\p{Cc}\u2028\u2029]/u.test(shown) ? JSON.stringify(shown) : shown;
}

async function openRegular(path: WorkspacePath, protectedFiles: readonly string[]): Promise<FileHandle> {
  // Windows has neither flag.
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);
  try {
    const found = await lstat(path.real);
    if (!found.isFile()) throw notAFile(path.shown);
    if (isProtected(path.real, found, protectedFiles)) throw protectedFile(path.shown);
    return await open(path.real, flags);
  } catch (error) {
    throw toToolError(error, path.shown);
  }
}

/** Files are told by device and inode: a hard link is the same file under another name. */
function isProtected(real: string, file: Stats, paths: readonly string[]): boolean {
  return paths.some((path) => {
    const other = statSync(path, { throwIfNoEntry: false });
    if (other === undefined) return false;
    if (!other.isDirectory()) return other.dev === file.dev && other.ino === file.ino;
    return isInside(realpathSync(path), real);
  });
}

/** The real path; where it does not exist, that of the nearest ancestor that does. */
async function realOrAncestor(path: string, shown: string): Promise<{ path: string; exists: boolean }> {
  for (let at = path, exists = true; ; at = dirname(at), exists = false) {
    try {
      return { path: await realpath(at), exists };
    } catch (error) {
      const code = errorCode(error);
      const missing = code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG" || code === "ELOOP";
      if (!missing || dirname(at) === at) throw toToolError(error, shown);
    }
  }
}

async function realRoot(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    throw workspaceError("WORKSPACE_FAILED", "The workspace folder is missing or cannot be read.");
  }
}

function isInside(root: string, path: string): boolean {
  const rest = relative(root, path);
  return rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest);
}

function toShown(rest: string): string {
  if (rest === "") return ".";
  return sep === "/" ? rest : rest.replaceAll(sep, "/");
}

function outside(shown: string): ToolError {
  return workspaceError(
    "WORKSPACE_OUTSIDE",
    `${quoted(shown)} lies outside the workspace. Use a path below it, such as "." for the workspace itself.`,
  );
}

function notFound(shown: string): ToolError {
  return workspaceError(
    "WORKSPACE_NOT_FOUND",
    `${quoted(shown)} does not exist. Use list_files to see what does.`,
  );
}

function notAFile(shown: string): ToolError {
  return workspaceError("WORKSPACE_NOT_A_FILE", `${quoted(shown)} is not a regular file.`);
}

function protectedFile(shown: string): ToolError {
  return workspaceError(
    "WORKSPACE_PROTECTED",
    `${quoted(shown)} belongs to the store of this program and is not read by tools.`,
  );
}

/** Errors of the file system name absolute paths, which are nobody's business: only their code is kept. */
function toToolError(error: unknown, shown: string): ToolError {
  if (error instanceof ToolError) return error;
  const code = errorCode(error);
  if (code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG") return notFound(shown);
  if (code === "EACCES" || code === "EPERM") {
    return workspaceError("WORKSPACE_DENIED", `${quoted(shown)} may not be read.`);
  }
  return workspaceError(
    "WORKSPACE_FAILED",
    `${quoted(shown)} could not be read (${code ?? "unknown error"}).`,
  );
}

const codeSchema = z.object({ code: z.string() });

function errorCode(error: unknown): string | undefined {
  const parsed = codeSchema.safeParse(error);
  return parsed.success ? parsed.data.code : undefined;
}
