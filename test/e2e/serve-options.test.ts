import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { z } from "zod";
import { runHoldfast } from "../fixtures/executable.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { ProviderServer, toolCallReply } from "../fixtures/provider-server.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

/** A value of each flag that cannot be used. Any text will do for the others, but not none. */
const UNUSABLE: Readonly<Record<string, string>> = {
  "--jsonl-encoding": "gzip",
  "--at": "-1",
  "--port": "many",
  "--listen": "/run/x",
  "--provider": "oracle",
  "--base-url": "ftp://127.0.0.1/v1",
  "--temperature": "warm",
  "--max-tokens": "0",
  "--extra-body": "[]",
  "--connect-timeout": "0",
  "--idle-timeout": "-1",
  "--request-timeout": "0",
  "--retries": "1.5",
  "--max-steps": "0",
  "--tool-timeout": "long",
  "--chunk-window": "-1",
  "--drain-timeout": "soon",
  "--max-queue": "none",
};
const TEXTS = [
  "--config",
  "--api-key-env",
  "--session-db",
  "--session-dir",
  "--session-id",
  "--fork-from",
  "--host",
  "--model",
  "--reasoning-effort",
  "--stop",
  "--workspace",
  "--system-prompt-file",
  "--token-file",
];

/** A model that looks at the workspace and does not come to an end. */
const LOOKING = ["a", "b", "c"].map((id) => toolCallReply({ id, name: "list_files", arguments: "{}" }));

/** The call settings of {@link usable}, as a server is asked, and as the session records them. */
const CALL = {
  asked: { reasoning_effort: "high", temperature: 0.5, max_tokens: 99, stop: ["END"], top_k: 20 },
  recorded: {
    reasoningEffort: "high",
    temperature: 0.5,
    maxTokens: 99,
    stop: ["END"],
    extraBody: { top_k: 20 },
  },
};

const sessionSchema = z.object({
  header: z.object({ cwd: z.string() }),
  events: z.array(z.object({ type: z.string(), data: z.unknown() })),
});

/** `--session-db` → `HOLDFAST_SESSION_DB`. */
function variableOf(flag: string): string {
  return `HOLDFAST_${flag.slice(2).replaceAll("-", "_").toUpperCase()}`;
}

/** `--session-db` → `sessionDb`. */
function memberOf(flag: string): string {
  return flag.slice(2).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Usable values for every flag, for a Host that asks `server`. */
async function usable(folder: TempFolder, server: ProviderServer): Promise<Record<string, string>> {
  await mkdir(folder.at("notes"), { recursive: true });
  await writeFile(folder.at("notes", "README.md"), "# Buy milk\n");
  await writeFile(folder.at("prompt.txt"), "Be brief.");
  await writeFile(folder.at("token.txt"), "house key\n");
  return {
    "--session-db": folder.at("agent.db"),
    "--jsonl-encoding": "none",
    "--session-id": "mine",
    "--host": "localhost",
    "--port": "0",
    "--provider": "openai-compatible",
    "--model": "model-x",
    "--base-url": server.baseUrl,
    "--api-key-env": "MY_KEY",
    "--reasoning-effort": "high",
    "--temperature": "0.5",
    "--max-tokens": "99",
    "--stop": "END",
    "--extra-body": '{"top_k":20}',
    "--connect-timeout": "20",
    "--idle-timeout": "20",
    "--request-timeout": "20",
    "--retries": "1",
    "--tool-timeout": "20",
    "--max-queue": "5",
    "--max-steps": "2",
    "--workspace": folder.at("notes"),
    "--system-prompt-file": folder.at("prompt.txt"),
    "--chunk-window": "0",
    "--drain-timeout": "5",
    "--token-file": folder.at("token.txt"),
  };
}

function asVariables(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([flag, value]) => [variableOf(flag), value]));
}

