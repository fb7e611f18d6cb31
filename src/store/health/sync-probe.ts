import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { type FileSystem, writeAll } from "../file-system.ts";
import { finding, type HealthFinding } from "./findings.ts";

const SYNCS = 20;
/** A slow disk is asked less often. */
const MAX_TIME = 2_000;
const BLOCK = new Uint8Array(4_096).fill(0x68);
/** No disk, nor any cache that survives a power cut, is that fast. In milliseconds. */
const TOO_FAST = 0.02;
const SLOW = 100;

/** Begins the names of the folders that a measure is made in. */
const PROBE_PREFIX = ".holdfast-doctor-";

/** How long it takes until 4 KiB that were written are synced, in milliseconds. */
export interface SyncReport {
  readonly count: number;
  readonly p50: number;
  readonly max: number;
}

/** What measuring needs of the world. */
export interface ProbeTools {
  readonly system: FileSystem;
  /** Milliseconds from anywhere. */
  readonly now: () => number;
  readonly newId: () => string;
  /** Stops between two syncs. */
  readonly signal: AbortSignal;
}

/**
 * Runs a task in a new folder inside `folder`, for this user alone, which is gone afterwards, however the task ends. Only
 * a process that is killed meanwhile leaves it. Throws the system's error where none can be made.
 */
export async function inScratch<T>(
  folder: string,
  { newId, system }: ProbeTools,
  task: (scratch: string) => Promise<T>,
): Promise<T> {
  const scratch = join(folder, PROBE_PREFIX + newId());
  system.makeFolder(scratch);
  try {
    return await task(scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Writes blocks to a new file in `folder` and syncs each. The file must lie where the store does. */
export async function measureSyncs(folder: string, { now, signal, system }: ProbeTools): Promise<SyncReport> {
  const path = join(folder, "sync");
  const file = system.create(path);
  try {
    const times: number[] = [];
    const begin = now();
    do {
      writeAll(system, file, BLOCK, path);
      const start = now();
      system.fdatasync(file);
      times.push(now() - start);
      // A signal is only heard between two turns of the loop.
      await setImmediate();
      signal.throwIfAborted();
    } while (times.length < SYNCS && now() - begin < MAX_TIME);
    const sorted = times.toSorted((a, b) => a - b);
    const p50 = sorted[(sorted.length - 1) >> 1] ?? 0;
    return { count: times.length, p50, max: sorted.at(-1) ?? 0 };
  } finally {
    system.close(file);
  }
}

/** What is to be said about a measure; what lies in memory needs no sync. */
export function judgeSyncs({ count, p50, max }: SyncReport, folder: string): HealthFinding[] {
  const measured = `half of ${count} syncs took at most ${formatMilliseconds(p50)}, the longest ${formatMilliseconds(max)}`;
  if (p50 < TOO_FAST) {
    return [
      finding("sync-not-real", `A sync does not seem to reach a disk: ${measured}`, {
        where: folder,
        hint: "Look at the options of the mount and of the disk (write cache, virtual machine, fsync turned off). A power cut may cost what was acknowledged.",
      }),
    ];
  }
  if (p50 <= SLOW) return [];
  return [
    finding("sync-slow", `Syncs are slow: ${measured}`, {
      where: folder,
      hint: "Every event waits for a sync. Look for other programs that write to this disk, or keep the store on a faster one.",
    }),
  ];
}

/** As in `12 µs`, `0.35 ms` or `2104 ms`. */
export function formatMilliseconds(milliseconds: number): string {
  if (milliseconds < 0.1) return `${Math.round(milliseconds * 1_000)} µs`;
  return `${milliseconds.toFixed(milliseconds < 10 ? 2 : milliseconds < 100 ? 1 : 0)} ms`;
}

/** Folders of measures that were killed. */
export function leftovers(folder: string): HealthFinding[] {
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => name.startsWith(PROBE_PREFIX));
  } catch {
    return []; // this user may not look
  }
  return names.map((name) =>
    finding("probe-left", "A folder of an earlier `holdfast doctor` was left, which was killed", {
      where: join(folder, name),
      hint: "Delete it, unless another one runs now.",
    }),
  );
}
