import { expect, test } from "bun:test";
import { costOf, priceOf } from "../../src/cli/sessions/stats/prices.ts";

const price = (input: number) => ({ input, output: 2 });

test("a model has the price of its own name, else of the longest name that is meant for it", () => {
  const prices = { "a/*": price(1), "a/b*": price(2), "a/big": price(3), "b/c": price(4), "a/b": price(5) };
  const found = ["a/big", "a/bigger", "a/x", "b/c", "b/cd", "unknown", "constructor"].map(
    (model) => priceOf(prices, model)?.input,
  );
  expect(found).toEqual([3, 2, 1, 4, undefined, undefined, undefined]);
  expect(priceOf({ "*": price(9) }, "unknown")).toEqual(price(9));
});

test("tokens that a cache had a part in are not paid twice, and cost as others where they have no price", () => {
  const tokens = {
    inputTokens: 1_000_000,
    outputTokens: 500_000,
    cacheReadTokens: 600_000,
    cacheWriteTokens: 100_000,
    reasoningTokens: 400_000,
  };
  expect(costOf(tokens, { input: 10, output: 20, cacheRead: 1, cacheWrite: 12 })).toBeCloseTo(
    3 + 10 + 0.6 + 1.2,
  );
  expect(costOf(tokens, { input: 10, output: 20 })).toBeCloseTo(20);
});
