import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { BenchFolder, type Figure, format, median, runCase } from "./measure.ts";

/* Checks of whole stores, beside opening them and beside reading the same bytes. */

const RUNS = 7;
const SAMPLE = join(import.meta.dir, "..", "..", "shared", "workload");
const LARGE_RUNS = 3;
const LARGE_MB = 600;

const manifestSchema = z.object({
  sessions: z.array(z.object({ id: z.string(), file: z.string(), events: z.number() })),
});

interface Check {
  readonly ms: number;
  readonly errors: number;
  readonly events: number;
  readonly peak: number;
}

/** A long session in a database, and the long sample log where it is there. */
export async function verify(): Promise<Figure[]> {
  using folder = new BenchFolder();
  const database = folder.file("store.db");
  const { id } = await runCase<{ id: string }>("write-session", [database]);
  const figures = [
    await compare("database", `sqlite:${database}`, {
      open: ["cold-open", database, id],
      floor: ["cold-floor", database],
    }),
  ];
  if (!existsSync(SAMPLE)) return figures;
  const { sessions } = manifestSchema.parse(await Bun.file(join(SAMPLE, "manifest.json")).json());
  for (const session of sessions) {
    figures.push(
      await compare("log", `jsonl:${SAMPLE}`, {
        open: ["jsonl-cold-open", "open", SAMPLE, session.id],
        floor: ["jsonl-cold-floor", join(SAMPLE, session.file)],
      }),
    );
  }
  return figures;
}

type Command = readonly [string, ...string[]];

async function compare(
  what: string,
  store: string,
  { open, floor }: { readonly open: Command; readonly floor: Command },
): Promise<Figure> {
  const checks: Check[] = [];
  const opens: number[] = [];
  const floors: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    floors.push((await runCase<{ floor: number }>(floor[0], floor.slice(1))).floor);
    opens.push((await runCase<{ open: number }>(open[0], open.slice(1))).open);
    checks.push(await check(store));
  }
  const ratio = median(checks.map(({ ms }, run) => ms / (opens[run] ?? Number.NaN)));
  const floorRatio = median(checks.map(({ ms }, run) => ms / (floors[run] ?? Number.NaN)));
  return {
    what: `verify a ${what} of ${format(checks[0]?.events ?? 0)} events`,
    value: `${format(median(checks.map(({ ms }) => ms)))} ms = ${format(ratio, 2)} times its cold open, ${format(floorRatio, 2)} times the floor`,
    against: `cold open ${format(median(opens))} ms, read + JSON.parse ${format(median(floors))} ms`,
    target: "at most 2 times its cold open",
    met: ratio <= 2,
  };
}

/** Logs of 600 MB. Not among the parts that run by themselves: it takes minutes. */
export async function verifyLarge(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const encoding of ["zstd", "none"] as const) {
    using folder = new BenchFolder();
    const { path, events, bytes } = await runCase<{ path: string; events: number; bytes: number }>(
      "verify-fill",
      [folder.path, encoding, String(LARGE_MB)],
    );
    const checks: Check[] = [];
    const floors: number[] = [];
    for (let run = 0; run < LARGE_RUNS; run += 1) {
      floors.push((await runCase<{ floor: number }>("verify-floor", [path])).floor);
      checks.push(await check(`jsonl:${folder.path}`));
    }
    const ratio = median(checks.map(({ ms }, run) => ms / (floors[run] ?? Number.NaN)));
    const peak = Math.max(...checks.map((sample) => sample.peak));
    figures.push({
      what: `verify a log of ${format(LARGE_MB)} MB of text, ${encoding === "zstd" ? "as frames" : "as plain lines"}`,
      value: `${format(median(checks.map(({ ms }) => ms)) / 1000, 1)} s = ${format(ratio, 2)} times the floor, peak ${format(peak)} MB`,
      against: `decompress + decode + JSON.parse ${format(median(floors) / 1000, 1)} s; ${format(events)} events, ${format(bytes)} bytes`,
      target: "at most 3 times the floor, and 400 MB",
      met: ratio <= 3 && peak <= 400,
    });
  }
  return figures;
}

async function check(store: string): Promise<Check> {
  const result = await runCase<Check>("verify", [store]);
  if (result.errors > 0) throw new Error(`${store} is not sound`);
  return result;
}
