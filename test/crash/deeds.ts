import type { InvocationPlan } from "./plan.ts";

/** What the harness did, as far as the log must agree with it. Answers of the model count from 0 in an invocation. */
export interface Deeds {
  /** The invocation that sent this input, if one did. */
  invocationOf(input: string): InvocationPlan | undefined;
  /** Model that the Host asks which the invocation was sent to. */
  modelFor(id: string): string;
  /** How often the model was asked for an answer. */
  attempts(id: string, answer: number): number;
  /** Items that the model sent of an answer when it was asked last; nothing when it was not asked for it. */
  sentItems(id: string, answer: number): number | undefined;
  /** Whether a Turn may end as aborted: its client stopped it, or a shutdown. */
  mayAbort(id: string, kind: "user" | "disposed"): boolean;
}
