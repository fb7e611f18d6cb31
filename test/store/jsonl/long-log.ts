import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { z } from "zod";
import type { Encoding } from "../../../src/store/jsonl/layout.ts";
import type { SessionPersistence } from "../../../src/store/persistence.ts";
import { type BuiltLog, buildLog, randomBytes, seeded, titleText } from "./log-bytes.ts";
import type { Place } from "./place.ts";

const BATCHES = 320;

function run(seq: number, count: number): string {
  const texts = Array.from({ length: count }, (_, k) => `piece ${k}`);
  const dt = Array<number>(count - 1).fill(1);
  return JSON.stringify({
    type: "text-chunks",
    seq0: seq,
    time0: seq,
    data: { turn: 1, step: 1, index: 0, dt, texts },
  });
}

/** A log long enough to be indexed: batches of single events, of several, and of runs, that hardly compress. */
export function longLog(encoding: Encoding, seed = 1): BuiltLog & { readonly length: number } {
  const random = seeded(seed);
  const batches: string[][] = [];
  let seq = 0;
  for (let k = 0; k < BATCHES; k += 1) {
    const noise = () => randomBytes(300 + Math.floor(random() * 500), random).toString("base64");
    if (k % 5 === 4) {
      batches.push([run(seq, 20), titleText(seq + 20, noise())]);
      seq += 21;
    } else {
      batches.push(Array.from({ length: 1 + (k % 3) }, (_, n) => titleText(seq + n, noise())));
      seq += 1 + (k % 3);
    }
  }
  return { ...buildLog("s", encoding, batches), length: seq };
}

/** Reads at these seqs, with limits from one to all; each must be that part of all events. */
export async function expectSlices(
  store: SessionPersistence,
  length: number,
  seqs: readonly number[],
  limits = [1, 2, 30, 10_000],
) {
  for (const seq of seqs) {
    for (const limit of limits) {
      const events = await store.readFrom("s", seq, { limit });
      const from = Math.max(0, seq);
      const expected = Array.from(
        { length: Math.max(0, Math.min(limit, length - from)) },
        (_, k) => from + k,
      );
      expect({ seq, limit, seqs: events.map((event) => event.seq) }).toEqual({ seq, limit, seqs: expected });
    }
  }
}

export const some = (length: number) => [
  -1,
  0,
  1,
  length >> 2,
  length >> 1,
  length - 30,
  length - 2,
  length - 1,
  length,
  length + 1,
  length + 50,
];

const sidecarSchema = z.object({
  version: z.number(),
  ino: z.number(),
  offsets: z.array(z.number()),
  seqs: z.array(z.number()),
});
export type Sidecar = z.infer<typeof sidecarSchema>;

/** The sidecar that the store itself writes for a log. */
export async function sidecarOf(place: Place, path: string): Promise<Sidecar> {
  {
    await using store = await place.open();
    await store.inspect("s");
  }
  return sidecarSchema.parse(JSON.parse(readFileSync(`${path}.holdfast-index`, "utf8")));
}
