import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { z } from "zod";
import { isLoopback } from "../agent/loopback.ts";
import type { CallSettings } from "../agent/provider.ts";
import {
  PROVIDERS,
  type ProviderConnection,
  type ProviderKind,
  type ProviderName,
} from "../agent/providers/index.ts";
import { withConfigFile } from "./config-file.ts";
import type { ListenAddress } from "./listen-address.ts";
import { assertWithout, type Environment, findSecrets, readApiKey, readToken } from "./secrets.ts";
import { readSettingFile } from "./setting-file.ts";
import { agentSettings, listenSettings, type Setting, SOCKET_SCHEME, type Values } from "./settings.ts";
import { hiddenText, shownPath, shownValue } from "./shown-value.ts";
import { withOneStore } from "./store-options.ts";
import { isGiven, type RawOption, type RawOptions, UsageError, withOneOf } from "./usage.ts";

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

/**
 * The configuration of a Host. Checks all options at once and reads what they point to. A flag wins over a variable, that
 * over the configuration file, that over the default. Secrets come from variables or files, never from flags.
 * @throws UsageError naming the flag, the variable or the member of the file
 */
export function parseConfig(raw: RawOptions, env: Environment): HostConfig {
  const given = withOneAddress(withOneStore(withConfigFile(raw)));
  const runtime = runtimeConfig(given, env);
  const settings = parse(listenSettings, given);
  const token = readToken(option(given, "tokenFile"), env);
  const listen = listenAddress(settings);
  if (listen.kind === "tcp" && !isLoopback(listen.host) && token === undefined) {
    throw new UsageError(
      `${sourceOf(given, "host")} names ${listen.host}, which other machines can reach, and no token is set`,
      "Set HOLDFAST_TOKEN or --token-file, or listen on 127.0.0.1.",
    );
  }
  return { ...runtime, listen, maxQueue: settings.maxQueue, ...(token === undefined ? {} : { token }) };
}

/** The configuration of an agent without a listener. @throws UsageError */
export function parseRuntimeConfig(raw: RawOptions, env: Environment): RuntimeConfig {
  return runtimeConfig(withOneStore(withConfigFile(raw)), env);
}

type AgentSettings = Values<typeof agentSettings>;

function parse<S extends Readonly<Record<string, Setting<unknown, unknown>>>>(
  settings: S,
  raw: RawOptions,
): Values<S> {
  const values: Record<string, unknown> = {};
  for (const [name, { schema, fallback }] of Object.entries(settings)) {
    // An empty flag is a mistake, unlike an empty variable.
    const given = option(raw, name);
    const result = given === undefined ? undefined : schema().safeParse(given.value);
    if (given !== undefined && result?.success === false)
      throw unusable(raw, name, given.value, result.error);
    values[name] = result?.success === true ? result.data : fallback;
  }
  // Each value came from the schema or the fallback of its own setting.
  return values as Values<S>;
}

function unusable(raw: RawOptions, name: string, whole: unknown, { issues }: z.ZodError): UsageError {
  const [issue] = issues;
  const value = (issue?.path ?? []).reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? Reflect.get(at, key) : at),
    whole,
  );
  // What should name the variable with a key is often the key.
  const isKey = name === "apiKeyEnv" && typeof value === "string" && value !== "";
  const shown = isKey ? hiddenText(value) : shownValue(value);
  return new UsageError(`${sourceOf(raw, name)} cannot be ${shown}: ${issue?.message ?? "it is not valid"}`);
}

/** An option, if it is given. */
function option(raw: RawOptions, name: string): RawOption | undefined {
  const found = raw[name];
  return isGiven(found) ? found : undefined;
}

/** Where an option came from; its flag where it was not given. */
function sourceOf(raw: RawOptions, name: string): string {
  return (
    option(raw, name)?.source ?? `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
  );
}

function runtimeConfig(raw: RawOptions, env: Environment): RuntimeConfig {
  const secrets = findSecrets(raw, env);
  const settings = parse(agentSettings, raw);
  const { sessionDb, sessionDir, jsonlEncoding, provider, retries, maxSteps, systemPromptFile } = settings;
  const { reasoningEffort, temperature, maxTokens, stop, extraBody, forkFrom } = settings;
  const model = modelFor(provider, settings.model, raw);
  const connection = connectionFor(settings, raw, env);
  const sessionId = settings.sessionId ?? (forkFrom === undefined ? "default" : undefined);
  const promptSource = sourceOf(raw, "systemPromptFile");
  const systemPrompt =
    systemPromptFile === undefined ? undefined : readSettingFile(promptSource, systemPromptFile).text;
  assertWithout(secrets, systemPrompt, `The file that ${promptSource} names`);
  return {
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
    ...(sessionDir === undefined ? {} : { sessionDir }),
    ...(jsonlEncoding === undefined ? {} : { jsonlEncoding }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...forkOf(settings, raw),
    ...(connection === undefined ? {} : { connection }),
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
  };
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

function listenAddress({ host, port, listen }: Values<typeof listenSettings>): ListenAddress {
  if (listen !== undefined) return { kind: "unix", path: resolve(listen.slice(SOCKET_SCHEME.length)) };
  return { kind: "tcp", host, port };
}

function existingFolder(path: string, raw: RawOptions): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return path;
  throw new UsageError(
    `The workspace ${shownPath(path)} is not a folder`,
    `Make it, or name another one with ${sourceOf(raw, "workspace")}.`,
  );
}

function required(value: string | undefined, flag: string, provider: string): string {
  if (value !== undefined) return value;
  throw new UsageError(
    `The provider ${provider} needs ${flag}`,
    `Add ${flag}, or use --provider demo to try things out.`,
  );
}
