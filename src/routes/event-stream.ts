import type { LiveFollower, LiveItem } from "../agent/live-feed.ts";
import { breathe } from "../store/breathe.ts";
import { problemOf } from "./problem.ts";
import { pullStream } from "./pull-stream.ts";

/** How long an event stream may be quiet before a comment is sent, in milliseconds. Proxies cut quiet connections. */
export const HEARTBEAT_MS = 15_000;
/** Characters of durable events that are sent at once. */
const PIECE = 64 * 1024;
const HEARTBEAT = ": heartbeat\n\n";

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
  vary: "accept",
};

export interface EventStreamOptions {
  readonly follower: LiveFollower;
  /** The last event; asked for when the follower has ended. */
  readonly last: () => Promise<string>;
  readonly heartbeatMs: number;
  /** Told of a defect that ends the stream early. */
  readonly report: (error: unknown) => void;
}

/** One server-sent event. Line ends within the data, which JSON takes as white space, begin a line of their own. */
export function serverSentEvent(event: string, data: string, id?: number): string {
  const lines = /[\r\n]/.test(data) ? data.replaceAll(/\r\n|\r|\n/g, "\ndata: ") : data;
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${lines}\n\n`;
}

/**
 * Answers with what a follower sees, as server-sent events, then with one last event. Nothing is kept for a client that
 * reads slowly, and nothing is left when it goes away.
 */
export function eventStream(options: EventStreamOptions, request: Request): Response {
  const stream = new EventStream(options);
  const leave = () => stream.leave();
  // Whichever of the two tells first that the client has gone: the request, or the body that nobody reads any more.
  request.signal.addEventListener("abort", leave, { once: true });
  if (request.signal.aborted) leave();
  const body = pullStream(
    async () => {
      const text = await stream.next();
      if (text === undefined) request.signal.removeEventListener("abort", leave);
      return text;
    },
    () => {
      request.signal.removeEventListener("abort", leave);
      leave();
    },
  );
  return new Response(body, { headers: HEADERS });
}

class EventStream {
  readonly #options: EventStreamOptions;
  #state: "new" | "open" | "over" = "new";
  /** Whether there was more than one piece to send. */
  #isBehind = false;
  /** Ends the wait that is under way. */
  #wait: AbortController | undefined;
  /** When something was sent last. */
  #sentAt = 0;

  constructor(options: EventStreamOptions) {
    this.#options = options;
  }

  /** What is to be sent next, once there is something; nothing when all is said or the client has left. */
  async next(): Promise<string | undefined> {
    if (this.#state === "over") return undefined;
    const text = this.#state === "new" ? ": open\n\n" : await this.#read();
    if (this.#state === "new") this.#state = "open";
    this.#sentAt = performance.now();
    return text;
  }

  /** The client has gone. */
  leave(): void {
    this.#state = "over";
    this.#wait?.abort();
  }

  async #read(): Promise<string | undefined> {
    const { follower, last, report } = this.#options;
    try {
      for (;;) {
        if (this.#isBehind) await breathe();
        const items = follower.take(PIECE);
        this.#isBehind = follower.hasMore();
        if (items.length > 0) return items.map(textOf).join("");
        if (follower.ended) {
          this.#state = "over";
          return await last();
        }
        await this.#change();
        if (this.#state === "over") return undefined;
        if (!follower.hasMore() && !follower.ended) return HEARTBEAT;
      }
    } catch (error) {
      this.#state = "over";
      report(error);
      return serverSentEvent("error", JSON.stringify(problemOf(error)));
    }
  }

  /** Returns when the follower has more or has ended, the client has left, or a heartbeat is due. */
  async #change(): Promise<void> {
    const wait = new AbortController();
    this.#wait = wait;
    const quietMs = performance.now() - this.#sentAt;
    const timer = setTimeout(() => wait.abort(), Math.max(0, this.#options.heartbeatMs - quietMs));
    try {
      await this.#options.follower.changed(wait.signal);
    } catch (error) {
      if (!wait.signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
      this.#wait = undefined;
    }
  }
}

function textOf(item: LiveItem): string {
  if (item.kind === "event") return serverSentEvent("event", item.text, item.seq);
  const { seq, turn, step, chunk } = item.delta;
  const delta = { provisional: true, type: "assistant/chunk", seq, data: { turn, step, chunk } };
  return serverSentEvent("provisional", JSON.stringify(delta));
}
