import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmod, copyFile, mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { makeStore } from "../fixtures/damaged-store.ts";
import { executablePath, runCommand, runHoldfast } from "../fixtures/executable.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { HostLab } from "../fixtures/host-lab.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { ProviderServer, textReply } from "../fixtures/provider-server.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

/** One message: what happened, perhaps where, and what to do. */
const ONE_MESSAGE = /^holdfast: [^\n]+\n( {2}where: [^\n]+\n)? {2}hint: [^\n]+\n$/;

describe("a port that is taken", () => {
  test("is refused with its number, and the store is left as it is and free", async () => {
    await using folder = await TempFolder.create();
    await makeStore(folder.at("agent.db"));
    const before = await folderState(folder.path);
    await using other = new ProviderServer();
    const { port } = new URL(other.baseUrl);
    const args = ["--session-db", folder.at("agent.db")];
    const { code, stdout, stderr } = await runHoldfast(["serve", "--port", port, ...args]);
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    expect(stderr).toContain(`Port ${port} on 127.0.0.1 is in use`);
    expect(await folderState(folder.path)).toEqual(before);
    await using host = await HostProcess.start({ args });
    expect((await host.client.invoke("say hello")).body).toMatchObject({ turn: 2 });
  });

  test("is refused when another Host has it", async () => {
    await using host = await HostProcess.start();
    const { code, stdout, stderr } = await runHoldfast(["serve", "--port", new URL(host.url).port]);
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    expect(stderr).toMatch(/Port \d+ on 127\.0\.0\.1 is in use/);
    expect((await host.client.invoke("say hello")).status).toBe(200);
  });
});

describe("a store that another process holds", () => {
  test("is refused with the holder's pid and start, and free the moment that process is killed", async () => {
    await using lab = await HostLab.create(textReply("hello"), textReply("again"));
    const begun = Date.now();
    const holder = await lab.start();
    await holder.client.invoke("hi");
    const { code, stdout, stderr } = await runHoldfast(["serve", "--port", "0", ...lab.args]);
    expect({ code, stdout }).toEqual({ code: 6, stdout: "" });
    expect(stderr).toMatch(ONE_MESSAGE);
    expect(stderr).toContain(`process ${holder.pid}, `);
    expect(stderr).toContain(lab.store);
    const started = Date.parse(/started at (\S+Z)/.exec(stderr)?.[1] ?? "");
    // Rounding of process start times differs by a little.
    expect(started).toBeGreaterThan(begun - 1_000);
    expect(started).toBeLessThanOrEqual(Date.now());

    expect((await holder.client.read()).transcript).toHaveLength(2);
    await holder.stop("SIGKILL");
    const next = await lab.start();
    expect((await next.client.invoke("hi again")).body).toMatchObject({ turn: 2, message: "again" });
  });

  test("is the same store under another name", async () => {
    await using lab = await HostLab.create();
    await lab.start();
    await Bun.spawn(["ln", "-s", dirname(lab.store), lab.folder.at("link")]).exited;
    const args = ["serve", "--port", "0", "--session-db", lab.folder.at("link", "agent.db")];
    expect(await runHoldfast(args)).toMatchObject({ code: 6, stdout: "" });
  });

  test("belongs to exactly one of many that start at once on a new store", async () => {
    await using lab = await HostLab.create();
    const started = await Promise.allSettled(Array.from({ length: 6 }, () => lab.start()));
    const hosts = started.filter((result) => result.status === "fulfilled");
    expect(hosts).toHaveLength(1);
    for (const result of started) {
      if (result.status === "fulfilled") continue;
      expect(String(result.reason)).toContain('{"code":6}');
      expect(String(result.reason)).toContain("The store is in use by ");
    }
  });
});

const isRoot = process.getuid?.() === 0;
const hasSetpriv = Bun.which("setpriv") !== null;

/** A folder that anyone can look into, with the executable, and the words that run it as a user who owns nothing. */
async function openFolder(): Promise<{ folder: TempFolder; holdfast: readonly string[] }> {
  const folder = await TempFolder.create();
  await chmod(folder.path, 0o755);
  const copy = folder.at("holdfast");
  await copyFile(executablePath(), copy);
  await chmod(copy, 0o755);
  const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
  return { folder, holdfast: isRoot ? [...nobody, copy] : [copy] };
}

