import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { renameSync } from "node:fs";
import { rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hold, look } from "../../../src/agent/tools/hold.ts";
import { Workspace } from "../../../src/agent/tools/workspace.ts";
import { caller, shell, TestFolder } from "./folder.ts";

const isLinux = process.platform === "linux";

describe("links that lead out by a roundabout way are no way out", () => {
  const links: ReadonlyArray<readonly [string, string]> = [
    ["the root of the process", "/proc/self/root/etc/passwd"],
    ["a descriptor of the process", "/proc/self/fd/../../../etc/passwd"],
    ["the parent of the place", "sub/../../outside/secret.txt"],
    ["an absolute one that comes back", "/proc/self/root"],
    ["a device", "/dev/zero"],
    ["a terminal", "/dev/tty"],
    ["memory", "/proc/self/mem"],
    ["the environment", "/proc/self/environ"],
  ];

  test.skipIf(!isLinux).each(links)("%s", async (_, target) => {
    await using folder = await TestFolder.create({ "sub/": "", f: "needle" });
    await writeFile(join(folder.outside, "secret.txt"), "needle");
    await folder.link("way", target);
    await folder.link("sub/way", "../way");
    const call = caller(folder.root);
    for (const path of ["way", "sub/way", "way/etc/passwd", "./sub/../sub/way"]) {
      const { error, text } = await call("read_file", { path });
      expect(error?.code).toMatch(/^WORKSPACE_(OUTSIDE|NOT_FOUND)$/);
      expect(text).not.toContain(folder.base);
    }
    expect((await call("search_text", { text: "needle" })).text).toStartWith(
      '1 line with "needle" in 1 file; 1 file searched\nf:1: needle\n',
    );
    expect((await call("list_files", { depth: 5 })).text).toStartWith(".: 1 folder, 1 file\nf\nsub/\n\n");
  });

  test("a chain of forty links, and a circle of two, are refused as the system refuses them", async () => {
    await using folder = await TestFolder.create({ f: "text" });
    for (let k = 0; k < 45; k += 1) await folder.link(`l${k}`, k === 0 ? "f" : `l${k - 1}`);
    await folder.link("here", "there");
    await folder.link("there", "here");
    const call = caller(folder.root);
    expect((await call("read_file", { path: "l30" })).text).toBe("text");
    for (const path of ["l44", "here", "there/f"]) {
      expect((await call("read_file", { path })).error?.code).toBe("WORKSPACE_NOT_FOUND");
    }
  });

  test("links in great number are counted rather than followed", async () => {
    await using folder = await TestFolder.create();
    shell(
      folder.root,
      "for k in $(seq 1200); do echo $k; done | xargs -I{} -n 1000 true; mkdir l; cd l; seq 1200 | xargs -n 1200 touch; ln -s -t .. $PWD/*",
    );
    const { text } = await caller(folder.root)("list_files", {});
    expect(text).toContain("[Left out: 701 entries; list a folder of its own to see more.");
  });
});

describe("what changes between a look and the opening", () => {
  /** Opens `notes.txt` and reads it; between the look and the opening, `swap` gets the path of that file. */
  async function readSwapped(
    folder: TestFolder,
    swap: (path: string) => void,
    holdBy = hold,
  ): Promise<string> {
    const protectedFiles = () => {
      swap(join(folder.root, "notes.txt"));
      return [join(folder.base, "agent.db")];
    };
    const workspace = new Workspace(folder.root, protectedFiles, holdBy);
    const { handle } = await workspace.openFile(await workspace.resolve("notes.txt"));
    try {
      return await handle.readFile("utf8");
    } finally {
      await handle.close();
    }
  }

  const swaps: ReadonlyArray<readonly [string, string]> = [
    ["a pipe", "mkfifo notes.txt"],
    ["a link to a file outside", "ln -s ../outside/secret.txt notes.txt"],
    ["a link to a device", "ln -s /dev/zero notes.txt"],
    ["a folder", "mkdir notes.txt"],
    ["another file", "ln ../outside/secret.txt notes.txt"],
    ["nothing", "true"],
  ];

  test.each(swaps)("%s in the place of the file is not read, and not waited for", async (_, script) => {
    for (const holdBy of isLinux ? [hold, look] : [look]) {
      await using folder = await TestFolder.create({ "notes.txt": "mine" });
      await writeFile(join(folder.outside, "secret.txt"), "secret");
      const swap = () => shell(folder.root, `rm notes.txt; ${script}`);
      const text = await readSwapped(folder, swap, holdBy).catch((error: unknown) => error);
      // The file that was looked at is read, or none.
      if (holdBy === look && script.startsWith("ln ../")) expect(text).toBe("secret");
      else if (holdBy === look) expect(text).toMatchObject({ name: "WorkspaceError" });
      else expect(text).toBe("mine");
    }
  });

  test.skipIf(!isLinux)("a store in the place of the file keeps its lock", async () => {
    await using folder = await TestFolder.create({ "notes.txt": "mine" });
    const path = join(folder.base, "agent.db");
    using database = new Database(path);
    database.run("CREATE TABLE t (x)");
    database.run("BEGIN EXCLUSIVE");
    const swap = (notes: string) => shell(folder.root, `ln -f "${path}" "${notes}"`);
    expect(await readSwapped(folder, swap)).toBe("mine");
    const script = 'new (require("bun:sqlite").Database)(process.argv[1]).run("BEGIN EXCLUSIVE")';
    const other = Bun.spawnSync([process.execPath, "-e", script, path]);
    expect(other.stderr.toString()).toContain("SQLITE_BUSY");
  });

  test("the whole workspace: gone, a file, another folder", async () => {
    await using folder = await TestFolder.create({ "a/f": "needle" });
    const call = caller(folder.root);
    await rename(folder.root, join(folder.base, "elsewhere"));
    for (const [name, args] of [
      ["read_file", { path: "a/f" }],
      ["list_files", {}],
      ["search_text", { text: "needle" }],
    ] as const) {
      const { error, text } = await call(name, args);
      expect(error?.code).toBe("WORKSPACE_FAILED");
      expect(text).toBe("The workspace folder is missing or cannot be read.");
    }
    await writeFile(folder.root, "a file");
    expect((await call("list_files", {})).error?.code).toBe("WORKSPACE_NOT_A_FOLDER");
    await rm(folder.root);
    await symlink(join(folder.base, "elsewhere"), folder.root);
    expect((await call("read_file", { path: "a/f" })).text).toBe("needle");
  });

  test("a folder that changes places with a link outside while it is read shows nothing of the outside", async () => {
    await using folder = await TestFolder.create({ "a/mine": "needle" });
    await writeFile(join(folder.outside, "secret-name"), "needle");
    const call = caller(folder.root);
    const [place, aside] = [join(folder.root, "a"), join(folder.base, "aside")];
    await symlink(folder.outside, aside);
    const turn = () => {
      renameSync(place, `${aside}-2`);
      renameSync(aside, place);
      renameSync(`${aside}-2`, aside);
    };
    for (let round = 0; round < 150; round += 1) {
      const running =
        round % 2 === 0 ? call("list_files", { path: "a" }) : call("search_text", { text: "needle" });
      for (let hop = round % 7; hop > 0; hop -= 1) await new Promise((resolve) => setImmediate(resolve));
      turn();
      const { text } = await running;
      expect(text).not.toContain("secret-name");
    }
  });
});
