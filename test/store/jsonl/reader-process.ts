import { join } from "node:path";
import { z } from "zod";
import { ProcessOutput } from "../../fixtures/process-output.ts";
import type { Place } from "./place.ts";

/** What reads. */
export const READER = join(import.meta.dir, "../../fixtures/jsonl-reader.ts");
/** A reader that takes longer hangs. */
const TIMEOUT = 10_000;
const WAYS = ["inspect", "stream", "list", "readFrom", "verify", "tail", "shrunk"] as const;
export type Way = (typeof WAYS)[number];

const report = z.union([
  z.object({ way: z.enum(WAYS), outcome: z.union([z.string(), z.number()]) }),
  z.object({ maxRss: z.number() }),
]);

/**
 * Reads the session in every way, each in the same process, and says how each ended and what it took.
 * @param program the reader as a bundle, for files that start many
 */
export async function readInChild(place: Place, ways: readonly Way[], program = READER) {
  await using child = Bun.spawn([process.execPath, program, place.root, "s", ...ways], {
    stdio: ["ignore", "pipe", "inherit"],
    timeout: TIMEOUT,
    killSignal: "SIGKILL",
  });
  const text = await new ProcessOutput(child.stdout).whole;
  const outcomes: Record<string, string | number> = {};
  let maxRss = Number.POSITIVE_INFINITY;
  for (const line of text.split("\n").slice(0, -1)) {
    const said = report.parse(JSON.parse(line));
    if ("way" in said) outcomes[said.way] = said.outcome;
    else maxRss = said.maxRss;
  }
  return { outcomes, maxRss };
}