/** Runs a Turn on the configured Host and looks for the effect of each option. */
async function expectConfigured(host: HostProcess, folder: TempFolder, server: ProviderServer) {
  expect(host.url).toMatch(/^http:\/\/localhost:\d+$/);
  const send = (path: string, init: RequestInit = {}) =>
    fetch(host.url + path, { ...init, headers: { ...init.headers, authorization: "Bearer house key" } });
  expect((await fetch(`${host.url}/healthz`)).status).toBe(401);
  const response = await send("/api/v1/agent/invocations/a", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input: "Where is the milk?" }),
  });
  expect(await response.json()).toMatchObject({
    sessionId: "mine",
    steps: 2,
    reason: { kind: "error", error: { code: "max-steps" } },
  });
  const request = await server.request(1);
  expect(request.headers.get("authorization")).toBe("Bearer secret");
  expect(request.json()).toMatchObject(CALL.asked);
  const body = JSON.stringify(request.json());
  expect(body).toContain('"model":"model-x"');
  expect(body).toContain('{"role":"system","content":"Be brief."}');
  expect(body).toContain("README.md");
  const session = await send("/api/v1/sessions/mine");
  const { header, events } = sessionSchema.parse(await session.json());
  expect(header.cwd).toBe(folder.at("notes"));
  expect(events.filter(({ type }) => type === "request/header")).toMatchObject([
    { data: { reason: "initial", header: { config: CALL.recorded, system: "Be brief." } } },
  ]);
  expect(await Bun.file(folder.at("agent.db")).exists()).toBe(true);
}

describe("every option of serve", () => {
  test("can be given as a flag", async () => {
    await using folder = await TempFolder.create();
    await using server = new ProviderServer(...LOOKING);
    const args = Object.entries(await usable(folder, server)).flat();
    await using host = await HostProcess.start({ args, env: { MY_KEY: "secret" } });
    await expectConfigured(host, folder, server);
  });

  test("can be given as a variable", async () => {
    await using folder = await TempFolder.create();
    await using server = new ProviderServer(...LOOKING);
    const env = { ...asVariables(await usable(folder, server)), MY_KEY: "secret" };
    await using host = await HostProcess.start({ env });
    await expectConfigured(host, folder, server);
  });

  test("can be given in a configuration file", async () => {
    await using folder = await TempFolder.create();
    await using server = new ProviderServer(...LOOKING);
    const members = Object.entries(await usable(folder, server)).map(([flag, value]) => [
      memberOf(flag),
      value,
    ]);
    await writeFile(folder.at("a.json"), JSON.stringify(Object.fromEntries(members)));
    // The port would be taken from a flag of the fixture.
    const env = { HOLDFAST_CONFIG: folder.at("a.json"), HOLDFAST_PORT: "", MY_KEY: "secret" };
    await using host = await HostProcess.start({ env });
    await expectConfigured(host, folder, server);
  });

  test("is taken from its flag where both are given", async () => {
    await using folder = await TempFolder.create();
    await using server = new ProviderServer(...LOOKING);
    const args = Object.entries(await usable(folder, server)).flat();
    // None of them would do. Those of another store, and of another address, are overruled as well.
    const others = Object.fromEntries(
      [...args, "--session-dir", "--listen"].map((flag) => [flag, UNUSABLE[flag] ?? "nowhere"]),
    );
    const overruled = Object.entries(others).filter(([flag]) => flag in UNUSABLE || TEXTS.includes(flag));
    const env = { ...asVariables(Object.fromEntries(overruled)), MY_KEY: "secret" };
    await using host = await HostProcess.start({ args, env });
    await expectConfigured(host, folder, server);
  });
});

describe("a value that cannot be used", () => {
  const empty = [...TEXTS, ...Object.keys(UNUSABLE)].map((flag) => [flag, ""] as const);
  test.each([...Object.entries(UNUSABLE), ...empty])(
    "is refused with its flag: %s %p",
    async (flag, value) => {
      const { code, stdout, stderr } = await runHoldfast(["serve", flag, value]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(`${flag} cannot be ${JSON.stringify(value)}`);
      expect(stderr).toContain("hint: ");
    },
  );

  test.each(Object.entries(UNUSABLE))("is refused with its variable, the one for %s", async (flag, value) => {
    const { code, stdout, stderr } = await runHoldfast(["serve"], { env: { [variableOf(flag)]: value } });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`${variableOf(flag)} cannot be ${JSON.stringify(value)}`);
  });

  test("is told with what would do", async () => {
    expect((await runHoldfast(["serve", "--port", "65536"])).stderr).toContain("65535");
    expect((await runHoldfast(["serve", "--port", "1.5"])).stderr).toContain("whole number");
    expect((await runHoldfast(["serve", "--provider", "oracle"])).stderr).toContain("openai-compatible");
  });
});

test("a variable that is empty counts as none", async () => {
  const names = [...TEXTS, ...Object.keys(UNUSABLE)].map(variableOf);
  const env = Object.fromEntries([...names, "HOLDFAST_TOKEN"].map((name) => [name, ""]));
  await using host = await HostProcess.start({ args: ["--port", "0"], env });
  expect((await host.client.invoke("say hello")).body).toMatchObject({
    sessionId: "default",
    message: "hello",
  });
});
