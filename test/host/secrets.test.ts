import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { parseConfig } from "../../src/host/config.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

const KEY = "sk-live-0123456789abcdef";
const MODEL = { provider: "openai-compatible", model: "m", baseUrl: "http://127.0.0.1:1/v1" };

function config(values: Readonly<Record<string, unknown>>, env: Readonly<Record<string, string>> = {}) {
  const raw = Object.entries(values).map(([name, value]) => [name, { value, source: `--${name}` }] as const);
  return parseConfig(Object.fromEntries(raw), env);
}

/** All that a person is told. */
function told(values: Readonly<Record<string, unknown>>, env: Readonly<Record<string, string>> = {}): string {
  try {
    config(values, env);
  } catch (error) {
    return JSON.stringify([String(error), error, Bun.inspect(error)]);
  }
  return "";
}

describe("the API key", () => {
  test("comes from the variable that is named", () => {
    expect(config({ ...MODEL, apiKeyEnv: "MY_KEY" }, { MY_KEY: KEY }).connection?.apiKey).toBe(KEY);
    expect(config(MODEL, { MY_KEY: KEY }).connection).not.toHaveProperty("apiKey");
  });

  test("is not shown where it stands in the place of its name", () => {
    for (const key of [KEY, "AIzaSyExample", "ghp_Example", "short", "AKIAEXAMPLE7"]) {
      const text = told({ ...MODEL, apiKeyEnv: key });
      expect(text).toContain("--apiKeyEnv");
      expect(text).not.toContain(key);
    }
    expect(told({ ...MODEL, apiKeyEnv: "MY_KEY" })).toContain(
      "The variable MY_KEY that --apiKeyEnv names is not set",
    );
  });

  test.each([
    "port",
    "provider",
    "temperature",
    "baseUrl",
    "extraBody",
    "listen",
    "jsonlEncoding",
    "tokenFile",
  ])("is not shown where it stands in the place of %s", (name) => {
    const text = told({ [name]: KEY });
    expect(text).toContain(`--${name}`);
    expect(text).not.toContain(KEY);
  });

  test("must fit into a header, and is not shown where it does not", () => {
    for (const key of ["sk-very secret", "sk-very\nsecret", "sk-verysecret\n", "sk-verysecret\u00e9"]) {
      const text = told({ ...MODEL, apiKeyEnv: "MY_KEY" }, { MY_KEY: key });
      expect(text).toContain("no header can carry");
      expect(text).not.toContain("very");
    }
  });

  test.each([
    ["model", KEY],
    ["model", `gpt-${KEY}`],
    ["sessionId", KEY],
    ["reasoningEffort", KEY],
    ["stop", [KEY]],
    ["extraBody", { api_key: KEY }],
    ["extraBody", JSON.stringify({ user: KEY })],
    ["baseUrl", `http://127.0.0.1:1/${KEY}/v1`],
    ["workspace", `/srv/${KEY}`],
  ])("may not stand in %s as well, which is recorded or shown: %j", (name, value) => {
    const text = told({ ...MODEL, apiKeyEnv: "MY_KEY", [name]: value }, { MY_KEY: KEY });
    expect(text).toContain(`--${name} holds the secret of the variable MY_KEY`);
    expect(text).not.toContain(KEY);
  });

  test("may not stand in the system prompt", async () => {
    await using folder = await TempFolder.create();
    await writeFile(folder.at("prompt.txt"), `Use ${KEY}.`);
    const values = { ...MODEL, apiKeyEnv: "MY_KEY", systemPromptFile: folder.at("prompt.txt") };
    const text = told(values, { MY_KEY: KEY });
    expect(text).toContain("holds the secret of the variable MY_KEY");
    expect(text).not.toContain(KEY);
  });

  test("may be a word that stands elsewhere by chance, for servers that want any key", () => {
    expect(config({ ...MODEL, model: "ollama/x", apiKeyEnv: "K" }, { K: "ollama" }).connection?.apiKey).toBe(
      "ollama",
    );
  });
});

describe("the token", () => {
  test("comes from its variable or a file, without the blanks around it", async () => {
    await using folder = await TempFolder.create();
    await writeFile(folder.at("token"), "\ufeffhouse key\r\n");
    expect(config({}, { HOLDFAST_TOKEN: " house key " }).token).toBe("house key");
    expect(config({ tokenFile: folder.at("token") }, { HOLDFAST_TOKEN: "other" }).token).toBe("house key");
    expect(config({}, { HOLDFAST_TOKEN: "" })).not.toHaveProperty("token");
  });

  test("that no client could send is refused, and not shown", async () => {
    await using folder = await TempFolder.create();
    await writeFile(folder.at("two"), "very-secret-1\nvery-secret-2\n");
    for (const text of [
      told({ tokenFile: folder.at("two") }),
      told({}, { HOLDFAST_TOKEN: "very\u00fcsecret" }),
    ]) {
      expect(text).toContain("no header can carry");
      expect(text).not.toContain("very");
    }
    expect(told({}, { HOLDFAST_TOKEN: "  " })).toContain("The variable HOLDFAST_TOKEN is empty");
  });

  test("may stand in no option", () => {
    const text = told({ sessionId: "very-secret-token-1" }, { HOLDFAST_TOKEN: "very-secret-token-1" });
    expect(text).toContain("--sessionId holds the secret of the variable HOLDFAST_TOKEN");
    expect(text).not.toContain("very");
  });
});
