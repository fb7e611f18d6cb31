import type { Quantiles } from "../random.ts";

/*
 * What one real coding session looks like: 87,208 events in 5,349 records, committed in 3,758 batches, 8 Turns, 123
 * Steps. Counts are exact, sizes are points of their distributions.
 */

export type BlockKind = "reasoning" | "text" | "tool-call";

/** How the deltas of one kind of block lie in storage. A piece is what one batch holds of one block. */
export interface BlockShape {
  /** Blocks in the session. */
  readonly blocks: number;
  /** Pieces of three deltas and more, and the deltas in them: these pack. */
  readonly runs: number;
  readonly packed: number;
  /** Pieces of one delta and of two: these do not pack. */
  readonly ones: number;
  readonly twos: number;
  readonly runLength: Quantiles;
  readonly blockLength: Quantiles;
}

export const BLOCKS: Readonly<Record<BlockKind, BlockShape>> = {
  reasoning: {
    blocks: 94,
    runs: 2064,
    packed: 48_294,
    ones: 98,
    twos: 65,
    runLength: points([3, 7, 18, 23, 29, 40, 50, 130]),
    blockLength: points([8, 20, 119, 300, 653, 1900, 2500, 2598]),
  },
  text: {
    blocks: 91,
    runs: 363,
    packed: 7573,
    ones: 27,
    twos: 13,
    runLength: points([3, 4, 13, 21, 28, 39, 49, 142]),
    blockLength: points([5, 8, 14, 21, 35, 400, 900, 1786]),
  },
  "tool-call": {
    blocks: 136,
    runs: 924,
    packed: 29_343,
    ones: 54,
    twos: 34,
    runLength: points([3, 4, 17, 35, 46, 53, 61, 94]),
    blockLength: points([20, 25, 46, 90, 186, 1100, 1740, 1762]),
  },
};

/** Blocks of an answer that calls tools, and how many Steps had it. */
export const CALLING_ANSWERS: ReadonlyArray<readonly [blocks: readonly BlockKind[], steps: number]> = [
  [["reasoning", "text", "tool-call"], 63],
  [["tool-call"], 27],
  [["reasoning", "text", "tool-call", "tool-call"], 20],
  [["reasoning", "tool-call"], 5],
  [["text", "tool-call"], 1],
];

/** Blocks of an answer that ends a Turn. */
export const LAST_ANSWERS: ReadonlyArray<readonly BlockKind[]> = [
  ["reasoning", "text"],
  ["reasoning", "text"],
  ["reasoning", "text"],
  ["reasoning", "text"],
  ["reasoning", "text"],
  ["reasoning", "text"],
  ["text"],
];

export const TURNS = 8;
export const STEPS = 123;
export const STEPS_OF_TURN: readonly number[] = [5, 8, 24, 16, 9, 24, 7, 30];

/** Where one block of an answer follows another: how often the same batch held the end of one and the start of the next. */
export const BOUNDARIES = { all: 198, joined: 162 };

/** Bytes of a `tool/result` event. */
export const RESULT_BYTES: Quantiles = [
  [0, 413],
  [0.25, 487],
  [0.5, 825],
  [0.6, 1120],
  [0.75, 2364],
  [0.8, 3135],
  [0.84, 5048],
  [0.88, 12_009],
  [0.92, 16_702],
  [0.94, 22_000],
  [0.95, 35_344],
  [0.97, 39_092],
  [0.99, 56_197],
  [1, 67_440],
];

/** Milliseconds between two deltas. */
export const DELTA_GAP: Quantiles = [
  [0, 0],
  [0.51, 0],
  [0.511, 1],
  [0.745, 1],
  [0.78, 14],
  [0.82, 21],
  [0.9, 24],
  [0.97, 29],
  [0.99, 49],
  [1, 204],
];

function points(
  values: readonly [number, number, number, number, number, number, number, number],
): Quantiles {
  const shares = [0, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1];
  return values.map((value, k) => [shares[k] ?? 1, value] as const);
}
