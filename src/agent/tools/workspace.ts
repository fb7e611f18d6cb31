import { type BigIntStats, constants, type Dirent, realpathSync, statSync } from "node:fs";
import { type FileHandle, lstat, open, readdir, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { z } from "zod";
import { clip } from "../../session/text.ts";
import { ToolError } from "../tool.ts";
import { type Hold, hold } from "./hold.ts";
import { isPlainLine, quote } from "./text.ts";

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

/** A regular file that is open for reading. */
export interface OpenedFile {
  readonly handle: FileHandle;
  /** Bytes that it had when it was opened. */
  readonly size: number;
  /** As in {@link WorkspacePath}. */
  readonly shown: string;
}

/** A folder that tools may read, and nothing beside it: not by `..`, nor by absolute path, nor by symbolic link. */
export class Workspace {
  readonly #root: string;
  readonly #protectedFiles: () => readonly string[];
  readonly #hold: Hold;

  /**
   * `protectedFiles` are never opened, under whatever name they lie in the workspace: the store of this very process.
   * POSIX drops all locks that a process holds on a file as soon as the process closes any descriptor of it. Of a
   * folder among them, nothing below it is opened.
   */
  constructor(root: string, protectedFiles: () => readonly string[] = () => [], holdBy = hold) {
    this.#root = resolve(root);
    this.#protectedFiles = protectedFiles;
    this.#hold = holdBy;
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
   * Opens a regular file for reading. The caller closes the handle, and reads with {@link readBlock}.
   *
   * Never waits for a pipe or device. What is opened is what was found to lie inside the workspace.
   */
  async openFile(path: WorkspacePath): Promise<OpenedFile> {
    try {
      return await this.#hold(path.real, async ({ stats, real, via, isCertain }) => {
        if (!stats.isFile()) throw notAFile(path.shown);
        if (isCertain) await this.#checkInside(path, real);
        if (isProtected(real, stats, this.#protectedFiles())) throw protectedFile(path.shown);
        // Windows has neither flag. A certain path is a link of the system's own, which is to be followed.
        const noFollow = isCertain ? 0 : (constants.O_NOFOLLOW ?? 0);
        const handle = await open(via, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | noFollow);
        const size = isCertain ? stats.size : await this.#checkOpened(path, handle);
        return { handle, size: Number(size), shown: path.shown };
      });
    } catch (error) {
      throw toToolError(error, path.shown);
    }
  }

  /** Entries of a folder that lies inside the workspace, sorted by name. */
  async readFolder(path: WorkspacePath): Promise<Dirent[]> {
    try {
      return await this.#hold(path.real, async ({ stats, real, via, isCertain }) => {
        if (isCertain) await this.#checkInside(path, real);
        const entries = stats.isDirectory() ? await readdir(via, { withFileTypes: true }) : [];
        // A link may have taken its place: then it is said where that leads.
        if (!isCertain || stats.isSymbolicLink()) await this.#checkPlace(path, stats);
        if (!stats.isDirectory()) throw notAFolder(path.shown);
        return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
      });
    } catch (error) {
      throw errorCode(error) === "ENOTDIR" ? notAFolder(path.shown) : toToolError(error, path.shown);
    }
  }

  async #checkInside(path: WorkspacePath, real: string): Promise<void> {
    if (!isInside(await realRoot(this.#root), real)) throw outside(path.shown);
  }

  /** Checks a file once more that something may have changed places with. Returns its size; closes it if it must. */
  async #checkOpened(path: WorkspacePath, handle: FileHandle): Promise<bigint> {
    try {
      const opened = await handle.stat({ bigint: true });
      if (!opened.isFile()) throw changed(path.shown);
      await this.#checkPlace(path, opened);
      return opened.size;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Checks that what was found by a path lies there, inside the workspace. */
  async #checkPlace(path: WorkspacePath, found: BigIntStats): Promise<void> {
    const again = await this.resolve(path.shown);
    const now = await lstat(again.real, { bigint: true });
    if (now.ino !== found.ino || now.dev !== found.dev) throw changed(path.shown);
  }
}

/** Reads the file from `position` on into `buffer`. Returns how many bytes there were. @throws ToolError */
export async function readBlock(file: OpenedFile, buffer: Uint8Array, position: number): Promise<number> {
  try {
    return (await file.handle.read(buffer, 0, buffer.length, position)).bytesRead;
  } catch (error) {
    throw toToolError(error, file.shown);
  }
}

/** The place of `name` in a folder, without a look at the file system: right only for what is no symbolic link. */
export function childOf(folder: WorkspacePath, name: string): WorkspacePath {
  return { real: join(folder.real, name), shown: folder.shown === "." ? name : `${folder.shown}/${name}` };
}

/** A path as it stands in a result: quoted when it would fake lines or quotes. */
export function quotePath(shown: string): string {
  return isPlainLine(shown) && !shown.startsWith('"') ? shown : quote(shown);
}

/** Files are told by device and inode: a hard link is the same file under another name. */
function isProtected(real: string, file: BigIntStats, paths: readonly string[]): boolean {
  return paths.some((path) => {
    const other = statSync(path, { bigint: true, throwIfNoEntry: false });
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
    `${quote(shown)} lies outside the workspace. Use a path below it, such as "." for the workspace itself.`,
  );
}

function notFound(shown: string): ToolError {
  return workspaceError(
    "WORKSPACE_NOT_FOUND",
    `${quote(shown)} does not exist. Use list_files to see what does.`,
  );
}

function notAFile(shown: string): ToolError {
  return workspaceError("WORKSPACE_NOT_A_FILE", `${quote(shown)} is not a regular file.`);
}

function notAFolder(shown: string): ToolError {
  return workspaceError("WORKSPACE_NOT_A_FOLDER", `${quote(shown)} is not a folder.`);
}

function changed(shown: string): ToolError {
  return workspaceError("WORKSPACE_FAILED", `${quote(shown)} changed while it was opened. Try again.`);
}

function protectedFile(shown: string): ToolError {
  return workspaceError(
    "WORKSPACE_PROTECTED",
    `${quote(shown)} belongs to the store of this program and is not read by tools.`,
  );
}

/** Errors of the file system name absolute paths, which are nobody's business: only their code is kept. */
function toToolError(error: unknown, shown: string): ToolError {
  if (error instanceof ToolError) return error;
  const code = errorCode(error);
  if (code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG") return notFound(shown);
  if (code === "EACCES" || code === "EPERM") {
    return workspaceError("WORKSPACE_DENIED", `${quote(shown)} may not be read.`);
  }
  return workspaceError(
    "WORKSPACE_FAILED",
    `${quote(shown)} could not be read (${code ?? "unknown error"}).`,
  );
}

const codeSchema = z.object({ code: z.string() });

function errorCode(error: unknown): string | undefined {
  const parsed = codeSchema.safeParse(error);
  return parsed.success ? parsed.data.code : undefined;
}
