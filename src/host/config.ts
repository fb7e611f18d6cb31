import { statSync } from "node:fs";
import { resolve } from "node:path";
import { isLoopback } from "../agent/loopback.ts";
import type { CallSettings } from "../agent/provider.ts";
import {
  PROVIDERS,
  type ProviderConnection,
  type ProviderKind,
  type ProviderName,
} from "../agent/providers/index.ts";
import { type StoreName, storeOfKind } from "../store/store-name.ts";
import { withConfigFile } from "./config-file.ts";
import type { ListenAddress } from "./listen-address.ts";
import { assertWithout, type Environment, findSecrets, readApiKey, readToken } from "./secrets.ts";
import { readSettingFile } from "./setting-file.ts";
import { option, parseSettings, sourceOf } from "./setting-values.ts";
import { agentSettings, listenSettings, SOCKET_SCHEME, type Values } from "./settings.ts";
import { shownPath, shownValue } from "./shown-value.ts";
import { withOneStore } from "./store-options.ts";
import { type RawOptions, UsageError, withOneOf } from "./usage.ts";

/** What an agent and its store run with. Durations are in milliseconds. */
export interface RuntimeConfig {
  /** SQLite file. At most one of this and `sessionDir` is set; memory when neither is. */
  readonly sessionDb?: string;
  /** Root folder of session logs; where a home of dsh was named, the one in it. */
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

/** The store that a configuration names; none for memory. */
export function storeOf({ sessionDb, sessionDir }: RuntimeConfig): StoreName | undefined {
  if (sessionDb !== undefined) return { kind: "sqlite", path: sessionDb };
  return sessionDir === undefined ? undefined : { kind: "jsonl", path: sessionDir };
}

/** What a Host runs with. */
export interface HostConfig extends RuntimeConfig {
  readonly listen: ListenAddress;
  /** How many invocations may wait. */
  readonly maxQueue: number;
  /** Token that HTTP clients must send. */
  readonly token?: string;
}

/**
 * The configuration of a Host. Checks all options at once and reads what they point to. A flag wins over a variable, that
 * over the configuration file, that over the default. Secrets come from variables or files, never from flags.
 * @throws UsageError naming the flag, the variable or the member of the file
 */
export function parseConfig(raw: RawOptions, env: Environment): HostConfig {
  return resolveConfig(raw, env).config;
}

/** A configuration, and what it was made of. */
export interface ResolvedConfig {
  readonly config: HostConfig;
  /** What was given and counts, each with its source. */
  readonly given: RawOptions;
  /** Every setting, with its fallback where it was not given. */
  readonly settings: AgentSettings & ListenSettings;
}

/** As {@link parseConfig}, with the sources of what it says. @throws UsageError */
export function resolveConfig(raw: RawOptions, env: Environment): ResolvedConfig {
  const given = withOneAddress(withOneStore(withConfigFile(raw)));
  const { settings: agent, config: runtime } = runtimeConfig(given, env);
  const settings = parseSettings(listenSettings, given);
  const token = readToken(option(given, "tokenFile"), env);
  const listen = listenAddress(settings);
  if (listen.kind === "tcp" && !isLoopback(listen.host) && token === undefined) {
    throw new UsageError(
      `${sourceOf(given, "host")} names ${listen.host}, which other machines can reach, and no token is set`,
      "Set HOLDFAST_TOKEN or --token-file, or listen on 127.0.0.1.",
    );
  }
  const { maxQueue } = settings;
  const config = { ...runtime, listen, maxQueue, ...(token === undefined ? {} : { token }) };
  return { config, given, settings: { ...agent, ...settings } };
}

/** The configuration of an agent without a listener. @throws UsageError */
export function parseRuntimeConfig(raw: RawOptions, env: Environment): RuntimeConfig {
  return runtimeConfig(withOneStore(withConfigFile(raw)), env).config;
}

type AgentSettings = Values<typeof agentSettings>;
type ListenSettings = Values<typeof listenSettings>;

function runtimeConfig(
  raw: RawOptions,
  env: Environment,
): { readonly settings: AgentSettings; readonly config: RuntimeConfig } {
  const secrets = findSecrets(raw, env);
  const settings = parseSettings(agentSettings, raw);
  const { sessionDb, sessionDir, jsonlEncoding, provider, retries, maxSteps, systemPromptFile } = settings;
  const { reasoningEffort, temperature, maxTokens, stop, extraBody, forkFrom } = settings;
  const model = modelFor(provider, settings.model, raw);
  const connection = connectionFor(settings, raw, env);
  const sessionId = settings.sessionId ?? (forkFrom === undefined ? "default" : undefined);
  const promptSource = sourceOf(raw, "systemPromptFile");
  const systemPrompt =
    systemPromptFile === undefined ? undefined : readSettingFile(promptSource, systemPromptFile).text;
  assertWithout(secrets, systemPrompt, `The file that ${promptSource} names`);
  const config = {
    provider,
    model,
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
    workspace: existingFolder(settings.workspace, raw),
    chunkWindowMs: settings.chunkWindow,
    drainTimeoutMs: settings.drainTimeout,
    ...(sessionDb === undefined ? {} : { sessionDb }),
    ...(sessionDir === undefined ? {} : { sessionDir: storeOfKind("jsonl", sessionDir).path }),
    ...(jsonlEncoding === undefined ? {} : { jsonlEncoding }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...forkOf(settings, raw),
    ...(connection === undefined ? {} : { connection }),
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
  };
  return { settings, config };
}

function forkOf(
  { forkFrom, at, sessionId }: AgentSettings,
  raw: RawOptions,
): Pick<RuntimeConfig, "forkFrom"> {
  if (forkFrom === undefined) {
    if (at === undefined) return {};
    throw new UsageError(
      `${sourceOf(raw, "at")} says where to fork, and --fork-from is missing`,
      "Add --fork-from ID.",
    );
  }
  if (forkFrom === sessionId) {
    throw new UsageError(
      `${sourceOf(raw, "forkFrom")} and ${sourceOf(raw, "sessionId")} name the same session`,
      "Give the new one another id, or leave --session-id out for a new one.",
    );
  }
  return { forkFrom: { sessionId: forkFrom, ...(at === undefined ? {} : { boundary: at }) } };
}

function modelFor(provider: ProviderName, model: string | undefined, raw: RawOptions): string {
  const kind: ProviderKind = PROVIDERS[provider];
  if (!("model" in kind)) return required(model, "--model", provider);
  if (model === undefined || model === kind.model) return kind.model;
  throw new UsageError(
    `${sourceOf(raw, "model")} names ${shownValue(model)}, which the provider ${provider} does not have`,
    "Leave --model out, or name a real provider.",
  );
}

function connectionFor(
  settings: AgentSettings,
  raw: RawOptions,
  env: Environment,
): ProviderConnection | undefined {
  const kind: ProviderKind = PROVIDERS[settings.provider];
  const { apiKeyEnv } = settings;
  // A variable that is named has to be there, also where it is not used.
  const named = apiKeyEnv === undefined ? undefined : readApiKey(apiKeyEnv, sourceOf(raw, "apiKeyEnv"), env);
  if (!("connect" in kind)) return undefined;
  const apiKey = named ?? usualApiKey(kind, env);
  return {
    baseUrl: required(settings.baseUrl ?? kind.baseUrl, "--base-url", settings.provider),
    connectTimeoutMs: settings.connectTimeout,
    idleTimeoutMs: settings.idleTimeout,
    requestTimeoutMs: settings.requestTimeout,
    ...(apiKey === undefined ? {} : { apiKey }),
  };
}

function usualApiKey({ apiKeyEnv }: { readonly apiKeyEnv?: string }, env: Environment): string | undefined {
  // Whoever set it may not know of Holdfast: empty counts as none.
  if (apiKeyEnv === undefined || !env[apiKeyEnv]) return undefined;
  return readApiKey(apiKeyEnv, "the provider", env);
}

/** Where to listen, said once: an address of the network, or a socket. @throws UsageError */
function withOneAddress(raw: RawOptions): RawOptions {
  return withOneOf(
    raw,
    [["listen"], ["host", "port"]],
    (listen, other) =>
      new UsageError(`${listen.source} and ${other.source} each say where to listen`, "Give one of them."),
  );
}

function listenAddress({ host, port, listen }: ListenSettings): ListenAddress {
  if (listen !== undefined) return { kind: "unix", path: resolve(listen.slice(SOCKET_SCHEME.length)) };
  return { kind: "tcp", host, port };
}

function existingFolder(path: string, raw: RawOptions): string {
  if (isFolder(path)) return path;
  throw new UsageError(
    `The workspace ${shownPath(path)} is not a folder`,
    `Make it, or name another one with ${sourceOf(raw, "workspace")}.`,
  );
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // whatever the reason is, nobody can work in it
  }
}

function required(value: string | undefined, flag: string, provider: string): string {
  if (value !== undefined) return value;
  throw new UsageError(
    `The provider ${provider} needs ${flag}`,
    `Add ${flag}, or use --provider demo to try things out.`,
  );
}
