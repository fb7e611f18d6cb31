import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { workspaceTools } from "../../../src/agent/tools/index.ts";
import { ToolRegistry } from "../../../src/agent/tools/registry.ts";

/** A new folder of files for one test, with an `outside` folder beside the workspace. Gone when it is disposed. */
export class TestFolder implements AsyncDisposable {
  readonly base: string;
  /** The workspace. */
  readonly root: string;
  /** A folder that no tool may reach. */
  readonly outside: string;

  private constructor(base: string) {
    this.base = base;
    this.root = join(base, "workspace");
    this.outside = join(base, "outside");
  }

  /** A path that ends with `/` makes an empty folder; others make files with that content. */
  static async create(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<TestFolder> {
    const folder = new TestFolder(await realpath(await mkdtemp(join(tmpdir(), "holdfast-tools-"))));
    await mkdir(folder.root);
    await mkdir(folder.outside);
    for (const [path, content] of Object.entries(files)) await folder.write(path, content);
    return folder;
  }

  async write(path: string, content: string | Uint8Array): Promise<void> {
    const target = join(this.root, path);
    await mkdir(path.endsWith("/") ? target : dirname(target), { recursive: true });
    if (!path.endsWith("/")) await writeFile(target, content);
  }

  /** Makes `path` in the workspace a symbolic link to `target`. */
  async link(path: string, target: string): Promise<void> {
    await symlink(target, join(this.root, path));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.base, { recursive: true, force: true });
  }
}

/** Calls tools of one workspace. */
export function caller(root: string, protectedFiles?: () => readonly string[]) {
  const tools = new ToolRegistry(workspaceTools(root, protectedFiles));
  return (name: string, args: object, signal = new AbortController().signal) =>
    tools.call(name, JSON.stringify(args), signal);
}

/** Runs a shell script in a folder. */
export function shell(cwd: string, script: string): void {
  const { exitCode, stderr } = Bun.spawnSync(["bash", "-c", script], { cwd });
  if (exitCode !== 0) throw new Error(stderr.toString());
}
