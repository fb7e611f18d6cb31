import { resolve } from "node:path";
import { getLogger } from "@logtape/logtape";
import type { Agent } from "../agent/agent.ts";
import { Agents } from "../agent/agents.ts";
import { InvocationQueue } from "../agent/invocations.ts";
import type { Provider } from "../agent/provider.ts";
import { ProviderRegistry } from "../agent/providers/registry.ts";
import type { Tool } from "../agent/tool.ts";
import { workspaceTools } from "../agent/tools/index.ts";
import { ToolRegistry } from "../agent/tools/registry.ts";
import { createApp } from "../routes/app.ts";
import { formatPlace, HoldfastError } from "../session/errors.ts";
import { NotFoundError } from "../store/errors.ts";
import { TORN_END } from "../store/finding.ts";
import { openMemory } from "../store/memory/index.ts";
import { openStore, storePaths } from "../store/open-store.ts";
import type { SessionPersistence } from "../store/persistence.ts";
import type { StoreName } from "../store/store-name.ts";
import { type HostConfig, isLoopback } from "./config.ts";
import { listen, withDeadline } from "./listener.ts";
import { versionInfo } from "./version.ts";

const log = getLogger(["holdfast", "host"]);

/** How long answers may take to leave once the last Turn has ended. */
const FLUSH_MS = 1_000;

/** What a Host takes from outside, so that tests own it. */
export interface HostDependencies {
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  /** Opens the store; by the configuration when absent. */
  readonly openStore?: (config: HostConfig) => Promise<SessionPersistence>;
  /** Tools beside those of the workspace. */
  readonly extraTools?: readonly Tool[];
}

/** A running Host. Disposing shuts it down in order, within the drain timeout as far as the disk allows. */
export interface Host extends AsyncDisposable {
  readonly url: string;
  /** Where the session lies, for people. */
  readonly location: string;
  readonly agent: Agent;
}

/**
 * Starts a Host: store (with its lock), session (with the recovery of an interrupted Turn), agent, listener. Whatever
 * fails, what was started before it is shut down again.
 * @throws any typed error of the layers below
 */
export async function startHost(config: HostConfig, dependencies: HostDependencies): Promise<Host> {
  await using resources = new AsyncDisposableStack();
  const persistence = resources.use(await (dependencies.openStore ?? openConfigured(dependencies))(config));
  const providers = new ProviderRegistry();
  const defaultRoute = { provider: config.provider, model: config.model };
  providers.register(defaultRoute, await createProvider(config));
  const agent = resources.use(await openAgent(config, dependencies, persistence));
  const queue = new InvocationQueue();
  let closing = false;
  const app = createApp({
    invocations: { agent, queue, providers, defaultRoute },
    status: { persistence, closing: () => closing, version: versionInfo() },
    guard: {
      ...(isLoopback(config.host)
        ? { hosts: new Set(["localhost", "127.0.0.1", "[::1]", config.host]) }
        : {}),
      ...(config.token === undefined ? {} : { token: config.token }),
    },
    report: (error, request) => logRequestError(error, request),
  });
  const listener = listen(app, config.host, config.port);
  resources.defer(async () => {
    closing = true;
    // Not the clock of the events, which may be set back meanwhile.
    const deadline = performance.now() + config.drainTimeoutMs;
    if (!(await withDeadline(queue.close(), config.drainTimeoutMs))) {
      log.error("The running Turn did not end in time; it is closed when the session is next opened");
    }
    // Answers are on their way out; a client that is slow to send or to read does not hold the end up.
    await listener.stop(Math.max(0, Math.min(FLUSH_MS, deadline - performance.now())));
  });
  const owned = resources.move();
  return {
    url: listener.url,
    location: persistence.locate(agent.session.header),
    agent,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function openConfigured({ clock }: HostDependencies): (config: HostConfig) => Promise<SessionPersistence> {
  return async (config) => {
    const { chunkWindowMs, jsonlEncoding: encoding } = config;
    const name = storeOf(config);
    if (name === undefined) return openMemory({ clock, chunkWindowMs });
    return openStore(name, { clock, chunkWindowMs, ...(encoding === undefined ? {} : { encoding }) });
  };
}

function storeOf({ sessionDb, sessionDir }: HostConfig): StoreName | undefined {
  if (sessionDb !== undefined) return { kind: "sqlite", path: sessionDb };
  return sessionDir === undefined ? undefined : { kind: "jsonl", path: sessionDir };
}

/** The session that this Host serves: resumed if it is stored, else new. */
async function openAgent(
  config: HostConfig,
  { clock, newId, extraTools = [] }: HostDependencies,
  persistence: SessionPersistence,
): Promise<Agent> {
  const tools = new ToolRegistry();
  const cwd = resolve(config.workspace);
  const store = storeOf(config);
  const own = store === undefined ? [] : storePaths(store);
  for (const tool of [...workspaceTools(cwd, () => own), ...extraTools]) tools.register(tool);
  const { systemPrompt: system, maxSteps, sessionId } = config;
  const agents = new Agents(
    persistence,
    { tools, maxSteps, newId, ...(system === undefined ? {} : { system }) },
    clock,
  );
  try {
    const agent = await agents.resume({ resumeSessionId: sessionId });
    log.info("Resumed session {sessionId} with {events} events", {
      sessionId,
      events: agent.session.log.length,
    });
    logRecovery(agent, persistence);
    return agent;
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    const agent = await agents.create({ sessionId, cwd });
    log.info("New session {sessionId}", { sessionId });
    await warnOfStrays(agent, persistence);
    return agent;
  }
}

/** The session that is new may have been there before, and have lost its header. */
async function warnOfStrays({ session }: Agent, persistence: SessionPersistence): Promise<void> {
  try {
    if (!(await persistence.hasStrays())) return;
  } catch {
    // Whoever reads or writes the store next is told.
    return;
  }
  log.warning(
    "The store holds events of no session. If {sessionId} was there before, they may be its own: `holdfast sessions verify` tells of them, and `holdfast sessions salvage` brings them back",
    { sessionId: session.id },
  );
}

function logRecovery({ recovery, session }: Agent, persistence: SessionPersistence): void {
  const { closers, torn } = recovery;
  if (torn) {
    log.warning(
      `Session {sessionId}: the ${TORN_END}. That piece was set aside: look for a file with .torn- in its name beside {location}`,
      { sessionId: session.id, location: persistence.locate(session.header) },
    );
  }
  if (closers > 0) log.info("Closed an interrupted Turn with {closers} events", { closers });
}

async function createProvider(config: HostConfig): Promise<Provider> {
  if (config.provider === "demo") {
    const { createDemo } = await import("../agent/providers/demo/index.ts");
    return createDemo();
  }
  const { createOpenAICompatible } = await import("../agent/providers/openai-compatible/index.ts");
  return createOpenAICompatible({
    baseUrl: config.baseUrl ?? "",
    requestTimeoutMs: config.requestTimeoutMs,
    ...(config.apiKey === undefined ? {} : { apiKey: config.apiKey }),
  });
}

function logRequestError(error: unknown, request: Request): void {
  const typed = error instanceof HoldfastError;
  log.error("{method} {path} failed: {message}", {
    method: request.method,
    path: new URL(request.url).pathname,
    message: typed
      ? `${error.message} (${[error.code, formatPlace(error.place)].filter(Boolean).join("; ")})`
      : error,
  });
}
