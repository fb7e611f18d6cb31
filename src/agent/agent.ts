import type { Session } from "../session/session.ts";
import { LiveFeed } from "./live-feed.ts";
import type { CallSettings, Provider } from "./provider.ts";
import type { Route } from "./providers/registry.ts";
import { requestEnvelope } from "./request.ts";
import { NO_RETRIES, type RetryPolicy } from "./retry.ts";
import type { ToolRegistry } from "./tools/registry.ts";
import { runTurn, type TurnResult } from "./turn.ts";

/** What every Turn of an agent has in common. */
export interface AgentSettings {
  readonly tools: ToolRegistry;
  /** System prompt; none when absent. */
  readonly system?: string;
  readonly maxSteps: number;
  /** How models are asked. */
  readonly call?: CallSettings;
  /** How failed model requests are tried again; not at all when absent. */
  readonly retry?: RetryPolicy;
  /** Makes message ids. */
  readonly newId: () => string;
}

/** What it took to go on with a session that was not left in order. */
export interface Recovery {
  /** Events that closed an interrupted Turn. */
  readonly closers: number;
  /** Whether an end of the log that is damaged or was never fully written was set aside. */
  readonly torn: boolean;
}

/** One conversation that can go on: a session and what it takes to run a Turn on it. */
export class Agent implements AsyncDisposable {
  readonly session: Session;
  readonly recovery: Recovery;
  /** The session as it happens. */
  readonly live: LiveFeed;
  readonly #settings: AgentSettings;
  #resumed: boolean;

  constructor(
    session: Session,
    settings: AgentSettings,
    resumed: boolean,
    recovery: Recovery = { closers: 0, torn: false },
  ) {
    this.session = session;
    this.recovery = recovery;
    this.live = new LiveFeed(session.log);
    this.#settings = settings;
    this.#resumed = resumed;
  }

  /** Runs one Turn. One at a time: the caller queues. See {@link runTurn}. */
  async run(input: string, provider: Provider, route: Route, signal: AbortSignal): Promise<TurnResult> {
    const { system, tools, maxSteps, newId, call = {}, retry = NO_RETRIES } = this.#settings;
    const envelope = requestEnvelope(route, call, provider.defaults ?? {}, {
      ...(system === undefined ? {} : { system }),
      tools: tools.descriptors(),
    });
    const { session, live } = this;
    try {
      return await runTurn({
        session,
        provider,
        tools,
        envelope,
        input,
        maxSteps,
        retry,
        newId,
        signal,
        resumed: this.#resumed,
        offer: (delta) => live.offer(delta),
      });
    } finally {
      live.settle();
      // A Turn that could not save its envelope has not taken the session up: the next one still does.
      if (Bun.deepEquals(session.projections.requestHeader, envelope)) this.#resumed = false;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.live.close();
    return this.session[Symbol.asyncDispose]();
  }
}
