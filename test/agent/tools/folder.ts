import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

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
