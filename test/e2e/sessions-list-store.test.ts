import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { type CommandOptions, type Finished, runHoldfast } from "../fixtures/executable.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { plantSmall } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const ONE_MESSAGE = /^holdfast: [^\n]+\n( {2}where: [^\n]+\n)? {2}hint: [^\n]+\n$/;

function list(args: readonly string[], options: CommandOptions = {}): Promise<Finished> {
  return runHoldfast(["sessions", "list", ...args], options);
}

describe("which store is read", () => {
  test("is said by an argument, a flag or a variable, in this order", async () => {
    await using folder = await TempFolder.create();
    await plantSmall(folder.at("a.db"), ["in-a"]);
    await plantSmall(folder.at("b.db"), ["in-b"]);
    await plantSmall(`jsonl:${folder.at("logs")}`, ["in-logs"]);
    const env = { HOLDFAST_SESSION_DB: "a.db" };
    const cases: ReadonlyArray<readonly [readonly string[], Record<string, string>, string]> = [
      [[], env, "in-a"],
      [["--session-db", "b.db"], env, "in-b"],
      [["--session-dir", "logs"], env, "in-logs"],
      [["--session-db", "b.db"], { HOLDFAST_SESSION_DIR: "logs" }, "in-b"],
      [["b.db"], { HOLDFAST_SESSION_DIR: "logs" }, "in-b"],
      [["jsonl:logs"], env, "in-logs"],
      [["logs"], { HOLDFAST_SESSION_DB: "a.db", HOLDFAST_SESSION_DIR: "x" }, "in-logs"],
      [[], { HOLDFAST_SESSION_DB: "", HOLDFAST_SESSION_DIR: "logs" }, "in-logs"],
    ];
    for (const [args, variables, id] of cases) {
      const { code, stdout } = await list(args, { cwd: folder.path, env: variables });
      expect({ code, shown: stdout.includes(id) }, `${args} ${id}`).toEqual({ code: 0, shown: true });
    }
  });

  const both = { HOLDFAST_SESSION_DB: "a.db", HOLDFAST_SESSION_DIR: "logs" };
  test.each([
    ["no store at all", [], {}],
    ["two flags", ["--session-db", "a.db", "--session-dir", "logs"], {}],
    ["two variables", [], both],
    ["a flag and an argument", ["--session-db", "a.db", "b.db"], {}],
    ["two arguments", ["a.db", "b.db"], {}],
    ["an empty flag", ["--session-db", ""], {}],
    ["an empty argument", [""], {}],
    ["a kind of store that there is not", ["postgres:x"], {}],
    ["a kind without a path", ["sqlite:"], {}],
    ["an unknown flag", ["--all", "a.db"], {}],
    ["a state that there is not", ["--state", "fine", "a.db"], {}],
    ["a time that is none", ["--since", "soon", "a.db"], {}],
    ["a number that is none", ["--limit", "0", "a.db"], {}],
    ["a cursor that nobody told", ["--cursor", "x", "a.db"], {}],
    ["ids and a filter", ["--ids", "--grep", "x", "a.db"], {}],
  ])("is not said by %s: a mistake of usage", async (_, args, env) => {
    await using folder = await TempFolder.create();
    const { code, stdout, stderr } = await list(args, { cwd: folder.path, env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).not.toBe("");
    expect(await folderState(folder.path)).toEqual([]);
  });

  test("must be there: reading makes neither file nor folder", async () => {
    await using folder = await TempFolder.create();
    for (const args of [["a/b.db"], ["jsonl:logs"], ["new-folder"], ["--session-dir", "x/y"]]) {
      const { code, stdout, stderr } = await list(args, { cwd: folder.path });
      expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
      expect(stderr).toMatch(ONE_MESSAGE);
    }
    expect(await folderState(folder.path)).toEqual([]);
  });

  test("is not the log of one session: the root is named, or how to take the log into a store", async () => {
    await using folder = await TempFolder.create();
    await plantSmall(`jsonl:${folder.at("logs")}`, ["s"]);
    const log = "logs/--srv-x--/s/session.jsonl.zstd";
    await mkdir(folder.at("alone"));
    await copyFile(folder.at(log), folder.at("alone/session.jsonl.zstd"));
    const rooted = await list([log], { cwd: folder.path });
    expect(rooted).toMatchObject({ code: 3, stdout: "" });
    expect(rooted.stderr).toStartWith("holdfast: The file is the log of one session, not a store\n");
    expect(rooted.stderr).toEndWith(`  hint: Name the root of the session logs: ${folder.at("logs")}\n`);
    const alone = await list(["alone/session.jsonl.zstd"], { cwd: folder.path });
    expect(alone.code).toBe(3);
    expect(alone.stderr).toEndWith("  hint: `holdfast sessions import` takes it into a store.\n");
  });

  test.each([
    ["a text file", "notes.txt", 7],
    ["a text file as a root of logs", "jsonl:notes.txt", 1],
    ["a folder as a database", "sqlite:.", 1],
    ["a path below a file", "notes.txt/a.db", 1],
  ])("cannot be %s", async (_, name, expected) => {
    await using folder = await TempFolder.create();
    await writeFile(folder.at("notes.txt"), "Remember the milk.\n".repeat(20));
    const before = await folderState(folder.path);
    const { code, stdout, stderr } = await list([name], { cwd: folder.path });
    expect({ code, stdout }).toEqual({ code: expected, stdout: "" });
    expect(stderr).toMatch(ONE_MESSAGE);
    expect(await folderState(folder.path)).toEqual(before);
  });
});
