import { getLogger } from "@logtape/logtape";
import type { Agent } from "../agent/agent.ts";
import { isLoopback } from "../agent/loopback.ts";
import { createApp } from "../routes/app.ts";
import type { GuardOptions } from "../routes/guard.ts";
import { requestPath } from "../routes/request-path.ts";
import { formatPlace, HoldfastError } from "../session/errors.ts";
import { makesFolder } from "../store/open-store.ts";
import { type HostConfig, storeOf } from "./config.ts";
import { assertAddressFree, listen } from "./listener.ts";
import { openRuntime, type RuntimeDependencies } from "./runtime.ts";
import { versionInfo } from "./version.ts";

const log = getLogger(["holdfast", "host"]);

/** How long answers may take to leave once the last Turn has ended. */
const FLUSH_MS = 1_000;

export type HostDependencies = RuntimeDependencies;

/** A running Host. Disposing shuts it down in order, within the drain timeout as far as the disk allows. */
export interface Host extends AsyncDisposable {
  readonly url: string;
  /** Where the session lies, for people. */
  readonly location: string;
  readonly agent: Agent;
}

/**
 * Starts a Host: store (with its lock), session (with the recovery of an interrupted Turn), agent, listener; before all
 * that a look at the address. Whatever fails, what was started before it is shut down again.
 * @throws any typed error of the layers below
 */
export async function startHost(config: HostConfig, dependencies: HostDependencies): Promise<Host> {
  await assertCanListen(config);
  await using resources = new AsyncDisposableStack();
  const runtime = resources.use(await openRuntime(config, dependencies));
  const { agent, queue, providers, defaultRoute, persistence } = runtime;
  let closing = false;
  const app = createApp({
    invocations: { agent, queue, providers, defaultRoute },
    forks: { agents: runtime.agents, newId: dependencies.newId },
    status: { persistence, closing: () => closing, version: versionInfo() },
    guard: guardOptions(config),
    report: (error, request) => logRequestError(error, request),
  });
  const listener = await listen(app, config.listen);
  resources.defer(async () => {
    closing = true;
    // Not the clock of the events, which may be set back meanwhile.
    const deadline = performance.now() + config.drainTimeoutMs;
    await runtime.drain();
    agent.live.close();
    // Answers are on their way out; a client that is slow to send or to read does not hold the end up.
    await listener.stop(Math.max(0, Math.min(FLUSH_MS, deadline - performance.now())));
  });
  const owned = resources.move();
  return {
    url: listener.url,
    location: runtime.location,
    agent,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Before the store is touched: a start that fails for its address makes no store and closes no Turn. */
async function assertCanListen(config: HostConfig): Promise<void> {
  const store = storeOf(config);
  try {
    await assertAddressFree(config.listen, (folder) => store !== undefined && makesFolder(store, folder));
  } catch (error) {
    // The address is taken most often by a Host on this very store, whose process is known.
    if (store !== undefined) (await import("../store/assert-unlocked.ts")).assertUnlocked(store);
    throw error;
  }
}

/** Anything may address a socket in the file system: no web page can reach it. */
function guardOptions({ listen: address, token }: HostConfig): GuardOptions {
  const isLocal = address.kind === "tcp" && isLoopback(address.host);
  return {
    ...(isLocal ? { hosts: new Set(["localhost", "127.0.0.1", "[::1]", address.host]) } : {}),
    ...(token === undefined ? {} : { token }),
  };
}

function logRequestError(error: unknown, request: Request | undefined): void {
  const typed = error instanceof HoldfastError;
  log.error("{request} failed: {message}", {
    request: request === undefined ? "A request" : `${request.method} ${requestPath(request)}`,
    message: typed
      ? `${error.message} (${[error.code, formatPlace(error.place)].filter(Boolean).join("; ")})`
      : error,
  });
}
