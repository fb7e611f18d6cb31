import { readFileSync } from "node:fs";
import type { CompactionResult } from "../../../src/store/compactor.ts";
import type { FileSystem } from "../../../src/store/file-system.ts";
import { compactJsonl } from "../../../src/store/jsonl/compactor.ts";
import { walkFrame } from "../../../src/store/jsonl/frame-walker.ts";
import { buildLog, randomBytes, seeded, titleText } from "./log-bytes.ts";
import type { ENCODINGS } from "./place.ts";

/* Compactions of a root, and what they make of a log, looked at by other code. */

export async function compactRoot(root: string, id = "s", system?: FileSystem): Promise<CompactionResult> {
  await using compactor = await compactJsonl(root, { dryRun: false }, system);
  return await compactor.compact(id);
}

/** Bytes of text in each frame of a log; its header comes first. Every frame has to say it. */
export function frameTexts(path: string): number[] {
  const bytes = readFileSync(path);
  const sizes: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    const walk = walkFrame(bytes, at);
    if (walk.kind !== "frame" || !walk.isStated) throw new Error(`no frame of a stated size at ${at}`);
    sizes.push(Bun.zstdDecompressSync(bytes.subarray(at, walk.end)).length);
    at = walk.end;
  }
  return sizes;
}

/** A run of deltas, as one commit packs it. */
export function runText(seq0: number, texts: readonly string[]): string {
  const dt = Array<number>(texts.length - 1).fill(1);
  return JSON.stringify({
    type: "text-chunks",
    seq0,
    time0: seq0,
    data: { turn: 1, step: 1, index: 0, dt, texts },
  });
}

/** Batches of a run each, and now and then of noise: of so much text, in bytes, about. */
export function streamedBatches(size: number): string[][] {
  const random = seeded(7);
  const batches: string[][] = [];
  for (let seq = 0, done = 0; done < size; ) {
    const isNoise = batches.length % 8 === 7;
    const noise = isNoise ? [titleText(seq, randomBytes(3_000, random).toString("base64"))] : [];
    const texts = Array.from({ length: 20 }, () => randomBytes(12, random).toString("base64"));
    const batch = [...noise, runText(seq + noise.length, texts)];
    batches.push(batch);
    seq += noise.length + texts.length;
    done += batch.join("\n").length;
  }
  return batches;
}

export function streamedLog(encoding: (typeof ENCODINGS)[number], size: number): Buffer {
  return buildLog("s", encoding, streamedBatches(size)).bytes;
}
