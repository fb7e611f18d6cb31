import type { Route } from "../agent/providers/registry.ts";
import type { RuntimeConfig } from "../host/config.ts";
import { isFlag, isGiven, type RawOption, type RawOptions, UsageError } from "../host/usage.ts";
import { type HostAddress, parseHostAddress } from "./conversation/host-address.ts";

const DEFAULT_URL = "http://127.0.0.1:8765";
/** Flags that both forms take. */
const SHARED = new Set(["provider", "model"]);
const STORES = ["sessionDb", "sessionDir"];

/** Where an input goes: to a Host, or to an agent in this process. */
export type InvokeTarget =
  | { readonly kind: "host"; readonly address: HostAddress; readonly route?: Route }
  | { readonly kind: "local"; readonly config: RuntimeConfig };

/**
 * What the options of `invoke` come to. Flags decide: `--url` for a Host, any flag of an agent for this process. Without
 * one of them HOLDFAST_URL counts, then a store that a variable or a configuration file names, then the default URL.
 * @throws UsageError
 */
export async function invokeTarget(
  { url, ...raw }: RawOptions,
  env: Readonly<Record<string, string | undefined>>,
): Promise<InvokeTarget> {
  const own = Object.entries(raw).find(([name, option]) => !SHARED.has(name) && isFlagged(option))?.[1];
  if (isFlagged(url)) {
    if (own === undefined) return hostTarget(url, raw);
    throw new UsageError(
      `--url sends the input to a Host, and ${own.source} is for a Turn without one`,
      "Leave one of them out.",
    );
  }
  if (own === undefined && isGiven(url)) return hostTarget(url, raw);
  if (await namesStore(raw)) {
    const { parseRuntimeConfig } = await import("../host/config.ts");
    return { kind: "local", config: parseRuntimeConfig(raw, env) };
  }
  if (own === undefined) return hostTarget(undefined, raw);
  throw new UsageError(
    `${own.source} is for a Turn without a Host, and no store is named`,
    "Add --session-db PATH or --session-dir ROOT. A Host that runs has settings of its own.",
  );
}

/** What reads settings is loaded where there are any: speaking to a Host begins sooner without it. */
async function namesStore(raw: RawOptions): Promise<boolean> {
  const settings = isGiven(raw["config"])
    ? (await import("../host/config-file.ts")).withConfigFile(raw)
    : raw;
  return STORES.some((name) => isGiven(settings[name]));
}

function hostTarget(url: RawOption | undefined, { provider, model }: RawOptions): InvokeTarget {
  const address = parseHostAddress(String(url?.value ?? DEFAULT_URL), url?.source ?? "--url");
  const route = routeOf(provider, model);
  return { kind: "host", address, ...(route === undefined ? {} : { route }) };
}

/** Of flags only: variables are for an agent that is run here. */
function routeOf(provider: RawOption | undefined, model: RawOption | undefined): Route | undefined {
  if (isFlagged(provider) && isFlagged(model))
    return { provider: String(provider.value), model: String(model.value) };
  if (!isFlagged(provider) && !isFlagged(model)) return undefined;
  throw new UsageError(
    "--provider and --model go together",
    "Give both, or neither for the Host's own route.",
  );
}

function isFlagged(option: RawOption | undefined): option is RawOption {
  return isGiven(option) && isFlag(option);
}
