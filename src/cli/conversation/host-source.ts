import { createParser, type EventSourceMessage } from "eventsource-parser";
import { z } from "zod";
import { InvocationCancelledError } from "../../agent/errors.ts";
import { straightTo } from "../../agent/loopback.ts";
import type { Route } from "../../agent/providers/registry.ts";
import { HoldfastError } from "../../session/errors.ts";
import { errorCode } from "../../store/errors.ts";
import type { HostAddress } from "./host-address.ts";
import { type Answer, type TurnOptions, type TurnSource, type TurnUpdate, toAnswer } from "./source.ts";
import type { TurnReader } from "./turn-reader.ts";

/** Milliseconds between two tries to cancel what the Host does not know yet. */
const CANCEL_PAUSE = 100;

const problemSchema = z.looseObject({ code: z.string(), detail: z.string(), hint: z.string().optional() });
const place = { turn: z.number(), step: z.number() };
const deltaSchema = z.object({
  seq: z.number(),
  data: z.object({
    ...place,
    chunk: z.discriminatedUnion("type", [
      z.object({ type: z.literal("text-delta"), index: z.number(), text: z.string() }),
      z.object({ type: z.literal("reasoning-delta"), index: z.number(), text: z.string() }),
    ]),
  }),
});

/** What the Host answered in place of an answer. `code` is that of the problem (docs/http.md). */
class HostProblem extends HoldfastError {
  readonly code: string;

  constructor({ code, detail, hint }: z.infer<typeof problemSchema>) {
    super(detail, { hint: hint ?? "The log of the Host says more." });
    this.code = code;
  }
}

/** The Host did not answer as a Host does. */
class HostError extends HoldfastError {
  readonly code = "host-unreachable";
}

/** A Host that is spoken to over HTTP. */
export class HostSource implements TurnSource {
  readonly #address: HostAddress;
  readonly #route: Route | undefined;
  readonly #token: string | undefined;

  /** Without a route the Host's own is taken. `token` is sent where it is given. */
  constructor(address: HostAddress, route: Route | undefined, token: string | undefined) {
    this.#address = address;
    this.#route = route;
    this.#token = token;
  }

  async *run(input: string, { live, signal }: TurnOptions): AsyncGenerator<TurnUpdate> {
    const id = crypto.randomUUID();
    if (signal.aborted) throw new InvocationCancelledError();
    const path = `api/v1/agent/invocations/${id}`;
    const over = new AbortController();
    const left = new AbortController();
    // A Host that cannot be told to cancel is not waited for either.
    const cancel = () => void this.#cancel(path, over.signal).catch((error) => left.abort(error));
    signal.addEventListener("abort", cancel);
    try {
      const response = await this.#send(path, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: live ? "text/event-stream" : "application/json",
        },
        body: JSON.stringify({ input, ...(this.#route === undefined ? {} : { route: this.#route }) }),
        signal: left.signal,
      });
      const isStream = /^text\/event-stream\b/.test(response.headers.get("content-type") ?? "");
      if (response.ok && isStream) yield* this.#follow(response);
      else yield { kind: "done", answer: await this.#answer(response) };
    } finally {
      over.abort();
      signal.removeEventListener("abort", cancel);
    }
  }

  /** The answer to the invocation itself tells how it ended. One that is not there yet may still be on its way. */
  async #cancel(path: string, over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      const { status } = await this.#send(path, { method: "DELETE" });
      if (status !== 404) return;
      await Bun.sleep(CANCEL_PAUSE);
    }
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    const { base, unix } = this.#address;
    const headers = new Headers(init.headers);
    if (this.#token !== undefined) headers.set("authorization", `Bearer ${this.#token}`);
    try {
      // A Turn takes as long as it takes; the Host's own timeouts bound it.
      return await fetch(new URL(path, base), {
        ...init,
        headers,
        timeout: false,
        ...straightTo(base),
        ...(unix === undefined ? {} : { unix }),
      });
    } catch (cause) {
      const reason = unreached(cause);
      if (reason === undefined) throw this.#wentAway("before it answered", cause);
      throw new HostError(`No Host answers at ${this.#address.name}: ${reason}`, {
        hint: "Start one with `holdfast serve`, or give its address with --url.",
        cause,
      });
    }
  }

