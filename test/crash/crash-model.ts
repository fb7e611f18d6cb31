import { z } from "zod";
import {
  CUT,
  heldReply,
  type Part,
  ProviderServer,
  partsReply,
  type RecordedRequest,
  type Reply,
  statusReply,
} from "../fixtures/provider-server.ts";
import type { AnswerPlan } from "./answer-plan.ts";
import type { FailurePlan } from "./failures.ts";
import type { InvocationPlan } from "./plan.ts";

/** A request as the observer counts it: which attempt it is, from 1, and what it waits for before it is turned away. */
export interface Asked {
  readonly attempt: number;
  readonly held: PromiseLike<unknown> | undefined;
}

/** Told about what the model does, before it goes on. Where it returns something, the model says nothing more. */
export interface ModelObserver {
  asked(id: string, answer: number, body: string): Asked;
  /** An attempt at an answer is about to fail. */
  fails(id: string, answer: number, attempt: number): void;
  /** An item is on its way; the first time it counts as sent. */
  sends(id: string, answer: number, item: number): PromiseLike<unknown> | undefined;
}

const bodySchema = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), content: z.string().nullish() })),
});

/**
 * A model behind a real HTTP server that answers by what it is asked: the last input names its invocation, and the
 * answers after it tell which one comes next. So it needs no memory, and restarts of the Host do not put it out of step.
 */
export class CrashModel implements AsyncDisposable {
  readonly #server: ProviderServer;
  readonly #invocationOf: (input: string) => InvocationPlan | undefined;
  readonly #observer: ModelObserver;

  constructor(invocationOf: (input: string) => InvocationPlan | undefined, observer: ModelObserver) {
    this.#invocationOf = invocationOf;
    this.#observer = observer;
    const reply: Reply = (request) => {
      this.#server.script(reply);
      // Bodies grow with the conversation, and the observer has this one.
      this.#server.requests.length = 0;
      return this.#reply(request);
    };
    this.#server = new ProviderServer(reply);
  }

  get baseUrl(): string {
    return this.#server.baseUrl;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]();
  }

  #reply(request: RecordedRequest): Response | Promise<Response> {
    const { messages } = bodySchema.parse(request.json());
    const at = messages.findLastIndex(({ role }) => role === "user");
    const invocation = this.#invocationOf(messages[at]?.content ?? "");
    const index = messages.slice(at).filter(({ role }) => role === "assistant").length;
    const answer = invocation?.answers[index];
    if (invocation === undefined || answer === undefined)
      return statusReply(599, "nobody asked that")(request);
    const { attempt, held } = this.#observer.asked(invocation.id, index, request.body);
    if (held !== undefined) return heldReply(held, statusReply(599, "too late"))(request);
    const failure = answer.failures[attempt - 1];
    if (failure !== undefined) this.#observer.fails(invocation.id, index, attempt);
    else if (answer.ending === "refused") return statusReply(599, "it was refused for good")(request);
    const reply =
      failure === undefined ? partsReply(this.#parts(invocation.id, index, answer)) : failed(failure);
    return reply(request);
  }

  *#parts(id: string, index: number, { items, ending, pauses }: AnswerPlan): Generator<Part> {
    for (const [k, { wire }] of items.entries()) {
      const held = this.#observer.sends(id, index, k);
      yield wire;
      if (held !== undefined) {
        yield held;
        return;
      }
      const pause = pauses.get(k);
      if (pause !== undefined) yield Bun.sleep(pause);
    }
    yield ending === "cut" ? CUT : "data: [DONE]\n\n";
  }
}

function failed(failure: FailurePlan): Reply {
  if (failure.kind === "empty") return partsReply(["data: [DONE]\n\n"]);
  const { status, waitMs } = failure;
  const wait =
    waitMs % 1_000 === 0 ? { "retry-after": String(waitMs / 1_000) } : { "retry-after-ms": String(waitMs) };
  return statusReply(status, "out of order", wait);
}
