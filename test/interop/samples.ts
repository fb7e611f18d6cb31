import { existsSync, readFileSync } from "node:fs";
import { copyFile, mkdir, truncate } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { DshRoot, DshSession, Encoding } from "./dsh.ts";

/*
 * Session roots that dsh wrote, beside a manifest of what dsh reads from them. They lie outside of the repository.
 */

const SHARED = Bun.fileURLToPath(new URL("../../../shared/", import.meta.url));

const closers = z.array(z.unknown());
const sessionSchema = z.strictObject({
  id: z.string(),
  file: z.string(),
  header: z.unknown(),
  events: z.number(),
  eventsSha256: z.string(),
  closers,
  messages: z.number(),
  // Left out where the wording of a closer enters it.
  messagesSha256: z.string().optional(),
});
const cutSchema = z.strictObject({
  id: z.string(),
  length: z.number(),
  of: z.number(),
  stored: z.number(),
  closers,
  messagesSha256: z.string().optional(),
});
const refusedCutSchema = cutSchema.pick({ id: true, length: true, of: true }).extend({ error: z.string() });
const manifestSchema = z.object({
  sessions: z.array(sessionSchema),
  refused: z.array(z.object({ id: z.string(), file: z.string(), why: z.string() })).default([]),
  cuts: z.array(z.union([cutSchema, refusedCutSchema])).default([]),
});

export type SampleSession = z.infer<typeof sessionSchema>;
export type SampleCut = z.infer<typeof cutSchema>;
export type RefusedCut = z.infer<typeof refusedCutSchema>;

/** A root of sample data and what dsh reads from it. Read only: work on {@link copyFiles}. */
export interface SampleRoot extends z.infer<typeof manifestSchema> {
  readonly path: string;
  readonly encoding: Encoding;
}

const ROOTS = {
  zstd: { path: "interop/dsh-v0/zstd", manifest: "interop/dsh-v0/manifest-zstd.json", encoding: "zstd" },
  none: { path: "interop/dsh-v0/raw", manifest: "interop/dsh-v0/manifest-raw.json", encoding: "none" },
  workload: { path: "workload", manifest: "workload/manifest.json", encoding: "zstd" },
} as const;

/** Why tests with the sample data are skipped, if they are. */
export const samplesMissing = Object.values(ROOTS).every(({ manifest }) => existsSync(join(SHARED, manifest)))
  ? undefined
  : "the sample data is not on this machine";

export function sampleRoot(name: keyof typeof ROOTS): SampleRoot {
  const { path, manifest, encoding } = ROOTS[name];
  const content = manifestSchema.parse(JSON.parse(readFileSync(join(SHARED, manifest), "utf8")));
  return { ...content, path: join(SHARED, path), encoding };
}

/** Copies logs of a sample root to the same places below another folder. */
export async function copyFiles({ path }: SampleRoot, files: readonly string[], to: string): Promise<void> {
  for (const file of files) {
    await mkdir(dirname(join(to, file)), { recursive: true, mode: 0o700 });
    await copyFile(join(path, file), join(to, file));
  }
}

/** Truncated logs, in as few roots as there can be when a root holds a session once. */
export async function copyCuts<T extends SampleCut | RefusedCut>(
  root: SampleRoot,
  cuts: readonly T[],
  folder: string,
): Promise<ReadonlyArray<{ readonly path: string; readonly cuts: readonly T[] }>> {
  const roots: T[][] = [];
  for (const cut of cuts) {
    const free = roots.find((held) => held.every(({ id }) => id !== cut.id));
    if (free === undefined) roots.push([cut]);
    else free.push(cut);
  }
  const files = new Map(root.sessions.map(({ id, file }) => [id, file]));
  return Promise.all(
    roots.map(async (held, k) => {
      const path = join(folder, `cuts-${k}`);
      for (const { id, length } of held) {
        const file = files.get(id) ?? "";
        await copyFiles(root, [file], path);
        await truncate(join(path, file), length);
      }
      return { path, cuts: held };
    }),
  );
}

/** Closers with their texts blanked, as the manifests have them: the wording is each program's own. */
export function blanked(list: readonly unknown[]): unknown[] {
  const hide = (key: string, value: unknown) => (key === "text" ? "<own wording>" : value);
  return list.map((event): unknown => JSON.parse(JSON.stringify(event, hide)));
}

/** What two programs must agree on when they read one log. */
export type Reading = Omit<SampleSession, "id" | "file">;

/** What a manifest says about sessions, by their ids. */
export function expectedReadings(sessions: readonly SampleSession[]): Record<string, Reading> {
  return Object.fromEntries(sessions.map(({ id, file: _, ...reading }) => [id, reading]));
}

/** What dsh read, for comparing with `expected`: without a digest of messages where that has none. */
export function dshReadings(
  root: DshRoot | undefined,
  expected: Readonly<Record<string, Reading>>,
): Record<string, unknown> {
  const shown = Object.entries(root?.sessions ?? {}).map(([id, session]): [string, unknown] => {
    if ("error" in session) return [id, session];
    return [id, toReading(session, expected[id]?.messagesSha256 !== undefined)];
  });
  return Object.fromEntries(shown);
}

function toReading(session: DshSession, withDigest: boolean): unknown {
  const { brokenRule: _, messagesSha256, closers: added, ...rest } = session;
  return { ...rest, closers: blanked(added), ...(withDigest ? { messagesSha256 } : {}) };
}
