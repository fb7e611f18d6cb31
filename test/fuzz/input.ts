import { join } from "node:path";
import { Random } from "../../bench/random.ts";
import type { Encoding } from "../../src/store/jsonl/layout.ts";
import type { StoreKind } from "../fixtures/host-lab.ts";
import { type Corpus, type DatabaseSeed, type LogSeed, prefixOf } from "./corpus.ts";
import { framesOf } from "./frames.ts";
import { type ByteContext, cutEnd, mutateBytes } from "./mutate-bytes.ts";
import { mutateFrames, mutateLine } from "./mutate-frames.ts";
import { mutatePages, pageSize } from "./mutate-pages.ts";
import { mutateRoot } from "./mutate-root.ts";
import { mutateRows } from "./mutate-rows.ts";
import { mutateBeside } from "./mutate-wal.ts";
import { DATABASE, type Files, type Input, LOGS } from "./types.ts";

const MOST_STEPS = 8;
const PATIENCE = 10_000;
/** One input in so many is the whole of the long sample. */
const WHOLE_WORKLOAD = 1_000;

/** The input of this number: the same for the same seed, whatever came before. */
export function makeInput(kind: StoreKind, seed: number, number: number, corpus: Corpus): Input {
  // Near seeds must not give near inputs.
  const random = new Random(Number(Bun.hash.wyhash(`${seed}/${kind}/${number}`) & 0x1f_ffff_ffff_ffffn));
  return kind === "sqlite" ? databaseInput(random, corpus) : logInput(random, kind, corpus);
}

/** How many things are done to an input. Mostly few: what is mangled through and through is soon refused. */
function someSteps(random: Random): number {
  return random.below(3) === 0 ? random.between(2, MOST_STEPS) : 1;
}

function logInput(random: Random, kind: Encoding, corpus: Corpus): Input {
  const { workload } = corpus;
  const isWhole = workload !== undefined && random.below(WHOLE_WORKLOAD) === 0;
  const logs = isWhole ? [workload] : someLogs(random, kind, corpus);
  const touched = new Set<LogSeed>();
  const steps: string[] = [];
  const files = new Map(logs.map((log) => [log, log.bytes]));
  const donors: LogSeed[] = [];
  const onlyCut = random.below(8) === 0;
  let forged = false;
  for (let k = onlyCut ? 1 : someSteps(random); k > 0; k -= 1) {
    const log = random.below(4) > 0 ? logs[0] : random.pick(logs);
    if (log === undefined) continue;
    const donor = random.pick(corpus.logs);
    const done = mutateLog(random, kind, files.get(log) ?? log.bytes, donor.bytes, onlyCut);
    files.set(log, done.bytes);
    touched.add(log);
    donors.push(donor);
    steps.push(`${log.path}: ${done.step}`);
    forged ||= done.forged === true;
  }
  const placed: Files = new Map([...files].map(([{ path }, bytes]) => [join(LOGS, path), bytes]));
  const moved = !onlyCut && random.below(16) === 0 ? mutateRoot(placed, random, logs) : undefined;
  if (moved !== undefined) {
    steps.push(moved.step);
    for (const log of moved.touched) touched.add(log);
  }
  return {
    kind,
    files: placed,
    steps,
    untouched: logs.filter((log) => !touched.has(log)).map(({ original }) => original),
    originals: [...logs, ...donors].map(({ original }) => original),
    forged,
    onlyCut,
    patience: isWhole ? 3 * PATIENCE : PATIENCE,
  };
}

/** One or two logs of different ids and folders. */
function someLogs(random: Random, kind: Encoding, { logs, workload }: Corpus): LogSeed[] {
  const chosen = Array.from({ length: random.between(1, 2) }, () => random.pick(logs));
  if (workload !== undefined && random.below(6) === 0) {
    chosen[0] = prefixOf(workload, kind, random.pick([3, 10, 30, 100, random.between(1, 200)]));
  }
  const byId = new Map(chosen.reverse().map((log) => [log.original.id, log]));
  return [...byId.values()].reverse();
}

function mutateLog(random: Random, kind: Encoding, bytes: Buffer, donor: Buffer, onlyCut: boolean) {
  const context: ByteContext = { random, donor, borders: bordersOf(bytes, kind) };
  if (onlyCut) return { ...cutEnd(bytes, context), forged: false };
  if (random.below(2) === 0) {
    const done = kind === "zstd" ? mutateFrames(bytes, random, donor) : mutateLine(bytes, random);
    if (done !== undefined) return done;
  }
  return { ...mutateBytes(bytes, context), forged: false };
}

function bordersOf(bytes: Buffer, kind: Encoding): number[] {
  if (kind === "zstd")
    return [...framesOf(bytes).flatMap(({ start, blocks }) => [start, ...blocks]), bytes.length];
  const borders: number[] = [];
  for (let at = 0; at >= 0 && borders.length < 2_000; at = bytes.indexOf(0x0a, at + 1)) borders.push(at);
  return borders;
}

function databaseInput(random: Random, { databases }: Corpus): Input {
  const seed = random.pick(databases);
  const donor = random.pick(databases);
  const files: Files = new Map(seed.files);
  const steps: string[] = [];
  let forged = false;
  const onlyCut = random.below(12) === 0;
  for (let k = onlyCut ? 1 : someSteps(random); k > 0; k -= 1) {
    const done = onlyCut ? cutDatabase(random, files) : mutateDatabase(random, files, donor);
    steps.push(done.step);
    forged ||= done.forged === true;
  }
  return {
    kind: "sqlite",
    files,
    steps,
    untouched: [],
    originals: [...seed.originals, ...donor.originals],
    forged,
    onlyCut,
    patience: PATIENCE,
  };
}

interface Done {
  readonly step: string;
  readonly forged?: boolean;
}

function cutDatabase(random: Random, files: Files): Done {
  const name = random.pick([...files.keys()]);
  const bytes = files.get(name) ?? Buffer.alloc(0);
  const done = cutEnd(bytes, { random, donor: bytes, borders: pageStarts(bytes) });
  files.set(name, done.bytes);
  return { step: `${name}: ${done.step}` };
}

function mutateDatabase(random: Random, files: Files, donor: DatabaseSeed): Done {
  const bytes = files.get(DATABASE) ?? Buffer.alloc(0);
  const other = donor.files.get(DATABASE) ?? Buffer.alloc(0);
  switch (random.below(9)) {
    case 0:
    case 1:
      return mutateRows(files, random) ?? { step: "nothing, by SQL" };
    case 2:
    case 3:
      return { step: mutateBeside(files, random, donor.files) };
    case 4: {
      const done = mutateBytes(bytes, { random, donor: other, borders: pageStarts(bytes) });
      files.set(DATABASE, done.bytes);
      return done;
    }
    default: {
      const done = mutatePages(bytes, random, other);
      files.set(DATABASE, done.bytes);
      return done;
    }
  }
}

function pageStarts(bytes: Buffer): number[] {
  const size = pageSize(bytes);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, k) => k * size);
}
