import { waitFor } from "../session/wait-for.ts";
import { ProviderError } from "./provider.ts";

/** How failed model requests are tried again. */
export interface RetryPolicy {
  /** Most further attempts of one Step; 0 = none. */
  readonly retries: number;
  /** From 0 to below 1; spreads the attempts of many clients. */
  readonly random: () => number;
  /** Waits so many milliseconds; a parameter so that tests own the time. @throws the signal's reason */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

export const NO_RETRIES: RetryPolicy = { retries: 0, random: () => 0 };

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
/** A provider that asks for more patience than this gets none: the caller hears of it instead. */
export const LONGEST_RETRY_AFTER_MS = 60_000;

/**
 * Milliseconds to wait before attempt number `failed + 1`, after `failed` attempts; undefined when there shall be none.
 * What the provider asks for counts; else, or when it asks for none, the delay doubles from half a second on, less up to a
 * quarter of it at random.
 */
export function retryDelay(error: unknown, failed: number, policy: RetryPolicy): number | undefined {
  if (!(error instanceof ProviderError) || !error.retryable || failed > policy.retries) return undefined;
  const asked = error.retryAfterMs;
  if (asked !== undefined && asked > 0) return asked <= LONGEST_RETRY_AFTER_MS ? asked : undefined;
  const full = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (failed - 1));
  return Math.round(full * (1 - policy.random() / 4));
}

/** Waits before the next attempt. @throws the signal's reason */
export async function waitForRetry(ms: number, signal: AbortSignal, policy: RetryPolicy): Promise<void> {
  if (policy.wait !== undefined) return policy.wait(ms, signal);
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await waitFor(promise, signal);
  } finally {
    clearTimeout(timer);
  }
}
