import { z } from "zod";
import type { Random } from "../../bench/random.ts";
import { need } from "./need.ts";

/* Requests that fail before their first delta, and what must stand in the log for them, by the words of docs/cli.md. */

/** Further attempts of a Host that is not told otherwise. */
export const RETRIES = 2;

/** How a request fails: with a status, which names a time to wait (0 is none), or with a stream that ends before it begins. */
export type FailurePlan =
  | { readonly kind: "status"; readonly status: number; readonly waitMs: number }
  | { readonly kind: "empty" };

/** No client waits that long. */
const TOO_LONG_MS = 3_600_000;
const FINAL_STATUS = 400;

/**
 * Failures that the answer comes after.
 * @param waits milliseconds that the first one asks to wait at most
 */
export function planFailures(random: Random, count: number, waits: number): FailurePlan[] {
  return Array.from({ length: count }, (_, k) => {
    // It names no time, so that half a second is waited.
    if (random.below(24) === 0) return { kind: "empty" };
    return { kind: "status", status: random.pick(STATUSES), waitMs: k === 0 ? random.between(1, waits) : 1 };
  });
}

/** Failures that no answer comes after: too many, or one that is not tried again. */
export function planRefusal(random: Random): FailurePlan[] {
  const kind = random.below(4);
  if (kind > 1) return planFailures(random, RETRIES + 1, 4);
  const last = { status: kind === 0 ? FINAL_STATUS : 429, waitMs: kind === 0 ? 0 : TOO_LONG_MS };
  return [...planFailures(random, random.below(RETRIES + 1), 4), { kind: "status", ...last }];
}

const STATUSES = [408, 429, 500, 503, 529];

/** Code of the error. */
export function codeOf(failure: FailurePlan): string {
  if (failure.kind === "empty") return "provider-bad-response";
  const { status } = failure;
  if (status === 429) return "provider-rate-limited";
  if (status === 408) return "provider-timeout";
  return status < 500 ? "provider-rejected" : "provider-unavailable";
}

const retrySchema = z.strictObject({
  turn: z.number(),
  step: z.number(),
  attempt: z.number(),
  delayMs: z.number(),
  error: z.strictObject({
    message: z.string().min(1),
    code: z.string(),
    status: z.number().optional(),
    providerRetryAfterMs: z.number().optional(),
  }),
});

/** The data of an `llm/retry`. @throws Error when it is malformed */
export function readRetry(data: unknown): z.infer<typeof retrySchema> {
  return retrySchema.parse(data);
}

/**
 * Holds what `llm/retry` says against how the attempt failed.
 * @param failure absent where the answer itself was cut off before its first delta came
 * @throws Error
 */
export function checkRetry(data: z.infer<typeof retrySchema>, failure: FailurePlan | undefined): void {
  const { attempt, delayMs, error } = data;
  need(attempt <= RETRIES, "there are no more attempts");
  const asked = failure?.kind === "status" ? failure : undefined;
  need(error.status === asked?.status, `the model answered ${asked?.status}`);
  need(error.providerRetryAfterMs === asked?.waitMs, `the model asked for ${asked?.waitMs} ms`);
  need(failure === undefined || error.code === codeOf(failure), "it failed in another way");
  if (asked !== undefined && asked.waitMs > 0) {
    need(asked.status !== FINAL_STATUS && asked.waitMs < TOO_LONG_MS, "that is not tried again");
    need(delayMs === asked.waitMs, `the model asked for ${asked.waitMs} ms`);
    return;
  }
  const longest = 500 * 2 ** (attempt - 1);
  need(delayMs <= longest && delayMs >= 0.75 * longest, `the wait is ${longest} ms, less a quarter at most`);
}
