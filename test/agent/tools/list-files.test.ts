import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { workspaceTools } from "../../../src/agent/tools/index.ts";
import { MAX_ENTRIES } from "../../../src/agent/tools/list-files.ts";
import { ToolRegistry } from "../../../src/agent/tools/registry.ts";
import { TestFolder } from "./folder.ts";

async function list(folder: TestFolder, args: object = {}) {
  const tools = new ToolRegistry(workspaceTools(folder.root));
  return tools.call("list_files", JSON.stringify(args), new AbortController().signal);
}

describe("list_files", () => {
  test("lists one level, sorted by name, with a slash after folders", async () => {
    await using folder = await TestFolder.create({ "b.txt": "", "a/x.txt": "", "C/": "", ".hidden": "" });
    expect(await list(folder)).toEqual({
      text: ".: 2 folders, 2 files\n.hidden\nC/\na/\nb.txt",
      meta: { folders: 2, files: 2, leftOut: 0 },
    });
  });

  test("goes down to the depth asked for, each folder followed by what is in it", async () => {
    await using folder = await TestFolder.create({
      "a/b/c/d.txt": "",
      "a/z.txt": "",
      "a-b.txt": "",
      "a.txt": "",
    });
    const { text } = await list(folder, { depth: 3 });
    expect(text).toBe(
      [".: 3 folders, 3 files", "a/", "a/b/", "a/b/c/", "a/z.txt", "a-b.txt", "a.txt"].join("\n"),
    );
  });

  test("lists a folder of its own with paths relative to the workspace", async () => {
    await using folder = await TestFolder.create({ "a/b/c.txt": "" });
    expect((await list(folder, { path: "a/b" })).text).toBe("a/b: 0 folders, 1 file\na/b/c.txt");
  });

  test("an empty folder says so", async () => {
    await using folder = await TestFolder.create();
    expect((await list(folder)).text).toBe(".: 0 folders, 0 files");
  });

  test(".git and node_modules are named, and the listing says that it did not go into them", async () => {
    await using folder = await TestFolder.create({
      ".git/HEAD": "",
      "p/node_modules/m/index.js": "",
      "a.txt": "",
    });
    const { text } = await list(folder, { depth: 5 });
    expect(text).toBe(
      ".: 3 folders, 1 file\n.git/\na.txt\np/\np/node_modules/\n\n[Not descended into: .git, p/node_modules.]",
    );
    expect((await list(folder, { path: ".git" })).text).toContain(".git/HEAD");
  });

  test("links that stay inside are shown, others and special files are counted", async () => {
    await using folder = await TestFolder.create({ "a/b.txt": "" });
    await folder.link("folder-link", "a");
    await folder.link("file-link", "a/b.txt");
    await folder.link("out", folder.outside);
    await folder.link("dangling", "nothing");
    Bun.spawnSync(["mkfifo", join(folder.root, "pipe")]);
    const { text } = await list(folder, { depth: 3 });
    expect(text).toBe(
      ".: 2 folders, 2 files\na/\na/b.txt\nfile-link\nfolder-link/\n\n" +
        "[Left out: 1 special file. Left out: 2 links that lead nowhere or out of the workspace.]",
    );
  });

  test("a long listing is bounded, shows the top before the depths, and says what it left out", async () => {
    const files: Record<string, string> = { "a/deep.txt": "" };
    for (let k = 0; k < MAX_ENTRIES + 10; k += 1) files[`f${String(k).padStart(4, "0")}`] = "";
    await using folder = await TestFolder.create(files);
    const { text, meta } = await list(folder, { depth: 2 });
    expect(meta).toEqual({ folders: 1, files: MAX_ENTRIES - 1, leftOut: 11 });
    expect(text).not.toContain("deep.txt");
    expect(text).toEndWith(
      "[Left out: 11 entries; list a folder of its own to see more. Not read: 1 folder.]",
    );
  });

  test("a listing of long names is bounded in bytes", async () => {
    const files: Record<string, string> = {};
    for (let k = 0; k < 400; k += 1) files[`${String(k).padStart(3, "0")}${"n".repeat(240)}`] = "";
    await using folder = await TestFolder.create(files);
    const { text } = await list(folder);
    expect(Buffer.byteLength(text)).toBeLessThan(66 * 1024);
    expect(text).toContain("Left out: ");
  });

  test("a cancelled listing stops with the signal's reason", async () => {
    await using folder = await TestFolder.create();
    for (let k = 0; k < 50; k += 1) await folder.link(`l${k}`, "nothing");
    const tools = new ToolRegistry(workspaceTools(folder.root));
    const controller = new AbortController();
    const call = tools.call("list_files", "{}", controller.signal).catch((error: unknown) => error);
    const reason = new Error("enough");
    setImmediate(() => controller.abort(reason));
    expect(await call).toBe(reason);
  });

  test("a name with a line break cannot pass for two entries", async () => {
    await using folder = await TestFolder.create({ "a\nb.txt": "" });
    expect((await list(folder)).text).toBe('.: 0 folders, 1 file\n"a\\nb.txt"');
  });

  test.each([
    [{ path: "a.txt" }, "WORKSPACE_NOT_A_FOLDER"],
    [{ path: "nothing" }, "WORKSPACE_NOT_FOUND"],
    [{ path: ".." }, "WORKSPACE_OUTSIDE"],
    [{ path: "" }, "TOOL_ARGUMENTS_INVALID"],
    [{ depth: 0 }, "TOOL_ARGUMENTS_INVALID"],
    [{ depth: 11 }, "TOOL_ARGUMENTS_INVALID"],
    [{ other: 1 }, "TOOL_ARGUMENTS_INVALID"],
  ])("%j fails with %s", async (args, code) => {
    await using folder = await TestFolder.create({ "a.txt": "" });
    expect((await list(folder, args)).error?.code).toBe(code);
  });
});
