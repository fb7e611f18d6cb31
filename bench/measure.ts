import { closeSync, fdatasyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One figure with its floor or limit beside it. */
export interface Figure {
  readonly what: string;
  readonly value: string;
  /** What it is measured against, in words. */
  readonly against: string;
  /** The target, in words. */
  readonly target: string;
  readonly met: boolean;
}

/** A folder of its own on the disk that the project lies on; sync means nothing on tmpfs. */
export class BenchFolder implements Disposable {
  readonly path: string;

  constructor() {
    this.path = mkdtempSync(join(process.env["BENCH_DIR"] ?? tmpdir(), "holdfast-bench-"));
  }

  file(name: string): string {
    return join(this.path, name);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Resident memory of this process in MB, after a collection. */
export function residentMb(): number {
  Bun.gc(true);
  return process.memoryUsage().rss / 1024 / 1024;
}

/** Most memory of this process that was ever resident, in MB. */
export function peakMb(): number {
  const kilobytes = /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return Number(kilobytes) / 1024;
}

/** Appends `text` and syncs it, `count` times: what the machine itself needs. Returns syncs a second. */
export function syncRate(path: string, text: string | Buffer, count: number): number {
  const bytes = Buffer.from(text);
  const file = openSync(path, "w");
  const start = performance.now();
  for (let n = 0; n < count; n += 1) {
    writeSync(file, bytes);
    fdatasyncSync(file);
  }
  const rate = (count / (performance.now() - start)) * 1000;
  closeSync(file);
  rmSync(path);
  return rate;
}

export const format = (value: number, digits = 0) =>
  value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** A case prints one JSON line on stdout; this reads it. Each case is a process of its own, so that none warms another. */
export async function runCase<T>(name: string, args: readonly string[] = []): Promise<T> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "cases", `${name}.ts`), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`the case ${name} failed`);
  return JSON.parse(text);
}
