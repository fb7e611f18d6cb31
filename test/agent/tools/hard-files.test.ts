import { describe, expect, test } from "bun:test";
import { chmod, mkdir, truncate } from "node:fs/promises";
import { join } from "node:path";
import { AS_NOBODY } from "../../fixtures/nobody.ts";
import { caller, shell, TestFolder } from "./folder.ts";

const isLinux = process.platform === "linux";
const isRoot = process.getuid?.() === 0;

describe("names", () => {
  test("with control characters, line ends, reversed writing or quotes stand on one line each", async () => {
    await using folder = await TestFolder.create();
    const names = ["a\nb", "c\u001b[31m", "d\u2028e", "f\u0085g", "h\u202egpj", '"quoted"', "\u007f"];
    for (const name of names) await folder.write(name, "needle");
    const call = caller(folder.root);
    const { text } = await call("list_files", {});
    const shown = [
      '"\\"quoted\\""',
      '"a\\nb"',
      '"c\\u001b[31m"',
      '"d\\u2028e"',
      '"f\\u0085g"',
      '"h\\u202egpj"',
      '"\\u007f"',
    ];
    expect(text.split("\n").slice(1).sort()).toEqual(shown.sort());
    for (const line of shown) expect(JSON.parse(line)).toBeOneOf(names);
    const found = await call("search_text", { text: "needle" });
    expect(found.text.split("\n")).toHaveLength(1 + names.length);
    const missing = await call("read_file", { path: "x\u2028\u202e\u009b" });
    expect(missing.text).toStartWith('"x\\u2028\\u202e\\u009b" does not exist.');
    expect((await call("read_file", { path: "a\nb" })).text).toBe("needle");
  });

  test.skipIf(!isLinux)(
    "that are no UTF-8 are shown as well as can be, and said to be unreadable",
    async () => {
      await using folder = await TestFolder.create({ f: "needle" });
      shell(folder.root, "echo needle > $'x\\xff'; mkdir $'d\\xfe'; echo needle > $'d\\xfe/g'");
      const call = caller(folder.root);
      expect((await call("list_files", { depth: 3 })).text).toContain("x\ufffd");
      expect((await call("search_text", { text: "needle" })).text).toMatch(
        /^1 line with "needle" in 1 file[\s\S]*f:1: needle[\s\S]*\d entr(y|ies) that could not be read\.\]$/,
      );
    },
  );
});

describe("size", () => {
  test("paths that are too long for the system are passed over and counted", async () => {
    await using folder = await TestFolder.create({ f: "needle" });
    const step = "d".repeat(240);
    shell(
      folder.root,
      `for k in $(seq 20); do mkdir ${step}; cd -P ${step} || exit 1; done; echo needle > deep`,
    );
    const call = caller(folder.root);
    const { text } = await call("search_text", { text: "needle" });
    expect(text).toStartWith('1 line with "needle" in 1 file; 1 file searched\nf:1: needle\n');
    expect(text).toEndWith("[Skipped: 1 entry that could not be read.]");
    expect((await call("list_files", { depth: 10 })).error).toBeUndefined();
    shell(folder.base, `rm -rf workspace/${step}`);
  });

  test("three hundred levels are walked without a pile of generators", async () => {
    await using folder = await TestFolder.create({ "a.txt": "needle", "z.txt": "needle" });
    const deep = Array.from({ length: 300 }, () => "d").join("/");
    await mkdir(join(folder.root, deep), { recursive: true });
    await folder.write(`${deep}/f`, "needle");
    const { text } = await caller(folder.root)("search_text", { text: "needle" });
    expect(text.split("\n").slice(1)).toEqual(["a.txt:1: needle", `${deep}/f:1: needle`, "z.txt:1: needle"]);
  });

  test("a folder of 20,000 files is listed in part, and searched", async () => {
    await using folder = await TestFolder.create();
    shell(folder.root, "seq 20001 | xargs touch");
    const call = caller(folder.root);
    expect((await call("list_files", {})).text).toEndWith(
      "[Left out: 19501 entries; list a folder of its own to see more.]",
    );
    const { text } = await call("search_text", { text: "needle" });
    expect(text).toStartWith("Nothing found; 20000 files searched\n");
    expect(text).toContain("[The search ended early, after 20000 files;");
  }, 20_000);

  test("a sparse file of 10 GB is neither read whole nor shown", async () => {
    await using folder = await TestFolder.create({ zeros: "", words: `needle\n${"x".repeat(9000)}\n` });
    await truncate(join(folder.root, "zeros"), 10e9);
    await truncate(join(folder.root, "words"), 10e9);
    const call = caller(folder.root);
    const before = process.memoryUsage().rss;
    expect((await call("read_file", { path: "zeros" })).error?.code).toBe("WORKSPACE_BINARY");
    expect((await call("read_file", { path: "words", limit: 1 })).text).toBe(
      "needle\n\n[Line 1 of a file of 10000000000 bytes. Read on with offset 2.]",
    );
    const { text } = await call("search_text", { text: "needle" });
    expect(text).toContain("words:1: needle");
    expect(text).toContain("[The search ended early, after 64 MiB;");
    expect(process.memoryUsage().rss - before).toBeLessThan(1024 * 1024 * 1024);
  });

  test("a listing is bounded in the bytes that it prints, also where names are escaped", async () => {
    await using folder = await TestFolder.create();
    for (let k = 0; k < 200; k += 1) await folder.write(`${"\u0001".repeat(250)}${k}`, "");
    const { text, error } = await caller(folder.root)("list_files", {});
    expect(error).toBeUndefined();
    expect(Buffer.byteLength(text)).toBeLessThan(66 * 1024);
    expect(text).toContain("[Left out: ");
  });
});

