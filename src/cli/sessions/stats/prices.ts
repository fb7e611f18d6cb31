import { z } from "zod";
import { readSettingFile } from "../../../host/setting-file.ts";
import { UsageError } from "../../../host/usage.ts";
import type { UsageTotals } from "../../../session/projections/usage.ts";

const price = z.number().nonnegative();
const pricesSchema = z.record(
  z.string(),
  z.strictObject({
    input: price,
    output: price,
    cacheRead: price.exactOptional(),
    cacheWrite: price.exactOptional(),
  }),
);

/**
 * Prices in USD a million tokens, by `provider/model`; a name that ends in `*` is that of all models which begin like it.
 * Where none is given for the cache, it costs as other input.
 */
export type Prices = z.infer<typeof pricesSchema>;
export type Price = Prices[string];

const HINT =
  'Write {"provider/model": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}}, in USD a million tokens.';

/** @throws UsageError */
export function readPrices(path: string): Prices {
  const { text } = readSettingFile("--prices", path);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UsageError(`--prices cannot be ${JSON.stringify(path)}: it is no JSON`, HINT);
  }
  const result = pricesSchema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const place = issue?.path.length ? `at ${JSON.stringify(issue.path.join("."))}: ` : "";
  throw new UsageError(
    `--prices cannot be ${JSON.stringify(path)}: ${place}${issue?.message ?? "another shape"}`,
    HINT,
  );
}

/** The price of a model: under its own name, or else under the longest that is meant for several. */
export function priceOf(prices: Prices, model: string): Price | undefined {
  if (Object.hasOwn(prices, model)) return prices[model];
  const [best] = Object.keys(prices)
    .filter((name) => name.endsWith("*") && model.startsWith(name.slice(0, -1)))
    .sort((a, b) => b.length - a.length);
  return best === undefined ? undefined : prices[best];
}

/** What these tokens cost, in USD. Input tokens include the cached ones, and output tokens those of reasoning. */
export function costOf(tokens: UsageTotals, { input, output, cacheRead, cacheWrite }: Price): number {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = tokens;
  const fresh = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  const sum =
    fresh * input +
    outputTokens * output +
    cacheReadTokens * (cacheRead ?? input) +
    cacheWriteTokens * (cacheWrite ?? input);
  return sum / 1_000_000;
}
