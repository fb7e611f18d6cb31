/** Seeded random numbers (sfc32): the same seed gives the same numbers everywhere. */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = Math.floor(seed / 2 ** 32) | 0;
    this.#c = 0x9e3779b9;
    // The first numbers of near seeds are alike.
    for (let round = 0; round < 15; round += 1) this.next();
  }

  /** A number from 0 to below 1. */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** A whole number from `min` to `max`. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  /** One of the list. @throws RangeError for an empty list. */
  pick<T>(list: ArrayLike<T>): T {
    const found = list[this.below(list.length)];
    if (found === undefined) throw new RangeError("nothing to pick from");
    return found;
  }

  /** A copy of the list in random order. */
  shuffled<T>(list: readonly T[]): T[] {
    const keyed = list.map((item) => [this.next(), item] as const);
    return keyed.sort(([a], [b]) => a - b).map(([, item]) => item);
  }

  /** A text that follows `pattern`: each `x` becomes a letter or digit, the rest stays. */
  id(pattern: string): string {
    return pattern.replace(/x/g, () => this.pick("0123456789abcdefghijklmnopqrstuvwyz"));
  }
}

/** Points of a distribution: at the share `p` of all values, the value. Between two points it is a line. */
export type Quantiles = ReadonlyArray<readonly [p: number, value: number]>;

/** The value at share `p`. */
export function atQuantile(points: Quantiles, p: number): number {
  let [fromP, fromValue] = points[0] ?? [0, 0];
  for (const [toP, toValue] of points) {
    if (toP >= p)
      return toP === fromP ? toValue : fromValue + ((toValue - fromValue) * (p - fromP)) / (toP - fromP);
    [fromP, fromValue] = [toP, toValue];
  }
  return fromValue;
}

/** `count` values of a distribution, evenly spread over it, in random order: the mean hardly varies with the seed. */
export function spread(random: Random, points: Quantiles, count: number): number[] {
  return random.shuffled(Array.from({ length: count }, (_, k) => atQuantile(points, (k + 0.5) / count)));
}

/** Whole numbers of at least `min` that add up to `total`, as near to the ratio of `weights` as can be. */
export function apportion(total: number, weights: readonly number[], min = 0): number[] {
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const rest = total - min * weights.length;
  if (rest < 0 || sum <= 0) throw new RangeError(`cannot share ${total} out to ${weights.length}`);
  const shares = weights.map((weight) => (weight / sum) * rest);
  const out = shares.map((share) => min + Math.floor(share));
  const missing = total - out.reduce((all, part) => all + part, 0);
  const byFraction = shares
    .map((share, k) => [share - Math.floor(share), k] as const)
    .sort((x, y) => y[0] - x[0]);
  for (const [, k] of byFraction.slice(0, missing)) out[k] = (out[k] ?? 0) + 1;
  return out;
}
