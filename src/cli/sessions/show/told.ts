import { z } from "zod";
import type { SessionEvent, TurnEndReason } from "../../../session/events.ts";
import type { UsageTotals } from "../../../session/projections/usage.ts";
import { grouped } from "../../counted.ts";

/* What a transcript tells beside what was said, in words. */

const retrySchema = z.looseObject({
  attempt: z.number().optional(),
  delayMs: z.number().optional(),
  error: z.looseObject({ message: z.string(), code: z.string().optional() }).optional(),
});

/** What an `llm/retry` says. */
export function retryOf({ data }: SessionEvent): string {
  const { attempt, delayMs, error } = retrySchema.safeParse(data).data ?? {};
  const number = attempt === undefined ? "" : ` ${attempt}`;
  const code = error?.code === undefined ? "" : ` (${error.code})`;
  const why = error === undefined ? "" : `: ${error.message}${code}`;
  const wait = delayMs === undefined ? "" : ` after ${formatDuration(delayMs)}`;
  return `Attempt${number} failed${why}; tried again${wait}`;
}

/** The model that a request is made to, with its provider. */
export function modelText({
  provider,
  model,
}: {
  readonly provider: string;
  readonly model: string;
}): string {
  return `${model} (${provider})`;
}

/** In which way an answer is not whole, whether it was cancelled, or a failure or a kill ended it; empty where it is. */
export function howCutOff({ interrupted }: { readonly interrupted?: boolean }): string {
  return interrupted === true ? "cut off" : "";
}

/** How a Turn ended. */
export function describeEnd(reason: TurnEndReason): string {
  if (reason.kind === "error") return `error, ${reason.error.message} (${reason.error.code})`;
  if (reason.kind !== "aborted") return reason.kind;
  const why: unknown = Reflect.get(reason.reason, "reason");
  return `aborted by ${reason.reason.kind}${typeof why === "string" ? `, ${why}` : ""}`;
}

/** Token counts; empty where there are none. */
export function tokensText({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  reasoningTokens,
}: UsageTotals): string {
  if (inputTokens + outputTokens === 0) return "";
  const parts = [
    ...(cacheReadTokens === 0 ? [] : [`${grouped(cacheReadTokens)} from a cache`]),
    ...(reasoningTokens === 0 ? [] : [`${grouped(reasoningTokens)} reasoning`]),
  ];
  const more = parts.length === 0 ? "" : ` (${parts.join(", ")})`;
  return `tokens: ${grouped(inputTokens)} in, ${grouped(outputTokens)} out${more}`;
}

/** Milliseconds as a person reads them. A clock that was set back leaves none. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes} min ${seconds % 60} s`
    : `${grouped(Math.floor(minutes / 60))} h ${minutes % 60} min`;
}
