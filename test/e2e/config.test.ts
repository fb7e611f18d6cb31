import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { z } from "zod";
import { type Environment, runHoldfast } from "../fixtures/executable.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const configSchema = z.strictObject({
  settings: z.array(
    z.strictObject({
      name: z.string(),
      value: z.unknown(),
      from: z.enum(["flag", "variable", "file", "default"]),
      source: z.string().optional(),
    }),
  ),
  secrets: z.array(
    z.strictObject({ name: z.enum(["apiKey", "token"]), isSet: z.boolean(), holder: z.string().optional() }),
  ),
});

/** What `--json` prints, by name. */
async function configOf(args: readonly string[], options: { cwd?: string; env?: Environment } = {}) {
  const { code, stdout, stderr } = await runHoldfast(["config", "--json", ...args], options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const { settings, secrets } = configSchema.parse(JSON.parse(stdout));
  const byName = Object.fromEntries(settings.map(({ name, ...rest }) => [name, rest]));
  return { byName, secrets, names: settings.map(({ name }) => name), stdout };
}

describe("holdfast config", () => {
  test("names every flag of serve in its order, with the defaults of its help", async () => {
    const { byName, names } = await configOf([]);
    const { stdout: help } = await runHoldfast(["serve", "--help"]);
    const flags = help.match(/^ {2}--[a-z-]+/gm) ?? [];
    const camel = flags.map((flag) =>
      flag
        .trim()
        .slice(2)
        .replaceAll(/-(\w)/g, (_, a: string) => a.toUpperCase()),
    );
    expect(names).toEqual(camel);
    const defaults = [
      ...help.replaceAll(/\n\s{4,}/g, " ").matchAll(/^ {2}--([a-z-]+) .*\(default: ([^,)]+)/gm),
    ];
    expect(defaults.length).toBeGreaterThan(10);
    for (const [, flag = "", value] of defaults) {
      const name = flag.replaceAll(/-(\w)/g, (_, a: string) => a.toUpperCase());
      expect([name, String(byName[name]?.value), byName[name]?.from]).toEqual([name, value, "default"]);
    }
  });

  test("says of each value where it came from, the strongest first", async () => {
    await using folder = await TempFolder.create();
    await Bun.write(
      folder.at("h.json"),
      JSON.stringify({ sessionDb: "data/a.db", retries: 1, maxSteps: 7, port: 1, idleTimeout: 1.5 }),
    );
    const env = { HOLDFAST_MAX_STEPS: "8", HOLDFAST_PORT: "2", HOLDFAST_RETRIES: "" };
    const { byName } = await configOf(["--config", "h.json", "--port", "3"], { cwd: folder.path, env });
    expect(byName).toMatchObject({
      config: { value: "h.json", from: "flag", source: "--config" },
      sessionDb: { value: folder.at("data", "a.db"), from: "file", source: '"sessionDb" in h.json' },
      retries: { value: 1, from: "file" },
      maxSteps: { value: 8, from: "variable", source: "HOLDFAST_MAX_STEPS" },
      port: { value: 3, from: "flag", source: "--port" },
      idleTimeout: { value: 1.5, from: "file" },
      connectTimeout: { value: 120, from: "default" },
    });
  });

  test("leaves out what another way of saying the same overrules", async () => {
    const env = { HOLDFAST_SESSION_DB: "a.db", HOLDFAST_PORT: "7" };
    const { byName } = await configOf(["--session-dir", "logs", "--listen", "unix:/run/h.sock"], { env });
    expect(byName).toMatchObject({
      sessionDb: { value: null, from: "default" },
      sessionDir: { value: "logs", from: "flag" },
      listen: { value: "unix:/run/h.sock", from: "flag" },
      port: { value: null, from: "default" },
    });
  });

  test("tells what the provider brings with it", async () => {
    const { byName, secrets } = await configOf(["--provider", "anthropic", "--model", "m"]);
    expect(byName).toMatchObject({
      baseUrl: { value: "https://api.anthropic.com", from: "default" },
      apiKeyEnv: { value: "ANTHROPIC_API_KEY", from: "default" },
    });
    expect(secrets).toMatchObject([{ name: "apiKey", isSet: false, holder: "ANTHROPIC_API_KEY" }, {}]);
  });

  test("tells of secrets whether they are set and where, never what they are", async () => {
    await using folder = await TempFolder.create();
    await Bun.write(folder.at("token"), "tok-file-secret\n");
    const env = { MY_API_KEY: "k1", HOLDFAST_TOKEN: "tok-variable-secret" };
    const args = ["--provider", "openai-compatible", "--model", "m", "--base-url", "http://127.0.0.1:1"];
    const body = '{"top_k":20,"user":"me","key":"sk-extra-body-secret"}';
    const all = [...args, "--api-key-env", "MY_API_KEY", "--extra-body", body, "--stop", "sk-stop-secret"];
    const first = await configOf(all, { env });
    expect(first.secrets).toEqual([
      { name: "apiKey", isSet: true, holder: "MY_API_KEY" },
      { name: "token", isSet: true, holder: "HOLDFAST_TOKEN" },
    ]);
    expect(first.byName["extraBody"]?.value).toMatchObject({ top_k: 20, user: "me" });
    const second = await configOf([...all, "--token-file", folder.at("token")], { env });
    expect(second.secrets[1]).toEqual({ name: "token", isSet: true, holder: "--token-file" });
    const { stdout: text } = await runHoldfast(["config", ...all], { env });
    expect(text).toMatch(/^apiKey +set, from MY_API_KEY$/m);
    for (const output of [first.stdout, second.stdout, text]) {
      expect(output).not.toMatch(/k1|tok-(file|variable)-secret|(body|stop)-secret/);
    }
  });

  test("refuses what serve refuses, with exit code 2, and starts nothing", async () => {
    for (const args of [
      ["--port", "x"],
      ["--host", "0.0.0.0"],
      ["--config", "nothing.json"],
    ]) {
      const finished = await runHoldfast(["config", ...args]);
      expect(finished).toMatchObject({ code: 2, stdout: "" });
      expect(finished.stderr).toStartWith("holdfast: ");
    }
  });
});
