import { describe, expect, test } from "bun:test";
import { chmod, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { isAbsolute, join, relative } from "node:path";
import fc from "fast-check";
import { ToolError } from "../../../src/agent/tool.ts";
import { Workspace, type WorkspaceCode } from "../../../src/agent/tools/workspace.ts";
import { TestFolder } from "./folder.ts";

async function codeOf(run: () => Promise<unknown>): Promise<string> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    expect(error.name).toBe("WorkspaceError");
    return error.code;
  }
  return "no error";
}

async function openCode(folder: TestFolder, path: string): Promise<string> {
  const workspace = new Workspace(folder.root);
  return codeOf(async () => {
    const { handle } = await workspace.openFile(await workspace.resolve(path));
    await handle.close();
  });
}

describe("paths", () => {
  test("relative ones and absolute ones below the root are shown relative to it, with slashes", async () => {
    await using folder = await TestFolder.create({ "a/b.txt": "x" });
    const workspace = new Workspace(folder.root);
    for (const path of ["a/b.txt", "./a//b.txt", "a/../a/b.txt", join(folder.root, "a/b.txt")]) {
      expect(await workspace.resolve(path)).toEqual({ real: join(folder.root, "a/b.txt"), shown: "a/b.txt" });
    }
    for (const path of [".", "a/..", folder.root, `${folder.root}/`]) {
      expect((await workspace.resolve(path)).shown).toBe(".");
    }
  });

  test("a name that begins with two dots is a name", async () => {
    await using folder = await TestFolder.create({ "..name": "x" });
    expect((await new Workspace(folder.root).resolve("..name")).shown).toBe("..name");
  });

  test("the root may be given as a symbolic link, and absolute paths may be spelled either way", async () => {
    await using folder = await TestFolder.create({ "a.txt": "x" });
    const alias = join(folder.base, "alias");
    await symlink(folder.root, alias);
    const workspace = new Workspace(alias);
    for (const path of ["a.txt", join(alias, "a.txt"), join(folder.root, "a.txt")]) {
      expect((await workspace.resolve(path)).shown).toBe("a.txt");
    }
  });

  const refused: ReadonlyArray<readonly [string, WorkspaceCode]> = [
    ["..", "WORKSPACE_OUTSIDE"],
    ["../outside", "WORKSPACE_OUTSIDE"],
    ["../outside/secret.txt", "WORKSPACE_OUTSIDE"],
    ["../nothing", "WORKSPACE_OUTSIDE"],
    ["a/../../outside/secret.txt", "WORKSPACE_OUTSIDE"],
    ["../workspace-2/secret.txt", "WORKSPACE_OUTSIDE"],
    ["/etc/passwd", "WORKSPACE_OUTSIDE"],
    ["/", "WORKSPACE_OUTSIDE"],
    ["out", "WORKSPACE_OUTSIDE"],
    ["out/secret.txt", "WORKSPACE_OUTSIDE"],
    ["out/nothing", "WORKSPACE_OUTSIDE"],
    ["out/../out/secret.txt", "WORKSPACE_OUTSIDE"],
    ["secret-link", "WORKSPACE_OUTSIDE"],
    ["chain", "WORKSPACE_OUTSIDE"],
    ["up/outside/secret.txt", "WORKSPACE_OUTSIDE"],
    ["nothing", "WORKSPACE_NOT_FOUND"],
    ["a/nothing/at/all", "WORKSPACE_NOT_FOUND"],
    ["a.txt/below", "WORKSPACE_NOT_FOUND"],
    ["dangling", "WORKSPACE_NOT_FOUND"],
    ["loop", "WORKSPACE_NOT_FOUND"],
    [`${"x".repeat(300)}`, "WORKSPACE_NOT_FOUND"],
    ["a\0b", "WORKSPACE_NOT_FOUND"],
  ];

  test.each(refused)("%j is refused as %s", async (path, code) => {
    await using folder = await TestFolder.create({ "a.txt": "x", "a/": "" });
    await writeFile(join(folder.outside, "secret.txt"), "secret");
    await folder.link("out", folder.outside);
    await folder.link("secret-link", "../outside/secret.txt");
    await folder.link("chain", "secret-link");
    await folder.link("up", "..");
    await folder.link("dangling", "no-such-target");
    await folder.link("loop", "loop");
    expect(await codeOf(() => new Workspace(folder.root).resolve(path))).toBe(code);
  });

  test("links that stay inside are followed, and shown as they were asked for", async () => {
    await using folder = await TestFolder.create({ "a/b.txt": "x" });
    await folder.link("inside", "a");
    const path = await new Workspace(folder.root).resolve("inside/b.txt");
    expect(path).toEqual({ real: join(folder.root, "a/b.txt"), shown: "inside/b.txt" });
  });

  test("no path, however it is put together, leads out", async () => {
    await using folder = await TestFolder.create({ "a/b/c.txt": "x", "d.txt": "y" });
    await writeFile(join(folder.outside, "secret.txt"), "secret");
    await folder.link("out", folder.outside);
    await folder.link("a/up", "..");
    await folder.link("a/b/far", "../../..");
    const workspace = new Workspace(folder.root);
    const segment = fc.oneof(
      fc.constantFrom(
        "..",
        ".",
        "",
        "a",
        "b",
        "c.txt",
        "d.txt",
        "out",
        "up",
        "far",
        "outside",
        "secret.txt",
        "workspace",
      ),
      fc.string({ maxLength: 3 }),
    );
    const start = fc.constantFrom("", "/", `${folder.root}/`, `${folder.root}/../`, `${folder.outside}/`);
    await fc.assert(
      fc.asyncProperty(start, fc.array(segment, { maxLength: 8 }), async (first, segments) => {
        try {
          const { real, shown } = await workspace.resolve(first + segments.join("/"));
          const rest = relative(folder.root, real);
          expect(rest === "" || !(rest.startsWith("..") || isAbsolute(rest))).toBe(true);
          expect(shown.split("/")).not.toContain("..");
        } catch (error) {
          expect(error).toBeInstanceOf(ToolError);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("errors never name the place of the workspace", async () => {
    await using folder = await TestFolder.create();
    for (const root of [folder.root, join(folder.root, "missing")]) {
      try {
        await new Workspace(root).resolve("nothing");
        expect.unreachable();
      } catch (error) {
        expect(String(error)).not.toContain(folder.base);
      }
    }
  });
});

describe("opening", () => {
  test("a regular file gives its size and a handle", async () => {
    await using folder = await TestFolder.create({ "a.txt": "hello" });
    const workspace = new Workspace(folder.root);
    const { handle, size } = await workspace.openFile(await workspace.resolve("a.txt"));
    expect(size).toBe(5);
    expect(await handle.readFile("utf8")).toBe("hello");
    await handle.close();
  });

  test("a folder, a pipe and a socket are refused, and a pipe is not waited for", async () => {
    await using folder = await TestFolder.create({ "a/": "" });
    expect(Bun.spawnSync(["mkfifo", join(folder.root, "pipe")]).exitCode).toBe(0);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(folder.root, "socket"), resolve));
    try {
      for (const path of ["a", ".", "pipe", "socket"]) {
        expect(await openCode(folder, path)).toBe("WORKSPACE_NOT_A_FILE");
      }
    } finally {
      server.close();
    }
  });

  test("a link that took the file's place after it was resolved is refused", async () => {
    await using folder = await TestFolder.create({ "a.txt": "x" });
    await writeFile(join(folder.outside, "secret.txt"), "secret");
    const workspace = new Workspace(folder.root);
    const path = await workspace.resolve("a.txt");
    await Bun.file(path.real).delete();
    await symlink(join(folder.outside, "secret.txt"), path.real);
    expect(await codeOf(() => workspace.openFile(path))).toBe("WORKSPACE_NOT_A_FILE");
  });

  test("a folder on the way that became a link out is refused", async () => {
    await using folder = await TestFolder.create({ "a/secret.txt": "x" });
    await writeFile(join(folder.outside, "secret.txt"), "secret");
    const workspace = new Workspace(folder.root);
    const file = await workspace.resolve("a/secret.txt");
    const parent = await workspace.resolve("a");
    expect(Bun.spawnSync(["mv", join(folder.root, "a"), join(folder.root, "b")]).exitCode).toBe(0);
    await folder.link("a", folder.outside);
    expect(await codeOf(() => workspace.openFile(file))).toBe("WORKSPACE_OUTSIDE");
    expect(await codeOf(() => workspace.readFolder(parent))).toBe("WORKSPACE_OUTSIDE");
  });

  test.skipIf(process.getuid?.() === 0)("a file that may not be read is refused", async () => {
    await using folder = await TestFolder.create({ "a.txt": "x" });
    await chmod(join(folder.root, "a.txt"), 0);
    expect(await openCode(folder, "a.txt")).toBe("WORKSPACE_DENIED");
  });
});
