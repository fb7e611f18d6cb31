import type { Deeds } from "./deeds.ts";
import type { InvocationPlan, RunPlan } from "./plan.ts";

/** An answer to an invocation, as its client got it. */
export interface ClientAnswer {
  readonly id: string;
  readonly status: number;
  readonly body: unknown;
}

export interface ModelRequest {
  readonly id: string;
  readonly answer: number;
  readonly body: string;
}

/** What the harness did and was told on one store. What it was told is acknowledged. */
export class Journal implements Deeds {
  /** Not yet held against the log. */
  answers: ClientAnswer[] = [];
  requests: ModelRequest[] = [];
  readonly #invocations = new Map<string, InvocationPlan>();
  readonly #models = new Map<string, string>();
  readonly #sent = new Map<string, number>();
  readonly #cancelled = new Set<string>();
  readonly #terminated = new Set<string>();

  begin({ invocations, model }: RunPlan): void {
    for (const invocation of invocations) {
      this.#invocations.set(invocation.id, invocation);
      this.#models.set(invocation.id, model);
    }
  }

  invocationOf(input: string): InvocationPlan | undefined {
    const invocation = this.#invocations.get(/^\[([\d.]+)\]/.exec(input)?.[1] ?? "");
    // As a model is sent it, or as it is stored.
    return invocation?.input === input || invocation?.input.toWellFormed() === input ? invocation : undefined;
  }

  modelFor(id: string): string {
    return this.#models.get(id) ?? "";
  }

  sentItems(id: string, answer: number): number | undefined {
    return this.#sent.get(`${id}/${answer}`);
  }

  mayAbort(id: string, kind: "user" | "disposed"): boolean {
    return (kind === "user" ? this.#cancelled : this.#terminated).has(id);
  }

  /** @throws Error when the model was asked for this answer before */
  asked(request: ModelRequest): void {
    const key = `${request.id}/${request.answer}`;
    this.requests.push(request);
    if (this.#sent.has(key)) throw new Error(`the model was asked twice for answer ${key}`);
    this.#sent.set(key, 0);
  }

  sends(id: string, answer: number, item: number): void {
    this.#sent.set(`${id}/${answer}`, item + 1);
  }

  cancels(id: string): void {
    this.#cancelled.add(id);
  }

  /** The Host that this run's invocations were sent to is asked to shut down. */
  terminates({ invocations }: RunPlan): void {
    for (const { id } of invocations) this.#terminated.add(id);
  }
}
