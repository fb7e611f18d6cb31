import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

/* The long session that lies beside the repository; where it does not, its figures are left out. */

const SAMPLE = join(import.meta.dir, "..", "..", "shared", "workload");

const manifestSchema = z.object({
  sessions: z.array(z.object({ id: z.string(), file: z.string(), events: z.number() })),
});

export interface Sample {
  readonly id: string;
  /** Of the log. */
  readonly path: string;
  readonly events: number;
}

export async function readSample(): Promise<Sample | undefined> {
  const manifest = join(SAMPLE, "manifest.json");
  if (!existsSync(manifest)) return undefined;
  const [session] = manifestSchema.parse(await Bun.file(manifest).json()).sessions;
  if (session === undefined) return undefined;
  return { id: session.id, path: join(SAMPLE, session.file), events: session.events };
}
