import { addTokens, type ModelUse, type SessionStats } from "../../../session/projections/stats.ts";
import type { UsageTotals } from "../../../session/projections/usage.ts";
import type { HoldfastError } from "../../../store/errors.ts";
import { costOf, type Prices, priceOf } from "./prices.ts";

/** A session that could not be read, or not to its end. */
export interface Unread {
  readonly id: string;
  readonly error: HoldfastError;
}

/** Tokens with what they cost in USD, where all of them have a price. */
export type Used = { readonly steps: number } & UsageTotals & { readonly cost?: number };

/** What `--json` prints. Source: docs/cli.md. */
export interface StatsReport {
  readonly session?: string;
  readonly sessions: number;
  readonly torn: number;
  readonly problems: ReadonlyArray<{ readonly id: string; readonly code: string; readonly reason: string }>;
  readonly events: number;
  readonly bytes: number;
  readonly types: ReadonlyArray<{ readonly type: string; readonly events: number; readonly bytes: number }>;
  readonly turns: { readonly started: number; readonly ended: Readonly<Record<string, number>> };
  readonly steps: number;
  readonly retries: number;
  readonly modelMs: number;
  readonly tools: ReadonlyArray<{
    readonly name: string;
    readonly calls: number;
    readonly failures: number;
    readonly medianMs?: number;
    readonly maxMs?: number;
  }>;
  readonly tokens: Used;
  readonly models: ReadonlyArray<Used & { readonly model: string }>;
  readonly days: ReadonlyArray<Used & { readonly day: string; readonly model: string }>;
  /** Models without a price, where prices were given. */
  readonly unpriced?: readonly string[];
}

interface Read {
  readonly id?: string;
  readonly sessions: number;
  readonly torn: number;
  readonly unread: readonly Unread[];
}

export function statsReport(
  stats: SessionStats,
  { id, sessions, torn, unread }: Read,
  prices: Prices | undefined,
): StatsReport {
  const { uses } = stats;
  const days = uses.toSorted(byDay);
  const used = (some: readonly ModelUse[]) => sum(some, prices);
  const models = Map.groupBy(uses, modelName);
  const unpriced = [...models.keys()]
    .filter((model) => prices !== undefined && priceOf(prices, model) === undefined)
    .sort();
  return {
    ...(id === undefined ? {} : { session: id }),
    sessions,
    torn,
    problems: unread.map(({ id: damaged, error: { code, message } }) => ({
      id: damaged,
      code,
      reason: message,
    })),
    events: stats.events,
    bytes: stats.bytes,
    types: [...stats.types]
      .map(([type, { events, bytes }]) => ({ type, events, bytes }))
      .sort((a, b) => b.bytes - a.bytes || compare(a.type, b.type)),
    turns: {
      started: stats.turns,
      ended: Object.fromEntries([...stats.turnEnds].sort(([a], [b]) => compare(a, b))),
    },
    steps: stats.steps,
    retries: stats.retries,
    modelMs: stats.modelTime,
    tools: [...stats.tools]
      .map(([name, { calls, failures, durations }]) => ({
        name,
        calls,
        failures,
        ...(durations.count === 0 ? {} : { medianMs: durations.median, maxMs: durations.max }),
      }))
      .sort((a, b) => b.calls - a.calls || compare(a.name, b.name)),
    // What no Step has reported, cost nobody knows what.
    tokens: sum(uses, uses.length === 0 && stats.steps > 0 ? undefined : prices),
    models: [...models]
      .map(([model, some]) => ({ model, ...used(some) }))
      .sort((a, b) => compare(a.model, b.model)),
    days: days.map((use) => ({ day: dayText(use.day), model: modelName(use), ...used([use]) })),
    ...(prices === undefined ? {} : { unpriced }),
  };
}

const NO_TOKENS: UsageTotals = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
};

function sum(uses: readonly ModelUse[], prices: Prices | undefined): Used {
  let tokens = NO_TOKENS;
  let steps = 0;
  let cost: number | undefined = prices === undefined ? undefined : 0;
  for (const use of uses) {
    tokens = addTokens(tokens, use.tokens);
    steps += use.steps;
    const price = prices === undefined ? undefined : priceOf(prices, modelName(use));
    cost = cost === undefined || price === undefined ? undefined : cost + costOf(use.tokens, price);
  }
  return { steps, ...tokens, ...(cost === undefined ? {} : { cost: Math.round(cost * 1e6) / 1e6 }) };
}

function modelName({ provider, model }: ModelUse): string {
  return provider === "" && model === "" ? "unknown" : `${provider}/${model}`;
}

function byDay(a: ModelUse, b: ModelUse): number {
  return a.day - b.day || compare(modelName(a), modelName(b));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const LAST_DAY = 100_000_000;

/** As `2026-11-30`; as a number where no calendar goes that far. */
function dayText(day: number): string {
  return day > LAST_DAY ? String(day) : new Date(day * 86_400_000).toISOString().replace(/T.*/, "");
}
