import type { Random } from "../../bench/random.ts";
import { noise } from "./mutate-bytes.ts";
import { DATABASE, type Files } from "./types.ts";
import { frameCount, frameSize, sealed, WAL_FRAME, WAL_HEADER } from "./wal.ts";

/* What is done to what lies beside a database. */

const WAL = `${DATABASE}-wal`;
const NUMBERS = [0, 1, 2, 3, 7, 65_536, 2 ** 31, 2 ** 32 - 1];

type WalMutation = (wal: Buffer, random: Random) => { readonly wal: Buffer; readonly step: string };

/** Frames of a log, each with its page. */
function partsOf(wal: Buffer): Buffer[] {
  const size = frameSize(wal);
  return Array.from({ length: frameCount(wal) }, (_, k) =>
    wal.subarray(WAL_HEADER + k * size, WAL_HEADER + (k + 1) * size),
  );
}

function withParts(wal: Buffer, parts: readonly Buffer[]): Buffer {
  return Buffer.concat([wal.subarray(0, WAL_HEADER), ...parts]);
}

const MUTATIONS: readonly WalMutation[] = [
  (wal, random) => {
    const at = 4 * random.below(8);
    const value = random.pick(NUMBERS);
    const copy = Buffer.from(wal);
    if (copy.length >= WAL_HEADER) copy.writeUInt32BE(value, at);
    return { wal: copy, step: `log: header at ${at} = ${value}` };
  },
  (wal, random) => {
    const [k, field] = [random.below(Math.max(1, frameCount(wal))), random.below(6)];
    const at = WAL_HEADER + k * frameSize(wal) + 4 * field;
    const value = random.pick(NUMBERS);
    const copy = Buffer.from(wal);
    if (at + 4 <= copy.length) copy.writeUInt32BE(value, at);
    const isSealed = field < 2 && random.below(2) === 0;
    return {
      wal: isSealed ? sealed(copy) : copy,
      step: `log: frame ${k} at ${4 * field} = ${value}${isSealed ? ", sealed" : ""}`,
    };
  },
  (wal, random) => {
    const copy = Buffer.from(wal);
    const at = random.below(copy.length);
    copy.writeUInt8((copy[at] ?? 0) ^ (1 << random.below(8)), at);
    return { wal: random.below(2) === 0 ? sealed(copy) : copy, step: `log: flip a bit of byte ${at}` };
  },
  (wal, random) => {
    const parts = partsOf(wal);
    const [a, b] = [random.below(parts.length), random.below(parts.length)];
    const swapped = parts.map((part, k) =>
      k === a ? (parts[b] ?? part) : k === b ? (parts[a] ?? part) : part,
    );
    const isSealed = random.below(2) === 0;
    const whole = withParts(wal, swapped);
    return {
      wal: isSealed ? sealed(whole) : whole,
      step: `log: swap frames ${a} and ${b}${isSealed ? ", sealed" : ""}`,
    };
  },
  (wal, random) => {
    const parts = partsOf(wal);
    const k = random.below(Math.max(1, parts.length));
    const isSealed = random.below(2) === 0;
    const rest = withParts(
      wal,
      parts.filter((_, n) => n !== k),
    );
    return { wal: isSealed ? sealed(rest) : rest, step: `log: drop frame ${k}${isSealed ? ", sealed" : ""}` };
  },
  (wal, random) => {
    const k = random.below(frameCount(wal) + 1);
    return {
      wal: wal.subarray(0, WAL_HEADER + k * frameSize(wal) + random.pick([0, 0, WAL_FRAME, 100])),
      step: `log: cut off in frame ${k}`,
    };
  },
  (wal, random) => {
    const parts = partsOf(wal).map((part) => Buffer.from(part));
    const part = parts[random.below(Math.max(1, parts.length))];
    part?.fill(random.pick([0, 0xff]), WAL_FRAME);
    return { wal: sealed(withParts(wal, parts)), step: "log: a page of one byte, sealed" };
  },
  (wal, random) => ({
    wal: Buffer.concat([wal, noise(random, random.pick([1, 24, 4_096, 8_192]))]),
    step: "log: noise at its end",
  }),
];

/**
 * Does one thing to what lies beside a database.
 * @param donor another store @returns what was done
 */
export function mutateBeside(files: Files, random: Random, donor: Files): string {
  const wal = files.get(WAL);
  switch (random.below(wal === undefined ? 5 : 14)) {
    case 0:
      files.set(`${DATABASE}-shm`, random.below(2) === 0 ? noise(random, 1_024) : Buffer.alloc(32_768));
      return "an index of the log: garbage";
    case 1:
      files.set(`${DATABASE}-journal`, noise(random, random.pick([0, 28, 600])));
      return "a journal: garbage";
    case 2:
      files.set(WAL, donor.get(WAL) ?? noise(random, 100));
      return "the log of another store";
    case 3:
      files.set(WAL, Buffer.alloc(random.pick([0, 10, 32, 5_000])));
      return "a log of zeros";
    case 4:
      files.set(`${DATABASE}.creating`, noise(random, 200));
      return "a draft: garbage";
    case 5:
      files.delete(WAL);
      return "no log";
    default: {
      if (wal === undefined || frameCount(wal) === 0) return "nothing";
      const mutated = random.pick(MUTATIONS)(wal, random);
      files.set(WAL, mutated.wal);
      return mutated.step;
    }
  }
}
