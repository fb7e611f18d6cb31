import type { Random } from "../../bench/random.ts";

/** Bytes after a mutation, and what was done, for people. */
export interface Mutated {
  readonly bytes: Buffer;
  readonly step: string;
}

/** What mutations of bytes draw from. */
export interface ByteContext {
  readonly random: Random;
  /** Another file of the same kind. */
  readonly donor: Buffer;
  /** Offsets where something begins: frames, lines, pages. */
  readonly borders: readonly number[];
}

type Mutation = (bytes: Buffer, context: ByteContext) => Mutated;

const LONGEST = 4_096;

/** A place: anywhere, near a border, or near the end. */
function placeIn(bytes: Buffer, { random, borders }: ByteContext): number {
  const end = Math.max(1, bytes.length);
  const way = random.below(4);
  if (way === 0 && borders.length > 0) {
    return Math.max(0, Math.min(end - 1, random.pick(borders) + random.between(-6, 12)));
  }
  return way === 1 ? Math.max(0, end - 1 - random.below(Math.min(end, 200))) : random.below(end);
}

function rangeIn(bytes: Buffer, context: ByteContext): readonly [from: number, to: number] {
  const { random, borders } = context;
  if (borders.length > 1 && random.below(3) === 0) {
    const ends = [random.pick(borders), random.pick(borders)].map((at) => Math.min(at, bytes.length));
    return [Math.min(...ends), Math.max(...ends)];
  }
  const from = placeIn(bytes, context);
  const length = Math.ceil(random.next() ** 3 * Math.min(LONGEST, bytes.length));
  return [from, Math.min(bytes.length, from + length)];
}

export function noise(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.below(256)));
}

function overwrite(bytes: Buffer, at: number, part: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  part.copy(copy, at);
  return copy;
}

function insert(bytes: Buffer, at: number, part: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at)]);
}

function without(bytes: Buffer, from: number, to: number): Buffer {
  return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
}

/** Cuts the end off, and does nothing else. */
export const cutEnd: Mutation = (bytes, context) => {
  const at = placeIn(bytes, context);
  return { bytes: bytes.subarray(0, at), step: `cut off from ${at}` };
};

const flipBit: Mutation = (bytes, context) => {
  const at = placeIn(bytes, context);
  const bit = context.random.below(8);
  return {
    bytes: overwrite(bytes, at, Buffer.of((bytes[at] ?? 0) ^ (1 << bit))),
    step: `flip bit ${at}.${bit}`,
  };
};

const setByte: Mutation = (bytes, context) => {
  const at = placeIn(bytes, context);
  const value = context.random.pick([0, 0xff, 0x0a, 0x22, 0x7b, 0x80, context.random.below(256)]);
  return { bytes: overwrite(bytes, at, Buffer.of(value)), step: `byte ${at} = ${value}` };
};

const cutMiddle: Mutation = (bytes, context) => {
  const [from, to] = rangeIn(bytes, context);
  return { bytes: without(bytes, from, to), step: `cut out ${from}-${to}` };
};

const insertNoise: Mutation = (bytes, context) => {
  const at = placeIn(bytes, context);
  const part = noise(context.random, context.random.between(1, 64));
  return { bytes: insert(bytes, at, part), step: `insert ${part.length} random bytes at ${at}` };
};

const insertZeros: Mutation = (bytes, context) => {
  const at = context.random.below(3) === 0 ? bytes.length : placeIn(bytes, context);
  const length = context.random.pick([1, 3, 16, 512, 4_096]);
  return { bytes: insert(bytes, at, Buffer.alloc(length)), step: `insert ${length} zeros at ${at}` };
};

const duplicate: Mutation = (bytes, context) => {
  const [from, to] = rangeIn(bytes, context);
  const at = context.random.below(2) === 0 ? to : placeIn(bytes, context);
  return { bytes: insert(bytes, at, bytes.subarray(from, to)), step: `copy ${from}-${to} to ${at}` };
};

const fill: Mutation = (bytes, context) => {
  const [from, to] = rangeIn(bytes, context);
  const value = context.random.pick([0, 0, 0xff, 0x20]);
  return { bytes: overwrite(bytes, from, Buffer.alloc(to - from, value)), step: `${from}-${to} = ${value}` };
};

const scramble: Mutation = (bytes, context) => {
  const [from, to] = rangeIn(bytes, context);
  return { bytes: overwrite(bytes, from, noise(context.random, to - from)), step: `${from}-${to} = random` };
};

const splice: Mutation = (bytes, context) => {
  const [from, to] = rangeIn(context.donor, { ...context, borders: [] });
  const part = context.donor.subarray(from, to);
  const at = placeIn(bytes, context);
  const isInserted = context.random.below(2) === 0;
  const step = `${isInserted ? "insert" : "overwrite with"} ${from}-${to} of another file at ${at}`;
  return { bytes: isInserted ? insert(bytes, at, part) : overwrite(bytes, at, part), step };
};

const graft: Mutation = (bytes, context) => {
  const at = placeIn(bytes, context);
  const from = placeIn(context.donor, { ...context, borders: [] });
  const step = `from ${at} on another file from ${from} on`;
  return { bytes: Buffer.concat([bytes.subarray(0, at), context.donor.subarray(from)]), step };
};

const swap: Mutation = (bytes, context) => {
  const cuts = [...rangeIn(bytes, context), ...rangeIn(bytes, context)].sort((a, b) => a - b);
  const [a = 0, b = 0, c = 0, d = 0] = cuts;
  const parts = [
    [0, a],
    [c, d],
    [b, c],
    [a, b],
    [d, bytes.length],
  ].map(([from, to]) => bytes.subarray(from, to));
  return { bytes: Buffer.concat(parts), step: `swap ${a}-${b} and ${c}-${d}` };
};

const MUTATIONS: readonly Mutation[] = [
  ...[flipBit, flipBit, flipBit, setByte, setByte, cutEnd, cutEnd, cutMiddle, insertNoise, insertZeros],
  ...[duplicate, fill, fill, scramble, splice, graft, swap],
];

/** Does one thing to some bytes. */
export function mutateBytes(bytes: Buffer, context: ByteContext): Mutated {
  return context.random.pick(MUTATIONS)(bytes, context);
}
