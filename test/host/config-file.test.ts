import { describe, expect, test } from "bun:test";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import type { HostConfig } from "../../src/host/config.ts";
import { parseConfig, parseRuntimeConfig } from "../../src/host/config.ts";
import type { RawOptions } from "../../src/host/usage.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

function from(path: string, more: RawOptions = {}, env: Record<string, string> = {}): HostConfig {
  return parseConfig({ config: { value: path, source: "--config" }, ...more }, env);
}

/** The configuration of a file with this content. */
async function parsed(content: string | Uint8Array | object, more: RawOptions = {}): Promise<HostConfig> {
  await using folder = await TempFolder.create();
  const bytes =
    typeof content === "string" || content instanceof Uint8Array ? content : JSON.stringify(content);
  await writeFile(folder.at("holdfast.json"), bytes);
  return from(folder.at("holdfast.json"), more);
}

/** What the file is refused with. */
async function refusal(content: string | Uint8Array | object): Promise<string> {
  try {
    await parsed(content);
  } catch (error) {
    return error instanceof Error && "explain" in error && typeof error.explain === "function"
      ? String(error.explain())
      : String(error);
  }
  throw new Error("it was taken");
}

describe("a configuration file", () => {
  test("sets what flags set, by their names in camel case", async () => {
    const file = {
      ...{ provider: "openai-compatible", model: "m", baseUrl: "http://127.0.0.1:1/v1", temperature: 0.5 },
      ...{ maxTokens: 9, stop: ["a", "b"], extraBody: { top_k: 1 }, reasoningEffort: "low", retries: 0 },
      ...{
        connectTimeout: 1,
        idleTimeout: 2,
        requestTimeout: 3,
        toolTimeout: 4,
        drainTimeout: 5,
        maxSteps: 6,
      },
      ...{ chunkWindow: 7, port: 8, host: "localhost", maxQueue: 9, sessionId: "s", jsonlEncoding: "none" },
    };
    expect(await parsed(file)).toMatchObject({
      call: {
        temperature: 0.5,
        maxTokens: 9,
        stop: ["a", "b"],
        extraBody: { top_k: 1 },
        reasoningEffort: "low",
      },
      ...{ provider: "openai-compatible", model: "m", retries: 0, toolTimeoutMs: 4000, drainTimeoutMs: 5000 },
      connection: { connectTimeoutMs: 1000, idleTimeoutMs: 2000, requestTimeoutMs: 3000 },
      ...{ maxSteps: 6, chunkWindowMs: 7, maxQueue: 9, sessionId: "s", jsonlEncoding: "none" },
      listen: { kind: "tcp", host: "localhost", port: 8 },
    });
  });

  test("is overruled by variables, and those by flags; an empty variable overrules nothing", async () => {
    const file = { model: "demo", sessionId: "file", maxSteps: 1, retries: 1 };
    const more = {
      sessionId: { value: "variable", source: "HOLDFAST_SESSION_ID" },
      maxSteps: { value: "2", source: "--max-steps" },
      retries: { value: "", source: "HOLDFAST_RETRIES" },
    };
    expect(await parsed(file, more)).toMatchObject({ sessionId: "variable", maxSteps: 2, retries: 1 });
  });

  test("has its paths relative to its own folder, wherever the program runs", async () => {
    await using folder = await TempFolder.create();
    await mkdir(folder.at("etc", "notes"), { recursive: true });
    await writeFile(folder.at("etc", "prompt.txt"), "Be brief.");
    await writeFile(folder.at("etc", "token.txt"), "house key\n");
    const file = { workspace: "notes", systemPromptFile: "prompt.txt", tokenFile: "./token.txt" };
    await writeFile(
      folder.at("etc", "a.json"),
      JSON.stringify({ ...file, sessionDb: "../a.db", listen: "unix:s" }),
    );
    await writeFile(folder.at("etc", "b.json"), JSON.stringify({ sessionDir: "/srv/logs" }));
    expect(from(folder.at("etc", "a.json"))).toMatchObject({
      workspace: folder.at("etc", "notes"),
      systemPrompt: "Be brief.",
      token: "house key",
      sessionDb: folder.at("a.db"),
      listen: { kind: "unix", path: folder.at("etc", "s") },
    });
    expect(from(folder.at("etc", "b.json")).sessionDir).toBe("/srv/logs");
    // A flag's path begins where the program runs, also where the file names one.
    const workspace = { value: ".", source: "--workspace" };
    expect(from(folder.at("etc", "a.json"), { workspace }).workspace).toBe(".");
  });

  test("may hold in a value what is a name elsewhere", async () => {
    const file = '{"stop": ["\\"port\\": 1", "port"], "extraBody": {"port": 1, "x": {"port": 2}}, "port": 3}';
    expect(await parsed(file)).toMatchObject({
      listen: { port: 3 },
      call: { stop: ['"port": 1', "port"], extraBody: { port: 1, x: { port: 2 } } },
    });
  });

  test("may begin with a byte order mark, may be a link, and may set nothing", async () => {
    expect((await parsed('\ufeff{"retries": 3}')).retries).toBe(3);
    expect((await parsed("{}")).retries).toBe(2);
    await using folder = await TempFolder.create();
    await writeFile(folder.at("a.json"), '{"retries": 4}');
    await symlink("a.json", folder.at("link.json"));
    expect(from(folder.at("link.json")).retries).toBe(4);
  });

  test("is one for every command: what is said of listening does not matter to those that do not", async () => {
    await using folder = await TempFolder.create();
    await writeFile(folder.at("a.json"), '{"port": 1, "retries": 4}');
    const config = { value: folder.at("a.json"), source: "HOLDFAST_CONFIG" };
    expect(parseRuntimeConfig({ config }, {}).retries).toBe(4);
  });
});

