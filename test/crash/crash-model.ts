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
import type { InvocationPlan } from "./plan.ts";

/** Told about what the model does, before it goes on. Where it returns something, the model says nothing more. */
export interface ModelObserver {
  asked(id: string, answer: number, body: string): PromiseLike<unknown> | undefined;
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
    const held = this.#observer.asked(invocation.id, index, request.body);
    const reply =
      answer.ending === "refused"
        ? statusReply(503, "out of order")
        : partsReply(this.#parts(invocation.id, index, answer));
    return (held === undefined ? reply : heldReply(held, statusReply(599, "too late")))(request);
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