describe.skipIf(process.platform === "win32" || (isRoot && !hasSetpriv))("without the permission", () => {
  test("to read the store, it is refused and left as it is", async () => {
    const { folder, holdfast } = await openFolder();
    await using _ = folder;
    await mkdir(folder.at("data"));
    await makeStore(folder.at("data", "agent.db"));
    const before = await folderState(folder.at("data"));
    await chmod(folder.at("data", "agent.db"), isRoot ? 0o600 : 0);
    const args = ["serve", "--port", "0", "--session-db", folder.at("data", "agent.db")];
    const { code, stdout, stderr } = await runCommand([...holdfast, ...args], { cwd: folder.path });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(ONE_MESSAGE);
    expect(stderr).toContain(folder.at("data", "agent.db"));
    await chmod(folder.at("data", "agent.db"), 0o600);
    expect(await folderState(folder.at("data"))).toEqual(before);
  });

  test("to write into the folder, no store is made", async () => {
    const { folder, holdfast } = await openFolder();
    await using _ = folder;
    await mkdir(folder.at("data"));
    await chmod(folder.at("data"), 0o555);
    const args = ["serve", "--port", "0", "--session-db", folder.at("data", "deep", "agent.db")];
    const { code, stdout, stderr } = await runCommand([...holdfast, ...args], { cwd: folder.path });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(ONE_MESSAGE);
    await chmod(folder.at("data"), 0o755);
    expect(await folderState(folder.at("data"))).toEqual([]);
  });
});

const REAL_MODEL = ["--provider", "openai-compatible", "--model", "m", "--base-url", "http://127.0.0.1:1/v1"];

describe("a configuration that cannot work is refused before anything is made:", () => {
  test.each([
    ["a key variable that is not set", [...REAL_MODEL, "--api-key-env", "NO_SUCH_KEY"], "NO_SUCH_KEY"],
    ["a model without its address", REAL_MODEL.slice(0, 4), "--base-url"],
    ["a provider without a model", ["--provider", "openai-compatible"], "--model"],
    ["an address that other machines reach, without a token", ["--host", "0.0.0.0"], "no token is set"],
    ["any address without a token", ["--host", "::"], "no token is set"],
    ["a prompt file that is not there", ["--system-prompt-file", "nowhere.txt"], "nowhere.txt"],
    ["a token file that is not there", ["--token-file", "nowhere.txt"], "nowhere.txt"],
    ["an empty token file", ["--host", "0.0.0.0", "--token-file", "empty.txt"], "is empty"],
  ])("%s", async (_, args, message) => {
    await using folder = await TempFolder.create();
    await writeFile(folder.at("empty.txt"), "\n");
    const store = ["--port", "0", "--session-db", folder.at("data", "agent.db")];
    const finished = await runHoldfast(["serve", ...store, ...args], { cwd: folder.path });
    expect(finished).toMatchObject({ code: 2, stdout: "" });
    expect(finished.stderr).toMatch(ONE_MESSAGE);
    expect(finished.stderr).toContain(message);
    expect(await folderState(folder.path)).toHaveLength(1);
  });

  test("a setting in a file that comes through a pipe, as from a command in a shell", async () => {
    const script = `printf '{"port":"many"}' | "$0" serve --config /dev/stdin`;
    const { code, stdout, stderr } = await runCommand(["sh", "-c", script, executablePath()]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain('"port" in /dev/stdin cannot be "many"');
  });
});

const KEY = "sk-very-secret-0123456789";

describe("a key never stands in a message, wherever it was put:", () => {
  const PLACES: ReadonlyArray<readonly [string, readonly string[], Readonly<Record<string, string>>]> = [
    ["a flag that there is not", ["--api-key", KEY], {}],
    ["a flag that there is not, with =", [`--api-key=${KEY}`], {}],
    ["a flag of another program", [`--openai-key=${KEY}`], {}],
    ["the flag of a token", ["--token", KEY], {}],
    ["the place of its name", ["--api-key-env", KEY], {}],
    ["the place of a token's file", ["--token-file", KEY], {}],
    ["an address", ["--base-url", `https://me:${KEY}@api.example/v1`], {}],
    ["any other flag", ["--temperature", KEY], {}],
    ["a configuration file", ["--config", "key.json"], {}],
    ["a configuration file, without quotes", ["--config", "bare.json"], {}],
    ["a variable of Holdfast", [], { HOLDFAST_PORT: KEY }],
    [
      "the session's id, beside its own variable",
      REAL_MODEL,
      { MY_KEY: KEY, HOLDFAST_API_KEY_ENV: "MY_KEY", HOLDFAST_SESSION_ID: KEY },
    ],
    [
      "its variable, with what no header can carry",
      REAL_MODEL,
      { MY_KEY: `${KEY}\nx`, HOLDFAST_API_KEY_ENV: "MY_KEY" },
    ],
  ];
  test.each(PLACES)("%s", async (_, args, env) => {
    await using folder = await TempFolder.create();
    await writeFile(folder.at("key.json"), JSON.stringify({ apiKey: KEY }));
    await writeFile(folder.at("bare.json"), `{"model": ${KEY.replaceAll("-", "_")}}`);
    const store = ["--port", "0", "--session-db", folder.at("data", "agent.db")];
    const given = "HOLDFAST_PORT" in env ? store.slice(2) : store;
    const { code, stdout, stderr } = await runHoldfast(["serve", ...given, ...args], {
      env,
      cwd: folder.path,
    });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).not.toMatch(/very|0123456789/);
    expect(await folderState(folder.path)).toHaveLength(2);
  });
});