describe("a configuration file is refused", () => {
  test.each([
    ["that is empty", "", /is not JSON/],
    ["with a comment", '// ports\n{"port": 1}', /is not JSON[\s\S]*JSON has no comments/],
    ["cut off", '{"port": 1', /is not JSON/],
    ["that is an array", "[]", /is not a JSON object/],
    ["that is null", "null", /is not a JSON object/],
    [
      "with a member that is null",
      '{"port": null}',
      /^"port" in \S+holdfast\.json cannot be null: it must be/,
    ],
    ["with an empty text", '{"model": ""}', /^"model" in \S+ cannot be "": it is empty/],
    ["in UTF-16", new Uint8Array([0xff, 0xfe, 0x7b, 0, 0x7d, 0]), /no UTF-8 text/],
    [
      "with two stores",
      { sessionDb: "a", sessionDir: "b" },
      /"sessionDb" in \S+ and "sessionDir" in \S+ each/,
    ],
    [
      "with a member of no such name",
      { colour: 1 },
      /sets "colour", which there is not\n {2}hint: .*camel case/,
    ],
    [
      "nested without an end",
      `{"extraBody": {"a": ${"[".repeat(50_000)}${"]".repeat(50_000)}}}`,
      /^The configuration file \S+ holds nesting deeper than 512 levels/,
    ],
    ["with a member twice", '{"port": 1, "stop": ["port"], "po\\u0072t" : 2}', /sets "port" twice/],
    ["with __proto__", '{"__proto__": {"port": 1}}', /"__proto__", which there is not/],
    ["with a name of Object", { constructor: 1 }, /"constructor", which there is not/],
    ["that names another one", { config: "x.json" }, /sets "config", which there is not/],
  ])("%s", async (_, content, message) => {
    expect((await refusal(content)).replace(/^UsageError: /, "")).toMatch(message);
  });

  test.each([
    ["session-db", "sessionDb"],
    ["SESSIONDB", "sessionDb"],
    ["session_db", "sessionDb"],
    ["HOLDFAST_SESSION_DB", "sessionDb"],
    ["--max-tokens", "maxTokens"],
    ["modle", "model"],
    ["timeout", undefined],
    ["apiKeyEnvs", "apiKeyEnv"],
  ])("with %j, and the name that was meant is told: %p", async (name, meant) => {
    const told = await refusal({ [name]: "x" });
    if (meant === undefined) expect(told).not.toContain("Did you mean");
    else expect(told).toContain(`Did you mean "${meant}"?`);
  });

  test.each([
    "apiKey",
    "api_key",
    "token",
    "authToken",
    "secret",
    "password",
    "OPENAI_API_KEY",
    "authorization",
  ])("with a secret as %j, which is not shown", async (name) => {
    const told = await refusal({ [name]: "sk-very-secret" });
    expect(told).toContain("secrets do not stand in it");
    expect(told).toContain("apiKeyEnv");
    expect(told).not.toContain("sk-very");
  });

  test.each([
    '{"apiKey": sk_very_secret}',
    '{"model": {"key": "sk-very-secret"}}',
    '{"port": "sk-very-secret"}',
  ])("without showing what may be a secret: %s", async (content) => {
    expect(await refusal(content)).not.toMatch(/very|secret(?!\))/);
  });

  test.skipIf(process.platform === "win32")("that cannot be read, at once and with the reason", async () => {
    await using folder = await TempFolder.create();
    await writeFile(folder.at("huge.json"), " ".repeat(1024 * 1024 + 1));
    expect(() => from(folder.path)).toThrow(`${folder.path} (it is a folder)`);
    expect(() => from(folder.at("nowhere.json"))).toThrow("nowhere.json (ENOENT)");
    expect(() => from(folder.at("huge.json"))).toThrow("it is larger than 1 MiB");
    expect(() => from("/dev/zero")).toThrow("it is larger than 1 MiB");
  });

  test.skipIf(process.platform === "win32")("that is a pipe without a writer, at once", async () => {
    await using folder = await TempFolder.create();
    expect(Bun.spawnSync(["mkfifo", folder.at("pipe")]).exitCode).toBe(0);
    expect(() => from(folder.at("pipe"))).toThrow("is not JSON");
  });
});
