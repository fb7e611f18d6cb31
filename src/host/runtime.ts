import { resolve } from "node:path";
import { getLogger } from "@logtape/logtape";
import type { Agent } from "../agent/agent.ts";
import { Agents } from "../agent/agents.ts";
import { InvocationQueue } from "../agent/invocations.ts";
import type { Provider } from "../agent/provider.ts";
import { keyMask, secretOf } from "../agent/providers/http/mask.ts";
import { PROVIDERS, type ProviderKind } from "../agent/providers/index.ts";
import { ProviderRegistry, type Route } from "../agent/providers/registry.ts";
import type { Tool } from "../agent/tool.ts";
import { workspaceTools } from "../agent/tools/index.ts";
import { ToolRegistry } from "../agent/tools/registry.ts";
import { openMemory } from "../store/memory/index.ts";
import { openStore, storePaths } from "../store/open-store.ts";
import type { SessionPersistence } from "../store/persistence.ts";
import { type RuntimeConfig, storeOf } from "./config.ts";
import { withDeadline } from "./deadline.ts";
import { openSession } from "./open-session.ts";

const log = getLogger(["holdfast", "host"]);

/** What a Host takes from outside, so that tests own it. */
export interface RuntimeDependencies {
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  /** From 0 to below 1; `Math.random` when absent. */
  readonly random?: () => number;
  /** Opens the store; by the configuration when absent. */
  readonly openStore?: (config: RuntimeConfig) => Promise<SessionPersistence>;
  /** Tools beside those of the workspace. */
  readonly extraTools?: readonly Tool[];
}

/** An agent on a session of a store, ready to run Turns, without anything that listens. */
export interface Runtime extends AsyncDisposable {
  readonly persistence: SessionPersistence;
  readonly agents: Agents;
  readonly agent: Agent;
  readonly queue: InvocationQueue;
  readonly providers: ProviderRegistry;
  /** The route of invocations that name none. */
  readonly defaultRoute: Route;
  /** Where the session lies, for people. */
  readonly location: string;
  /** Refuses new invocations, cancels all, and waits until they ended, within the drain timeout. */
  drain(): Promise<void>;
}

/**
 * Opens the store (with its lock), the session (with the recovery of an interrupted Turn) and the agent. Whatever fails,
 * what was opened before it is closed again. Disposing drains, and closes all in reverse.
 * @throws any typed error of the layers below
 */
export async function openRuntime(
  config: RuntimeConfig & { readonly maxQueue?: number },
  dependencies: RuntimeDependencies,
): Promise<Runtime> {
  await using resources = new AsyncDisposableStack();
  const persistence = resources.use(await (dependencies.openStore ?? openConfigured(dependencies))(config));
  const providers = new ProviderRegistry();
  const defaultRoute = { provider: config.provider, model: config.model };
  providers.register(defaultRoute, await openProvider(config));
  const agents = createAgents(config, dependencies, persistence);
  const agent = resources.use(await openSession(config, dependencies.newId, agents, persistence));
  const queue = new InvocationQueue(config.maxQueue);
  let drained: Promise<void> | undefined;
  const drain = () => {
    drained ??= drainQueue(queue, config.drainTimeoutMs);
    return drained;
  };
  resources.defer(drain);
  const owned = resources.move();
  return {
    persistence,
    agents,
    agent,
    queue,
    providers,
    defaultRoute,
    location: persistence.locate(agent.session.header),
    drain,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function drainQueue(queue: InvocationQueue, timeoutMs: number): Promise<void> {
  if (await withDeadline(queue.close(), timeoutMs)) return;
  log.error("The running Turn did not end in time; it is closed when the session is next opened");
}

function openConfigured({
  clock,
}: RuntimeDependencies): (config: RuntimeConfig) => Promise<SessionPersistence> {
  return async (config) => {
    const { chunkWindowMs, jsonlEncoding: encoding } = config;
    const name = storeOf(config);
    if (name === undefined) return openMemory({ clock, chunkWindowMs });
    return openStore(name, { clock, chunkWindowMs, ...(encoding === undefined ? {} : { encoding }) });
  };
}

function createAgents(
  config: RuntimeConfig,
  { clock, newId, random = Math.random, extraTools = [] }: RuntimeDependencies,
  persistence: SessionPersistence,
): Agents {
  const store = storeOf(config);
  const own = store === undefined ? [] : storePaths(store);
  const { systemPrompt: system, maxSteps, retries, call } = config;
  const tools = new ToolRegistry([...workspaceTools(resolve(config.workspace), () => own), ...extraTools], {
    timeoutMs: config.toolTimeoutMs,
    // A file of the workspace may hold the very key, such as its `.env`.
    hide: keyMask(secretOf(config.connection?.apiKey)),
  });
  const settings = { tools, maxSteps, call, retry: { retries, random }, newId };
  return new Agents(persistence, system === undefined ? settings : { ...settings, system }, clock);
}

function openProvider({ provider, connection }: RuntimeConfig): Promise<Provider> {
  const kind: ProviderKind = PROVIDERS[provider];
  if (!("connect" in kind)) return kind.open();
  if (connection === undefined)
    throw new RangeError(`the provider ${provider} was configured without a way to it`);
  if (kind.apiKeyEnv !== undefined && connection.apiKey === undefined) {
    log.warn(
      `${kind.apiKeyEnv} is not set: ${provider} is asked without a key, which only some servers allow`,
    );
  }
  return kind.connect(connection);
}