describe("what the system refuses", () => {
  test.skipIf(!isLinux)("is told without the place of the workspace", async () => {
    // A file that can be opened and not be read.
    const { error, text } = await caller("/proc/self")("read_file", { path: "mem" });
    expect(error?.code).toBe("WORKSPACE_FAILED");
    expect(text).toBe('"mem" could not be read (EIO).');
    expect((await caller("/proc/self")("read_file", { path: "root/etc/passwd" })).error?.code).toBe(
      "WORKSPACE_OUTSIDE",
    );
  });

  test.skipIf(AS_NOBODY === undefined)("rights are kept to, and what is closed is counted", async () => {
    await using folder = await TestFolder.create({
      f: "needle",
      "closed.txt": "needle",
      "closed/g": "needle",
    });
    await chmod(folder.base, 0o755);
    await chmod(join(folder.root, "closed.txt"), 0o600);
    await chmod(join(folder.root, "closed"), 0o700);
    const script = `
      const [tools, registry, root] = process.argv.slice(1);
      const { workspaceTools } = await import(tools);
      const { ToolRegistry } = await import(registry);
      const all = new ToolRegistry(workspaceTools(root));
      const call = (name, args) => all.call(name, JSON.stringify(args), new AbortController().signal);
      const calls = [
        await call("read_file", { path: "closed.txt" }),
        await call("read_file", { path: "closed/g" }),
        await call("list_files", { path: "closed" }),
        await call("list_files", { depth: 2 }),
        await call("search_text", { text: "needle" }),
      ];
      console.log(JSON.stringify(calls.map(({ text, error }) => error?.code ?? text)));`;
    const sources = ["index.ts", "registry.ts"].map((name) =>
      join(import.meta.dir, "../../../src/agent/tools", name),
    );
    const command = [...(AS_NOBODY ?? []), process.execPath, "-e", script, ...sources, folder.root];
    const { stdout, stderr } = Bun.spawnSync(command, { env: { PATH: process.env["PATH"] } });
    expect(stderr.toString()).toBe("");
    expect(JSON.parse(stdout.toString())).toEqual([
      "WORKSPACE_DENIED",
      "WORKSPACE_DENIED",
      "WORKSPACE_DENIED",
      ".: 1 folder, 2 files\nclosed/\nclosed.txt\nf\n\n[Not read: 1 folder.]",
      '1 line with "needle" in 1 file; 1 file searched\nf:1: needle\n\n[Skipped: 2 entries that could not be read.]',
    ]);
  });

  test.skipIf(!isLinux || !isRoot)("a device in the workspace is not opened", async () => {
    await using folder = await TestFolder.create({ f: "x" });
    if (Bun.spawnSync(["mknod", join(folder.root, "zero"), "c", "1", "5"]).exitCode !== 0) return;
    const call = caller(folder.root);
    expect((await call("read_file", { path: "zero" })).error?.code).toBe("WORKSPACE_NOT_A_FILE");
    expect((await call("list_files", {})).text).toEndWith("[Left out: 1 special file.]");
    expect((await call("search_text", { text: "x" })).text).toContain("1 entry that could not be read");
  });
});
