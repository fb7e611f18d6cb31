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
  /** From 1. */
  readonly attempt: number;
  readonly body: string;
}

/** What the harness did and was told on one store. What it was told is acknowledged. */
export class Journal implements Deeds {
  /** Not yet held against the log. */
  answers: ClientAnswer[] = [];
  requests: ModelRequest[] = [];
  readonly #invocations = new Map<string, InvocationPlan>();
  readonly #models = new Map<string, string>();
  readonly #attempts = new Map<string, number>();
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

  attempts(id: string, answer: number): number {
    return this.#attempts.get(`${id}/${answer}`) ?? 0;
  }

  sentItems(id: string, answer: number): number | undefined {
    return this.#sent.get(`${id}/${answer}`);
  }

  mayAbort(id: string, kind: "user" | "disposed"): boolean {
    return (kind === "user" ? this.#cancelled : this.#terminated).has(id);
  }

  /** @returns which attempt at the answer that is */
  asked(id: string, answer: number, body: string): number {
    const attempt = this.attempts(id, answer) + 1;
    this.requests.push({ id, answer, attempt, body });
    this.#attempts.set(`${id}/${answer}`, attempt);
    this.#sent.set(`${id}/${answer}`, 0);
    return attempt;
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
