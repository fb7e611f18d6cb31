import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { runHoldfast } from "../fixtures/executable.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

async function logsBelow(path: string): Promise<string[]> {
  return (await folderState(path))
    .map((line) => line.split(" ")[0] ?? "")
    .filter((name) => name.includes("session."));
}

describe("serve --session-dir", () => {
  test("keeps each session as a log, and goes on with it after a restart", async () => {
    await using folder = await TempFolder.create();
    const args = ["--session-dir", folder.at("deep", "logs"), "--workspace", folder.path];
    for (const turn of [1, 2, 3]) {
      await using host = await HostProcess.start({ args });
      expect((await host.client.invoke("say hello")).body).toMatchObject({ turn, message: "hello" });
      expect(await host.stop(turn === 2 ? "SIGKILL" : "SIGTERM")).toBeObject();
    }
    expect(await logsBelow(folder.path)).toEqual([expect.stringMatching(/\/default\/session\.jsonl\.zstd$/)]);
  });

  test("writes plain lines with --jsonl-encoding none, and keeps to them without it", async () => {
    await using folder = await TempFolder.create();
    const store = ["--session-dir", folder.at("logs"), "--workspace", folder.path];
    for (const more of [
      ["--jsonl-encoding", "none"],
      ["--session-id", "other"],
    ]) {
      await using host = await HostProcess.start({ args: [...store, ...more] });
      await host.client.invoke("say hello", "a");
      await host.stop("SIGTERM");
    }
    const logs = await logsBelow(folder.path);
    expect(logs).toHaveLength(2);
    for (const log of logs) {
      expect(log).toEndWith("/session.jsonl");
      const [header = ""] = (await Bun.file(folder.at(log)).text()).split("\n");
      expect(JSON.parse(header)).toMatchObject({ version: 0 });
    }
  });

  test("holds the root alone: a second Host is refused as locked", async () => {
    await using folder = await TempFolder.create();
    await using host = await HostProcess.start({ args: ["--session-dir", folder.at("logs")] });
    const second = await runHoldfast(["serve", "--port", "0", "--session-dir", folder.at("logs")]);
    expect(second).toMatchObject({ code: 6, stdout: "" });
    expect(second.stderr).toContain(`process ${host.pid}, `);
  });

  test("lets no tool open a file of the store, so that the store stays locked and writable", async () => {
    await using folder = await TempFolder.create();
    await writeFile(folder.at("README.md"), "# A folder\n");
    const args = ["--session-dir", folder.at("logs"), "--workspace", folder.path];
    await using host = await HostProcess.start({ args, cwd: folder.path });
    for (const turn of [1, 2]) {
      const { body } = await host.client.invoke("What is in this folder?");
      expect(body).toMatchObject({ turn, reason: { kind: "completed" } });
      expect(await runHoldfast(["serve", "--port", "0", ...args])).toMatchObject({ code: 6 });
    }
    const { text } = await host.client.read();
    // The search met the log, the lock and its owner.
    expect(text).toContain("3 entries that could not be read");
    expect(text).not.toContain("logs.owner:");
  });
});

describe("the store of serve", () => {
  test.each([
    ["two flags", ["--session-db", "a.db", "--session-dir", "logs"], {}],
    ["two variables", [], { HOLDFAST_SESSION_DB: "a.db", HOLDFAST_SESSION_DIR: "logs" }],
    ["an empty folder name", ["--session-dir", ""], {}],
  ])("is not named by %s: a mistake of usage, and nothing is made", async (_, args, env) => {
    await using folder = await TempFolder.create();
    const finished = await runHoldfast(["serve", "--port", "0", ...args], { cwd: folder.path, env });
    expect(finished).toMatchObject({ code: 2, stdout: "" });
    expect(await folderState(folder.path)).toEqual([]);
  });

  test.each([
    [["--session-db", "a.db"], { HOLDFAST_SESSION_DIR: "logs" }, "a.db"],
    [["--session-dir", "logs"], { HOLDFAST_SESSION_DB: "a.db" }, "logs"],
  ])("is named by a flag before the variable of the other: %p", async (args, env, name) => {
    await using folder = await TempFolder.create();
    await mkdir(folder.at("workspace"));
    await using host = await HostProcess.start({ args, env, cwd: folder.path });
    await host.client.invoke("say hello");
    await host.stop("SIGTERM");
    const { stdout } = await runHoldfast(["sessions", "list", folder.at(name), "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ id: "default", state: "ok" });
    const made = (await folderState(folder.path)).map((line) => line.split(/[ /.]/)[0]);
    expect(new Set(made)).toEqual(new Set([name.split(".")[0], "workspace"]));
  });
});
