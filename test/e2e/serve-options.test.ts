import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { runHoldfast } from "../fixtures/executable.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { forever } from "../fixtures/model-replies.ts";
import { delta, ProviderServer, sseReply, textReply, toolCallReply } from "../fixtures/provider-server.ts";
import { readSlowly } from "../fixtures/slow-reader.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

/** A value of each flag that cannot be used. Any text will do for the others, but not none. */
const UNUSABLE: Readonly<Record<string, string>> = {
  "--jsonl-encoding": "gzip",
  "--port": "many",
  "--provider": "oracle",
  "--base-url": "ftp://127.0.0.1/v1",
  "--api-key-env": "no name",
  "--request-timeout": "0",
  "--max-steps": "0",
  "--chunk-window": "-1",
  "--drain-timeout": "soon",
};
const TEXTS = [
  "--session-db",
  "--session-id",
  "--host",
  "--model",
  "--workspace",
  "--system-prompt-file",
  "--token-file",
];

/** A model that looks at the workspace and does not come to an end. */
const LOOKING = ["a", "b", "c"].map((id) => toolCallReply({ id, name: "list_files", arguments: "{}" }));

/** `--session-db` → `HOLDFAST_SESSION_DB`. */
function variableOf(flag: string): string {
  return `HOLDFAST_${flag.slice(2).replaceAll("-", "_").toUpperCase()}`;
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
    "--request-timeout": "20",
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
  const body = JSON.stringify(request.json());
  expect(body).toContain('"model":"model-x"');
  expect(body).toContain('{"role":"system","content":"Be brief."}');
  expect(body).toContain("README.md");
  const session = await send("/api/v1/sessions/mine");
  expect(await session.json()).toMatchObject({ header: { cwd: folder.at("notes") } });
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

  test("is taken from its flag where both are given", async () => {
    await using folder = await TempFolder.create();
    await using server = new ProviderServer(...LOOKING);
    const args = Object.entries(await usable(folder, server)).flat();
    // None of them would do.
    const texts = Object.fromEntries(TEXTS.map((flag) => [flag, folder.at("nowhere")]));
    const env = { ...asVariables({ ...UNUSABLE, ...texts }), MY_KEY: "secret" };
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
    expect((await runHoldfast(["serve", "--port", "1.5"])).stderr).toContain("int");
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

describe("a time limit", () => {
  test("for requests ends an answer that does not come", async () => {
    await using server = new ProviderServer(sseReply([delta({ content: "Well" }), forever()]));
    await using host = await HostProcess.start({ args: [...ask(server), "--request-timeout", "0.2"] });
    const { status, body } = await host.client.invoke("hello");
    expect({ status, code: body.code }).toEqual({ status: 504, code: "provider-timeout" });
  });

  test("for shutting down ends a client that does not read its answer", async () => {
    await using server = new ProviderServer(textReply("x".repeat(4_000_000)));
    await using host = await HostProcess.start({ args: [...ask(server), "--drain-timeout", "0.2"] });
    await host.client.invoke("hello");
    using reader = await readSlowly(host.url, "/api/v1/sessions/default");
    await reader.begun;
    expect(await host.stop("SIGTERM")).toEqual({ code: 143 });
  });
});

function ask(server: ProviderServer): string[] {
  return ["--provider", "openai-compatible", "--model", "m", "--base-url", server.baseUrl];
}
