import { Database } from "bun:sqlite";
import { z } from "zod";
import type { EventDraft } from "../../../src/session/events.ts";
import type { CompactionResult } from "../../../src/store/compactor.ts";
import { compactSqlite } from "../../../src/store/sqlite/compactor.ts";
import type { SqliteCompactorOptions } from "../../../src/store/sqlite/database-compactor.ts";
import { stepStart, textDelta, turnStart, userMessage } from "../../fixtures/event-drafts.ts";
import type { Place } from "./place.ts";

/* Compactions of a store with small segments, and a look at the rows that they leave. */

/** What is packed however small it is, into segments of a few rows. */
const SMALL = { segmentLength: 2_000, leastQuoted: 128, leastGain: 1 } as const;

export async function compact(
  { path }: Place,
  how: "compact" | "expand" = "compact",
  options: Partial<SqliteCompactorOptions> = SMALL,
  ids: readonly string[] = ["s"],
): Promise<CompactionResult[]> {
  await using compactor = await compactSqlite(path, { dryRun: false, ...options });
  const results: CompactionResult[] = [];
  for (const id of ids) results.push(await compactor[how](id));
  await compactor.finish();
  return results;
}

const schema = z.array(
  z.object({
    seq: z.number(),
    count: z.number(),
    type: z.string(),
    frame: z.instanceof(Uint8Array).nullable(),
  }),
);

/** The rows of a store of version 3, in order. */
export function rowsIn({ path }: Place) {
  using database = new Database(path, { readonly: true });
  return schema.parse(database.query("SELECT seq, count, type, frame FROM records ORDER BY id").all());
}

export function segmentsIn(place: Place) {
  return rowsIn(place).filter(({ frame }) => frame !== null);
}

export function versionOf({ path }: Place): number {
  using database = new Database(path, { readonly: true });
  return z.object({ user_version: z.number() }).parse(database.query("PRAGMA user_version").get())
    .user_version;
}

/** A Turn that is open, with so many deltas that differ. */
export function deltas(count: number): EventDraft[] {
  const at = { turn: 1, step: 1 };
  const said = Array.from({ length: count }, (_, k) => textDelta(at, `${Bun.hash(String(k)).toString(36)} `));
  return [turnStart(1), userMessage("go"), stepStart(at), ...said];
}
