import type { EventDraft, SessionEvent } from "../../src/session/events.ts";
import { HoldfastError } from "../../src/store/errors.ts";
import { textDelta } from "../fixtures/event-drafts.ts";

/** How each of several promises ended: `ok`, or the code of its error. */
export async function outcomesOf(promises: readonly Promise<unknown>[]): Promise<string[]> {
  const settled = await Promise.allSettled(promises);
  return settled.map((outcome) => {
    if (outcome.status === "fulfilled") return "ok";
    return outcome.reason instanceof HoldfastError ? outcome.reason.code : String(outcome.reason);
  });
}

/** The error of a promise that must fail. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`expected a rejection, got ${Bun.inspect(value)}`);
}

/** Lets everything run that needs no help from outside. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** An event without any effect on the conversation. */
export function title(n: number): EventDraft {
  return { type: "session/title", data: { n } };
}

/** The same, complete, for appends by id. */
export function titleAt(seq: number): SessionEvent {
  return { type: "session/title", seq, time: 0, data: { n: seq } };
}

/** Deltas of one text block, one millisecond apart. */
export function deltas(count: number): EventDraft[] {
  return Array.from({ length: count }, (_, k) => ({
    ...textDelta({ turn: 1, step: 1 }, `piece ${k} `),
    time: 1_000 + k,
  }));
}
