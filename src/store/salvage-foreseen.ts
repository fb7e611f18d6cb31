import { basename } from "node:path";
import type { SessionRecord } from "../session/records.ts";
import { type SalvageDamage, SalvagePlan, type SalvageTotals } from "../session/salvage/plan.ts";
import { breathe } from "./breathe.ts";
import { LogDigest } from "./digest.ts";
import type { ExaminedSession } from "./examiner.ts";
import type { Finding } from "./finding.ts";
import type { Cancellable } from "./persistence.ts";

export interface ForeseeOptions extends Cancellable {
  /** Told now and then how many events were read. */
  readonly onProgress?: (progress: { readonly read: number }) => void;
}

/** What the new session will hold. */
export interface Foreseen {
  readonly events: number;
  readonly digest: string;
  /** Digest of the first events, as many as were asked for. */
  readonly prefix: string;
  readonly totals: SalvageTotals;
  readonly firstDamage?: Finding;
}

/** Reads a source through without writing anything. */
export async function foresee(
  source: ExaminedSession,
  prefixLength: number,
  { signal, onProgress }: ForeseeOptions,
): Promise<Foreseen> {
  const plan = new SalvagePlan(originOf(source));
  const digest = new LogDigest();
  let prefix = digest.hex();
  let firstDamage: Finding | undefined;
  const onDamage = (finding: Finding) => {
    firstDamage ??= finding;
  };
  for await (const records of planned(source, plan, signal, onDamage)) {
    for (const { record } of records) {
      digest.add(record);
      if (digest.events === prefixLength) prefix = digest.hex();
    }
    onProgress?.({ read: digest.events });
  }
  const made = { events: digest.events, digest: digest.hex(), prefix, totals: plan.totals };
  return firstDamage === undefined ? made : { ...made, firstDamage };
}

/** The records of the new session, as the source is read. */
export async function* planned(
  source: ExaminedSession,
  plan: SalvagePlan,
  signal: AbortSignal | undefined,
  onDamage?: (finding: Finding) => void,
): AsyncGenerator<ReadonlyArray<{ readonly record: SessionRecord }>> {
  for await (const item of source.items()) {
    signal?.throwIfAborted();
    await breathe();
    if (item.kind === "damage") onDamage?.(item.finding);
    yield asPage(
      item.kind === "damage"
        ? plan.damage(damageOf(item.finding), item.part)
        : item.records.flatMap((decoded) => plan.take(decoded)),
    );
  }
  yield asPage(plan.end());
}

function asPage(records: readonly SessionRecord[]): ReadonlyArray<{ readonly record: SessionRecord }> {
  return records.map((record) => ({ record }));
}

function damageOf({ code, message, expected, found, place: { offset, row } }: Finding): SalvageDamage {
  return {
    code,
    message,
    ...(expected === undefined ? {} : { expected }),
    ...(found === undefined ? {} : { found }),
    ...(offset === undefined ? {} : { offset }),
    ...(row === undefined ? {} : { row }),
  };
}

/** What the new session says of where it is from. */
export function originOf({ id, location, header }: ExaminedSession) {
  return {
    file: basename(location),
    session: id,
    header: header === undefined ? ("lost" as const) : ("kept" as const),
  };
}