  async #answer(response: Response): Promise<Answer> {
    let text: string;
    try {
      text = await response.text();
    } catch (cause) {
      throw this.#wentAway("before it had answered", cause);
    }
    const body = parseJson(text);
    const answer = toAnswer(body);
    if (response.ok && answer !== undefined) return answer;
    const problem = problemSchema.safeParse(body);
    if (!response.ok && problem.success) throw new HostProblem(problem.data);
    throw this.#noHost(`status ${response.status}`);
  }

  async *#follow(response: Response): AsyncGenerator<TurnUpdate> {
    // What knows the events of a log is loaded where there are any.
    const reader = new (await import("./turn-reader.ts")).TurnReader();
    try {
      for await (const message of eventsOf(response)) {
        for (const update of this.#read(reader, message)) {
          yield update;
          if (update.kind === "done") return;
        }
      }
    } catch (cause) {
      if (cause instanceof HoldfastError) throw cause;
      throw this.#wentAway("in the middle of the Turn", cause);
    }
    throw this.#wentAway("in the middle of the Turn", undefined);
  }

  /** @throws HostProblem when the Turn failed, HostError for what no Host sends */
  #read(reader: TurnReader, { event, data }: EventSourceMessage): TurnUpdate[] {
    const value = parseJson(data);
    if (value === undefined) throw this.#noHost("an event that is no JSON");
    if (event === "event") return reader.event(value);
    if (event === "provisional") {
      const delta = deltaSchema.safeParse(value);
      return delta.success ? reader.provisional({ seq: delta.data.seq, ...delta.data.data }) : [];
    }
    if (event === "done") {
      const answer = toAnswer(value);
      if (answer !== undefined) return [{ kind: "done", answer }];
      throw this.#noHost("an end of the Turn that is none");
    }
    if (event !== "error") return [];
    const problem = problemSchema.safeParse(value);
    throw problem.success ? new HostProblem(problem.data) : this.#noHost("an error that is none");
  }

  #noHost(found: string): HostError {
    return new HostError(`What answers at ${this.#address.name} is not a Holdfast Host (${found})`, {
      hint: "Check --url.",
    });
  }

  #wentAway(when: string, cause: unknown): HostError {
    return new HostError(`The Host at ${this.#address.name} went away ${when}`, {
      hint: "The input may have been recorded. Start the Host, and read the session before you send it again.",
      cause,
    });
  }
}

/** Server-sent events as they come. @throws what the connection threw */
async function* eventsOf({ body }: Response): AsyncGenerator<EventSourceMessage> {
  if (body === null) return;
  let events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => void events.push(event) });
  const decoder = new TextDecoder();
  for await (const bytes of body) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    const ready = events;
    events = [];
    yield* ready;
  }
}

/** Failures before anything was sent, by the code of the system. */
const UNREACHED: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ConnectionRefused: "nothing listens there",
  FailedToOpenSocket: "it cannot be reached",
  ENOTFOUND: "the name is not known",
  EAI_AGAIN: "the name cannot be looked up",
  ENOENT: "there is no such socket",
  ENAMETOOLONG: "the path is too long for a socket",
  EACCES: "this user may not use the socket",
  EHOSTUNREACH: "there is no way to it",
  ENETUNREACH: "there is no way to it",
  EPROTO: "it does not speak TLS",
};

/** Why a Host was not reached; nothing when it may have been. */
function unreached(cause: unknown): string | undefined {
  const code = errorCode(cause) ?? "";
  return (
    UNREACHED[code] ?? (/CERT|SIGNATURE/.test(code) ? `its certificate is not trusted (${code})` : undefined)
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
