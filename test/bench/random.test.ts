import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { apportion, atQuantile, Random, spread } from "../../bench/random.ts";

describe("seeded random numbers", () => {
  test("are the same for the same seed, and others for another", () => {
    const numbers = (seed: number) => {
      const random = new Random(seed);
      return Array.from({ length: 20 }, () => random.next());
    };
    fc.assert(
      fc.property(fc.maxSafeNat(), (seed) => {
        expect(numbers(seed)).toEqual(numbers(seed));
        expect(numbers(seed)).not.toEqual(numbers(seed === 0 ? 1 : seed - 1));
      }),
    );
  });

  test("lie in their ranges and fill them", () => {
    const random = new Random(1);
    const drawn = Array.from({ length: 1000 }, () => random.between(3, 7));
    expect([...new Set(drawn)].toSorted()).toEqual([3, 4, 5, 6, 7]);
    const mean =
      Array.from({ length: 10_000 }, () => random.next()).reduce((sum, value) => sum + value, 0) / 10_000;
    expect(mean).toBeWithin(0.48, 0.52);
  });

  test("shuffle without losing anything", () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.nat(), (list, seed) => {
        expect(new Random(seed).shuffled(list).toSorted()).toEqual(list.toSorted());
      }),
    );
  });

  test("pick nothing from nothing", () => {
    expect(() => new Random(1).pick([])).toThrow(RangeError);
  });
});

describe("sharing out", () => {
  test("adds up to the total, with at least the minimum for each", () => {
    const weights = fc.array(fc.double({ min: 0.01, max: 1000, noNaN: true }), {
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(weights, fc.nat(5), fc.nat(10_000), (shares, min, extra) => {
        const total = min * shares.length + extra;
        const parts = apportion(total, shares, min);
        expect(parts.reduce((sum, part) => sum + part, 0)).toBe(total);
        expect(Math.min(...parts)).toBeGreaterThanOrEqual(min);
      }),
    );
  });

  test("follows the weights", () => {
    expect(apportion(10, [1, 3, 1])).toEqual([2, 6, 2]);
    expect(apportion(0, [1, 2])).toEqual([0, 0]);
    expect(() => apportion(1, [1, 1], 1)).toThrow(RangeError);
  });
});

describe("a distribution", () => {
  const points = [
    [0, 10],
    [0.5, 20],
    [1, 100],
  ] as const;

  test("is a line between two points", () => {
    expect([0, 0.25, 0.5, 0.75, 1].map((p) => atQuantile(points, p))).toEqual([10, 15, 20, 60, 100]);
  });

  test("is covered evenly, in random order", () => {
    expect(spread(new Random(5), points, 4).toSorted((a, b) => a - b)).toEqual([12.5, 17.5, 40, 80]);
  });
});
