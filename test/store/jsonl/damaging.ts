import fc from "fast-check";
import { encodeEvent, packBatch } from "../../../src/session/encoding.ts";
import type { Encoding } from "../../../src/store/jsonl/layout.ts";
import { arbitraryEvents, batchSizes, inBatches } from "../../fixtures/arbitraries.ts";
import { type BuiltLog, buildLog } from "./log-bytes.ts";

/* Any sound log, and what may happen to its bytes. */

/** A log of the session `s` whose batches hold records as they are stored. */
export function arbitraryLog(encoding: Encoding): fc.Arbitrary<BuiltLog> {
  return fc.tuple(arbitraryEvents(), batchSizes()).map(([events, sizes]) =>
    buildLog(
      "s",
      encoding,
      inBatches(events, sizes).map((batch) => packBatch(batch.map(encodeEvent)).map(({ text }) => text)),
    ),
  );
}

/** Something that happens to a log. Places are shares of its length or of its batches. */
export interface Damage {
  readonly kind: (typeof KINDS)[number];
  readonly at: number;
  readonly other: number;
  readonly length: number;
  readonly byte: number;
}

const KINDS = [
  "flip",
  "zeros",
  "cut",
  "insert",
  "delete",
  "repeat a batch",
  "drop a batch",
  "swap batches",
  "add a tail",
] as const;

const share = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });

export function arbitraryDamage(): fc.Arbitrary<Damage> {
  return fc.record({
    kind: fc.constantFrom(...KINDS),
    at: share,
    other: share,
    length: fc.integer({ min: 1, max: 60 }),
    byte: fc.integer({ min: 0, max: 255 }),
  });
}

/** The bytes of a log after these things happened to it, one after the other. */
export function damageLog({ bytes, offsets }: BuiltLog, damages: readonly Damage[]): Buffer {
  return damages.reduce((now, damage) => damageOnce(now, offsets, damage), bytes);
}

function damageOnce(bytes: Buffer, offsets: readonly number[], damage: Damage): Buffer {
  const { kind, at, other, length, byte } = damage;
  const offset = Math.floor(at * bytes.length);
  const [from, to] = batchAt(offsets, at);
  const [otherFrom, otherTo] = batchAt(offsets, other);
  const batch = bytes.subarray(from, to);
  switch (kind) {
    case "flip": {
      const copy = Buffer.from(bytes);
      if (offset < copy.length) copy[offset] = (copy[offset] ?? 0) ^ (byte === 0 ? 1 : byte);
      return copy;
    }
    case "zeros":
      return spliced(bytes, offset, offset + length, Buffer.alloc(Math.min(length, bytes.length - offset)));
    case "cut":
      return bytes.subarray(0, offset);
    case "insert":
      return spliced(bytes, offset, offset, Buffer.alloc(length, byte));
    case "delete":
      return spliced(bytes, offset, offset + length, Buffer.alloc(0));
    case "repeat a batch":
      return spliced(bytes, otherTo, otherTo, batch);
    case "drop a batch":
      return spliced(bytes, from, to, Buffer.alloc(0));
    case "swap batches":
      return from < otherFrom
        ? Buffer.concat([
            bytes.subarray(0, from),
            bytes.subarray(otherFrom, otherTo),
            bytes.subarray(to, otherFrom),
            batch,
            bytes.subarray(otherTo),
          ])
        : bytes;
    case "add a tail":
      return Buffer.concat([bytes, Buffer.alloc(length, byte)]);
  }
}

function batchAt(offsets: readonly number[], at: number): readonly [from: number, to: number] {
  const index = Math.floor(at * (offsets.length - 1));
  return [offsets[index] ?? 0, offsets[index + 1] ?? 0];
}

function spliced(bytes: Buffer, from: number, to: number, middle: Uint8Array): Buffer {
  return Buffer.concat([bytes.subarray(0, from), middle, bytes.subarray(to)]);
}
