import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, symlink } from "node:fs/promises";
import { cleanEnvironment, executablePath, runHoldfast } from "../fixtures/executable.ts";
import { HostLab } from "../fixtures/host-lab.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { forever } from "../fixtures/model-replies.ts";
import { delta, finish, sseReply, statusReply, textReply } from "../fixtures/provider-server.ts";
import { TailProcess } from "../fixtures/tail-process.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

describe("invoke on a store", () => {
  test("runs one Turn without a Host, and goes on with the session", async () => {
    await using lab = await HostLab.on("zstd", textReply("One \u001b[31mred."), textReply("Two.\n"));
    const first = await runHoldfast(["invoke", ...lab.args, "First"]);
    expect(first).toEqual({ code: 0, stdout: "One \u001b[31mred.\n", stderr: "" });
    expect(await runHoldfast(["invoke", ...lab.args, "Second"])).toEqual({
      code: 0,
      stdout: "Two.\n",
      stderr: "",
    });
    expect(lab.server.requests[1]?.json()).toMatchObject({
      messages: [{ content: "First" }, {}, { content: "Second" }],
    });
  });

  test("says on stderr, once, in which folder a session was begun whose tools now see another one", async () => {
    await using folder = await TempFolder.create();
    const [here, there] = [folder.at("here"), folder.at("there")];
    await mkdir(here);
    await mkdir(there);
    await symlink(here, folder.at("link"));
    const go = (...flags: readonly string[]) =>
      runHoldfast(["invoke", "--session-db", folder.at("a.db"), ...flags, "say Hi"], { cwd: there });
    expect(await go("--workspace", here)).toEqual({ code: 0, stdout: "Hi\n", stderr: "" });
    expect((await go("--workspace", folder.at("link"))).stderr).toBe("");
    const { code, stdout, stderr } = await go("--json");
    expect({ code, message: JSON.parse(stdout).message }).toEqual({ code: 0, message: "Hi" });
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(stderr).toContain(`Session default was begun in ${here}; its tools now see ${there}\n`);
  });

  test("says why a Turn failed or ended early, as a Host would", async () => {
    await using lab = await HostLab.create(
      statusReply(401, { error: { message: "wrong key" } }),
      sseReply([delta({ content: "As far as I " }), finish("length")]),
    );
    const failed = await runHoldfast(["invoke", ...lab.args, "Hi!"]);
    expect(failed).toMatchObject({ code: 1, stdout: "" });
    expect(failed.stderr).toMatch(/^holdfast: The provider refused the API key.*\n {2}hint: .*\n$/);
    expect(await runHoldfast(["invoke", ...lab.args, "Hi!"])).toEqual({
      code: 1,
      stdout: "As far as I \n",
      stderr: "holdfast: the Turn ended early: max-tokens\n",
    });
  });

  test("tells of the Host that holds the store how to reach it", async () => {
    await using lab = await HostLab.create();
    await lab.start();
    const { code, stdout, stderr } = await runHoldfast(["invoke", ...lab.args, "Hi!"]);
    expect({ code, stdout }).toEqual({ code: 6, stdout: "" });
    expect(stderr).toMatch(
      /^holdfast: The store is in use by process .*\n {2}where: .*\n {2}hint: If that is a Host, .*--url/,
    );
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("%s ends the Turn as cancelled, and prints what there is of it", async (signal, code) => {
    await using lab = await HostLab.create(sseReply([delta({ content: "Let me " }), forever()]));
    await using follower = new TailProcess("sessions", "tail", "default", lab.store, "-f", "--events");
    await using child = Bun.spawn([executablePath(), "invoke", ...lab.args, "Hi!"], {
      stdio: ["ignore", "pipe", "pipe"],
      env: cleanEnvironment(),
      timeout: 20_000,
    });
    await follower.stdout.waitFor(/"Let me "/);
    child.kill(signal);
    await child.exited;
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    expect({ code: child.exitCode, stdout, stderr }).toEqual({ code, stdout: "Let me \n", stderr: "" });
    const { stdout: shown } = await runHoldfast(["sessions", "show", "default", lab.store]);
    expect(shown).toContain("Turn 1 ended: aborted by user");
  });
});

describe("invoke chooses", () => {
  test("flags before variables, and HOLDFAST_URL before a store's variable", async () => {
    await using folder = await TempFolder.create();
    await using host = await HostProcess.start();
    const path = folder.at("agent.db");
    await Bun.write(folder.at("settings.json"), JSON.stringify({ sessionDb: path }));
    const [url, store] = [{ HOLDFAST_URL: host.url }, { HOLDFAST_SESSION_DB: path }];
    const turns = async (...runs: ReadonlyArray<readonly [readonly string[], Record<string, string>]>) => {
      for (const [args, env] of runs) {
        const options = { env, cwd: folder.path };
        expect(await runHoldfast(["invoke", ...args, "say hi"], options)).toEqual({
          code: 0,
          stdout: "hi\n",
          stderr: "",
        });
      }
    };
    await turns(
      [[], { ...url, ...store }],
      [["--url", host.url], store],
      [[], { ...url, HOLDFAST_CONFIG: "settings.json" }],
      [[], { ...url, HOLDFAST_PROVIDER: "openai-compatible" }],
    );
    const events = (await host.client.read()).events.filter(({ type }) => type === "turn/start");
    expect(events).toHaveLength(4);
    await turns(
      [["--session-db", path], url],
      [["--workspace", folder.path], { ...url, ...store }],
      [[], { ...store, HOLDFAST_URL: "" }],
      [["--config", "settings.json"], url],
    );
    const { stdout } = await runHoldfast(["sessions", "show", "default", path, "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ transcript: { length: 8 } });
  });

  test.each([
    [
      "a Host and a store",
      ["--url", "http://127.0.0.1:1", "--session-db", "a.db"],
      /--url .* and --session-db .*/,
    ],
    [
      "a Host and its agent's flags",
      ["--url", "unix:host.sock", "--max-steps", "3"],
      /--url .* and --max-steps .*/,
    ],
    [
      "an agent without a store",
      ["--workspace", "."],
      /^holdfast: --workspace .* no store is named\n {2}hint: Add --session-db/,
    ],
    ["two stores", ["--session-db", "a.db", "--session-dir", "a"], /each name a store/],
    ["an address that is none", ["--url", "unix:"], /--url cannot be "unix:"/],
  ])("not %s", async (_, flags, message) => {
    await using folder = await TempFolder.create();
    const { code, stdout, stderr } = await runHoldfast(["invoke", ...flags, "Hi!"], { cwd: folder.path });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });
});

describe("invoke -", () => {
  const invoke = (stdin: string | Uint8Array, folder: TempFolder) =>
    runHoldfast(["invoke", "--session-db", "a.db", "-"], { stdin, cwd: folder.path });

  test("reads the text from stdin, as it stands there, without a byte order mark", async () => {
    await using lab = await HostLab.create(textReply("Read."));
    const text = ` "two"\r\nlines \\\n-- ${"µ\u{1f4a3}".repeat(50_000)}\n`;
    const { code, stdout } = await runHoldfast(["invoke", ...lab.args, "-"], { stdin: `\ufeff${text}` });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Read.\n" });
    expect(lab.server.requests[0]?.json()).toMatchObject({ messages: [{ content: text }] });
  });

  test.each([
    ["nothing", "", "The text on stdin is empty"],
    ["white space", " \n\t\n", "The text on stdin is empty"],
    ["what is not UTF-8", Buffer.from([0x61, 0xc3]), "The text on stdin is not UTF-8"],
    ["more than 8 MiB", "a".repeat(8 * 1024 * 1024 + 1), "The text on stdin is longer than 8 MiB"],
  ])("refuses %s", async (_, stdin, message) => {
    await using folder = await TempFolder.create();
    const finished = await invoke(stdin, folder);
    expect(finished).toMatchObject({ code: 2, stdout: "" });
    expect(finished.stderr).toMatch(new RegExp(`^holdfast: ${message}\n {2}hint: .*\n$`));
    expect(await Bun.file(folder.at("a.db")).exists()).toBe(false);
  });
});

describe("invoke --json", () => {
  test("prints the answer of the HTTP API, with a Host and with a store", async () => {
    await using folder = await TempFolder.create();
    await using host = await HostProcess.start();
    const run = async (flags: readonly string[]) => {
      const finished = await runHoldfast(["invoke", "--json", ...flags, "say \u001b[31mhi"], {
        cwd: folder.path,
      });
      expect(finished).toMatchObject({ code: 0, stderr: "" });
      expect(finished.stdout).toMatch(/^\{\P{Cc}*\}\n$/u);
      expect(finished.stdout).toContain("\\u001b[31mhi");
      return JSON.parse(finished.stdout);
    };
    const [remote, local] = [await run(["--url", host.url]), await run(["--session-db", "a.db"])];
    expect(Object.keys(local)).toEqual(Object.keys(remote));
    expect({ ...local, invocationId: "" }).toEqual({ ...remote, invocationId: "" });
    expect(local).toMatchObject({
      sessionId: "default",
      turn: 1,
      reason: { kind: "completed" },
      message: "\u001b[31mhi",
    });
  });

  test("prints code, detail and hint of what it failed of", async () => {
    await using lab = await HostLab.create(
      ...[1, 2].map(() => statusReply(401, { error: { message: "wrong key" } })),
    );
    const local = await runHoldfast(["invoke", "--json", ...lab.args, "Hi!"]);
    const { url } = await lab.start();
    const remote = await runHoldfast(["invoke", "--json", "--url", url, "Hi!"]);
    expect(local).toEqual(remote);
    expect(local).toMatchObject({ code: 1, stderr: expect.stringContaining("refused the API key") });
    const problem = JSON.parse(local.stdout);
    expect(Object.keys(problem)).toEqual(["code", "detail", "hint"]);
    expect(problem).toMatchObject({ code: "provider-auth" });
  });
});
