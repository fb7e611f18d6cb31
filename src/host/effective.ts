import { PROVIDERS, type ProviderKind } from "../agent/providers/index.ts";
import { type ResolvedConfig, resolveConfig } from "./config.ts";
import { type Environment, TOKEN_VARIABLE } from "./secrets.ts";
import { option } from "./setting-values.ts";
import { agentSettings, listenSettings, type Setting } from "./settings.ts";
import { hiddenText, shownValue } from "./shown-value.ts";
import { isGiven, kindOfSource, type RawOptions } from "./usage.ts";

/** A setting as a Host would run with it. */
export interface EffectiveSetting {
  /** As a configuration file names it. */
  readonly name: string;
  /** In the unit in which it is given; `null` where there is none. */
  readonly value: unknown;
  readonly from: "flag" | "variable" | "file" | "default";
  /** The flag, the variable, or the member and its file; absent for a default. */
  readonly source?: string;
}

/** Whether a secret is set, and what holds it. The secret itself is nowhere in it. */
export interface EffectiveSecret {
  readonly name: "apiKey" | "token";
  readonly isSet: boolean;
  /** Variable that holds it, or option that names its file; absent where none does. */
  readonly holder?: string;
}

/** What a Host would run with, and why. */
export interface EffectiveConfig {
  readonly settings: readonly EffectiveSetting[];
  readonly secrets: readonly EffectiveSecret[];
}

/** Everything that a Host would run with, in the order of its flags. @throws UsageError where it would refuse to start */
export function effectiveConfig(raw: RawOptions, env: Environment): EffectiveConfig {
  const resolved = resolveConfig(raw, env);
  const file = raw["config"];
  const settings = Object.entries<Setting<unknown, unknown>>({ ...agentSettings, ...listenSettings });
  return {
    settings: [
      isGiven(file)
        ? { name: "config", value: file.value, from: kindOfSource(file), source: file.source }
        : { name: "config", value: null, from: "default" },
      ...settings.map(([name, { scale = 1 }]) => effective(name, scale, resolved)),
    ],
    secrets: [apiKey(resolved, env), token(resolved)],
  };
}

function effective(name: string, scale: number, resolved: ResolvedConfig): EffectiveSetting {
  const values: Readonly<Record<string, unknown>> = { ...resolved.settings, ...derived(resolved) };
  const kept = values[name] ?? null;
  const isList = typeof kept === "object" && kept !== null;
  const value = typeof kept === "number" ? kept / scale : isList ? withoutSecrets(kept) : kept;
  const given = option(resolved.given, name);
  if (given === undefined) return { name, value, from: "default" };
  return { name, value, from: kindOfSource(given), source: given.source };
}

/** Any text of a request may be a key, however little it belongs there. */
function withoutSecrets(value: unknown): unknown {
  const text = JSON.stringify(value, (_, member: unknown) =>
    typeof member === "string" && shownValue(member) !== JSON.stringify(member) ? hiddenText(member) : member,
  );
  return JSON.parse(text);
}

/** What other settings decide. */
function derived({ config, settings }: ResolvedConfig): Readonly<Record<string, unknown>> {
  const { apiKeyEnv } = settings;
  const kind: ProviderKind = PROVIDERS[config.provider];
  const usualKey = "connect" in kind ? kind.apiKeyEnv : undefined;
  return {
    model: config.model,
    // Of a home of dsh it is the folder in it.
    sessionDir: config.sessionDir,
    // The default is a session of this name, or a new one where it is a fork.
    sessionId: config.sessionId,
    ...("connect" in kind ? { baseUrl: config.connection?.baseUrl } : {}),
    apiKeyEnv: apiKeyEnv ?? usualKey,
    ...(config.listen.kind === "unix" ? { host: null, port: null } : {}),
  };
}

function apiKey({ config, settings }: ResolvedConfig, env: Environment): EffectiveSecret {
  const kind: ProviderKind = PROVIDERS[config.provider];
  const variable = settings.apiKeyEnv ?? ("connect" in kind ? kind.apiKeyEnv : undefined);
  const isSet = variable !== undefined && Boolean(env[variable]);
  return { name: "apiKey", isSet, ...(variable === undefined ? {} : { holder: variable }) };
}

function token({ config, given }: ResolvedConfig): EffectiveSecret {
  const file = option(given, "tokenFile");
  const holder = file === undefined ? TOKEN_VARIABLE : file.source;
  return { name: "token", isSet: config.token !== undefined, holder };
}
