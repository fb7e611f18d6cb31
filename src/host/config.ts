import { statSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";
import type { CallSettings } from "../agent/provider.ts";
import {
  PROVIDERS,
  type ProviderConnection,
  type ProviderKind,
  type ProviderName,
} from "../agent/providers/index.ts";
import { readSettingFile, withConfigFile } from "./config-file.ts";
import type { ListenAddress } from "./listen-address.ts";
import { agentSettings, listenSettings } from "./settings.ts";
import { isGiven, withOneStore } from "./store-options.ts";
import { type RawOptions, UsageError } from "./usage.ts";

/** What an agent and its store run with. Durations are in milliseconds. */
export interface RuntimeConfig {
  /** SQLite file. At most one of this and `sessionDir` is set; memory when neither is. */
  readonly sessionDb?: string;
  /** Root folder of session logs. */
  readonly sessionDir?: string;
  /** How new session logs are written; as those that are there when absent, or else as `zstd`. */
  readonly jsonlEncoding?: "zstd" | "none";
  /** The session to create or go on with; a new id when absent. */
  readonly sessionId?: string;
  /** Where the session begins, if it is not there yet: with a copy of another one, up to the end of a Turn. */
  readonly forkFrom?: { readonly sessionId: string; readonly boundary?: number };
  readonly provider: ProviderName;
  readonly model: string;
  /** How to reach the provider, if it is reached over the network. */
  readonly connection?: ProviderConnection;
  readonly call: CallSettings;
  /** Most further attempts of a model request that fails before its first delta. */
  readonly retries: number;
  readonly maxSteps: number;
  readonly toolTimeoutMs: number;
  readonly workspace: string;
  readonly systemPrompt?: string;
  readonly chunkWindowMs: number;
  readonly drainTimeoutMs: number;
}

/** What a Host runs with. */
export interface HostConfig extends RuntimeConfig {
  readonly listen: ListenAddress;
  /** How many invocations may wait. */
  readonly maxQueue: number;
  /** Token that HTTP clients must send. */
  readonly token?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const LOOPBACK = new Set(["127.0.0.1", "::1", "localhost"]);

/** Whether only this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host) || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * The configuration of a Host. Checks all options at once and reads what they point to. A flag wins over a variable, that
 * over the configuration file, that over the default. Secrets come from variables or files, never from flags.
 * @throws UsageError naming the flag, the variable or the member of the file
 */
export function parseConfig(raw: RawOptions, env: Environment): HostConfig {
  const given = withConfigFile(raw);
  const settings = parse(z.object({ ...agentSettings, ...listenSettings }), given);
  const token = readToken(settings.tokenFile, env);
  const listen = listenAddress(settings, given);
  if (listen.kind === "tcp" && !isLoopback(listen.host) && token === undefined) {
    throw new UsageError(
      `--host ${listen.host} can be reached from other machines, and no token is set`,
      "Set HOLDFAST_TOKEN or --token-file, or listen on 127.0.0.1.",
    );
  }
  return {
    ...runtimeConfig(settings, env),
    listen,
    maxQueue: settings.maxQueue,
    ...(token === undefined ? {} : { token }),
  };
}

/** The configuration of an agent without a listener. @throws UsageError */
export function parseRuntimeConfig(raw: RawOptions, env: Environment): RuntimeConfig {
  return runtimeConfig(parse(agentSchema, withConfigFile(raw)), env);
}

const agentSchema = z.object(agentSettings);

function parse<S extends z.ZodObject>(schema: S, raw: RawOptions): z.infer<S> {
  // An empty flag is a mistake, unlike an empty variable.
  const given = Object.entries(withOneStore(raw)).filter(([, option]) => isGiven(option));
  const result = schema.safeParse(Object.fromEntries(given.map(([name, { value }]) => [name, value])));
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const name = String(issue?.path[0]);
  const option = raw[name];
  throw new UsageError(
    `${option?.source ?? name} cannot be ${JSON.stringify(option?.value)}: ${issue?.message ?? "it is not valid"}`,
  );
}

function runtimeConfig(settings: z.infer<typeof agentSchema>, env: Environment): RuntimeConfig {
  const { sessionDb, sessionDir, jsonlEncoding, provider, retries, maxSteps, systemPromptFile } = settings;
  const { reasoningEffort, temperature, maxTokens, stop, extraBody, forkFrom } = settings;
  const connection = connectionFor(settings, env);
  const sessionId = settings.sessionId ?? (forkFrom === undefined ? "default" : undefined);
  return {
    provider,
    model: modelFor(provider, settings.model),
    call: {
      ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...(stop === undefined ? {} : { stop }),
      ...(extraBody === undefined ? {} : { extraBody }),
    },
    retries,
    maxSteps,
    toolTimeoutMs: settings.toolTimeout,
    workspace: existingFolder(settings.workspace),
    chunkWindowMs: settings.chunkWindow,
    drainTimeoutMs: settings.drainTimeout,
    ...(sessionDb === undefined ? {} : { sessionDb }),
    ...(sessionDir === undefined ? {} : { sessionDir }),
    ...(jsonlEncoding === undefined ? {} : { jsonlEncoding }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...forkOf(settings),
    ...(connection === undefined ? {} : { connection }),
    ...(systemPromptFile === undefined
      ? {}
      : { systemPrompt: readSettingFile("--system-prompt-file", systemPromptFile) }),
  };
}

function forkOf({
  forkFrom,
  at,
  sessionId,
}: Pick<z.infer<typeof agentSchema>, "forkFrom" | "at" | "sessionId">): Pick<RuntimeConfig, "forkFrom"> {
  if (forkFrom === undefined) {
    if (at === undefined) return {};
    throw new UsageError("--at says where to fork, and --fork-from is missing", "Add --fork-from ID.");
  }
  if (forkFrom === sessionId) {
    throw new UsageError(
      "--fork-from and --session-id name the same session",
      "Give the new one another id, or leave --session-id out for a new one.",
    );
  }
  return { forkFrom: { sessionId: forkFrom, ...(at === undefined ? {} : { boundary: at }) } };
}

function modelFor(provider: ProviderName, model: string | undefined): string {
  const kind: ProviderKind = PROVIDERS[provider];
  if (!("model" in kind)) return required(model, "--model", provider);
  if (model === undefined || model === kind.model) return kind.model;
  throw new UsageError(
    `The provider ${provider} has no model ${JSON.stringify(model)}`,
    "Leave --model out, or name a real provider.",
  );
}

function connectionFor(
  settings: z.infer<typeof agentSchema>,
  env: Environment,
): ProviderConnection | undefined {
  const kind: ProviderKind = PROVIDERS[settings.provider];
  // A variable that is named has to be there, also where it is not used.
  const named = settings.apiKeyEnv === undefined ? undefined : readApiKey(settings.apiKeyEnv, env);
  if (!("connect" in kind)) return undefined;
  const apiKey = named ?? (kind.apiKeyEnv === undefined ? undefined : env[kind.apiKeyEnv] || undefined);
  return {
    baseUrl: required(settings.baseUrl ?? kind.baseUrl, "--base-url", settings.provider),
    connectTimeoutMs: settings.connectTimeout,
    idleTimeoutMs: settings.idleTimeout,
    requestTimeoutMs: settings.requestTimeout,
    ...(apiKey === undefined ? {} : { apiKey }),
  };
}

function listenAddress(
  {
    host,
    port,
    listen,
  }: { host?: string | undefined; port?: number | undefined; listen?: string | undefined },
  raw: RawOptions,
): ListenAddress {
  if (listen === undefined) return { kind: "tcp", host: host ?? "127.0.0.1", port: port ?? 8765 };
  const other = [raw["host"], raw["port"]].find((option) => option?.source.startsWith("--"));
  if (other !== undefined && raw["listen"]?.source.startsWith("--")) {
    throw new UsageError(`--listen and ${other.source} each say where to listen`, "Give one of them.");
  }
  return { kind: "unix", path: resolve(listen.slice("unix:".length)) };
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

function readApiKey(name: string, env: Environment): string {
  const value = env[name];
  if (value !== undefined && value !== "") return value;
  throw new UsageError(
    `The variable ${name} that --api-key-env names is not set`,
    `Set ${name} to the API key.`,
  );
}

function readToken(file: string | undefined, env: Environment): string | undefined {
  if (file !== undefined) {
    const token = readSettingFile("--token-file", file).trim();
    if (token !== "") return token;
    throw new UsageError("The file that --token-file names is empty", "Write the token into it.");
  }
  const token = env["HOLDFAST_TOKEN"];
  return token === undefined || token === "" ? undefined : token;
}
