import { readFileSync, statSync } from "node:fs";
import { z } from "zod";
import { isGiven, withOneStore } from "./store-options.ts";
import { type RawOptions, UsageError } from "./usage.ts";

/** Not `z.coerce.number()` alone, for which an empty text is 0. */
const number = z
  .union([z.number(), z.string().regex(/^\d+(\.\d+)?$/, { error: "it must be a number" })], {
    error: "it must be a number",
  })
  .pipe(z.coerce.number({ error: "it must be a number" }));
const seconds = (least: number) => within(least, 86_400).transform((value) => Math.round(value * 1000));
const wholeNumber = (least: number, most: number) =>
  within(least, most).refine(Number.isInteger, { error: "it must be a whole number" });
function within(least: number, most: number) {
  const error = `it must be from ${least} to ${most}`;
  return number.pipe(z.number().min(least, { error }).max(most, { error }));
}
const text = z.string().min(1, { error: "it is empty" });

/** The options of `serve`, by the name of their flag in camel case. Durations are in seconds unless said otherwise. */
const optionsSchema = z.object({
  sessionDb: text.optional(),
  sessionDir: text.optional(),
  jsonlEncoding: z.enum(["zstd", "none"], { error: "it must be zstd or none" }).optional(),
  sessionId: text.default("default"),
  host: text.default("127.0.0.1"),
  port: wholeNumber(0, 65_535).default(8765),
  provider: z
    .enum(["demo", "openai-compatible"], { error: "it must be demo or openai-compatible" })
    .default("demo"),
  model: text.optional(),
  baseUrl: z.url({ protocol: /^https?$/, error: "it must be an http or https URL" }).optional(),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
    .optional(),
  requestTimeout: seconds(0.001).prefault(600),
  maxSteps: wholeNumber(1, 1_000).default(32),
  workspace: text.default("."),
  systemPromptFile: text.optional(),
  chunkWindow: within(0, 60_000).default(100),
  drainTimeout: seconds(0).prefault(10),
  tokenFile: text.optional(),
});

/** What a Host runs with. Durations are in milliseconds. */
export interface HostConfig {
  /** SQLite file. At most one of this and `sessionDir` is set; memory when neither is. */
  readonly sessionDb?: string;
  /** Root folder of session logs. */
  readonly sessionDir?: string;
  /** How new session logs are written; as those that are there when absent, or else as `zstd`. */
  readonly jsonlEncoding?: "zstd" | "none";
  readonly sessionId: string;
  readonly host: string;
  /** 0 lets the system pick one. */
  readonly port: number;
  readonly provider: "demo" | "openai-compatible";
  readonly model: string;
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly requestTimeoutMs: number;
  readonly maxSteps: number;
  readonly workspace: string;
  readonly systemPrompt?: string;
  readonly chunkWindowMs: number;
  readonly drainTimeoutMs: number;
  /** Token that HTTP clients must send. */
  readonly token?: string;
}

const LOOPBACK = new Set(["127.0.0.1", "::1", "localhost"]);

/** Whether only this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host) || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * Checks all options at once and reads what they point to. Secrets come from variables or files, never from flags.
 * @throws UsageError naming the flag or variable
 */
export function parseConfig(raw: RawOptions, env: Readonly<Record<string, string | undefined>>): HostConfig {
  // An empty flag is a mistake, unlike an empty variable.
  const given = Object.entries(withOneStore(raw)).filter(([, option]) => isGiven(option));
  const result = optionsSchema.safeParse(Object.fromEntries(given.map(([name, { value }]) => [name, value])));
  if (!result.success) {
    const issue = result.error.issues[0];
    const name = String(issue?.path[0]);
    const option = raw[name];
    throw new UsageError(
      `${option?.source ?? name} cannot be ${JSON.stringify(option?.value)}: ${issue?.message ?? "it is not valid"}`,
    );
  }
  const options = result.data;
  const {
    sessionDb,
    sessionDir,
    jsonlEncoding,
    baseUrl,
    systemPromptFile,
    requestTimeout,
    chunkWindow,
    drainTimeout,
  } = options;
  const { sessionId, host, port, provider, maxSteps, workspace } = options;
  const apiKey = readApiKey(options.apiKeyEnv, env);
  const token = readToken(options.tokenFile, env);
  if (!isLoopback(host) && token === undefined) {
    throw new UsageError(
      `--host ${host} can be reached from other machines, and no token is set`,
      "Set HOLDFAST_TOKEN or --token-file, or listen on 127.0.0.1.",
    );
  }
  return {
    sessionId,
    host,
    port,
    provider,
    model: modelFor(provider, options.model),
    maxSteps,
    workspace: existingFolder(workspace),
    requestTimeoutMs: requestTimeout,
    chunkWindowMs: chunkWindow,
    drainTimeoutMs: drainTimeout,
    ...(sessionDb === undefined ? {} : { sessionDb }),
    ...(sessionDir === undefined ? {} : { sessionDir }),
    ...(jsonlEncoding === undefined ? {} : { jsonlEncoding }),
    ...(provider === "demo" ? {} : { baseUrl: required(baseUrl, "--base-url", provider) }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(token === undefined ? {} : { token }),
    ...(systemPromptFile === undefined
      ? {}
      : { systemPrompt: readText("--system-prompt-file", systemPromptFile) }),
  };
}

function modelFor(provider: HostConfig["provider"], model: string | undefined): string {
  if (provider !== "demo") return required(model, "--model", provider);
  if (model !== undefined && model !== "demo") {
    throw new UsageError(
      `The provider demo has no model ${JSON.stringify(model)}`,
      "Leave --model out, or name a real provider.",
    );
  }
  return "demo";
}

function existingFolder(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return path;
  throw new UsageError(
    `The workspace ${path} is not a folder`,
    "Make it, or name another one with --workspace.",
  );
}

function required(value: string | undefined, flag: string, provider: string): string {
  if (value !== undefined) return value;
  throw new UsageError(
    `The provider ${provider} needs ${flag}`,
    `Add ${flag}, or use --provider demo to try things out.`,
  );
}

function readApiKey(
  name: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (name === undefined) return undefined;
  const value = env[name];
  if (value !== undefined && value !== "") return value;
  throw new UsageError(
    `The variable ${name} that --api-key-env names is not set`,
    `Set ${name} to the API key.`,
  );
}

function readToken(
  file: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (file !== undefined) {
    const token = readText("--token-file", file).trim();
    if (token !== "") return token;
    throw new UsageError("The file that --token-file names is empty", "Write the token into it.");
  }
  const token = env["HOLDFAST_TOKEN"];
  return token === undefined || token === "" ? undefined : token;
}

function readText(flag: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new UsageError(
      `The file that ${flag} names cannot be read: ${path} (${reason})`,
      "Check the path.",
    );
  }
}
