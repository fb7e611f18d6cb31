import type { StoreKind } from "../fixtures/host-lab.ts";

export interface Failure {
  readonly run: number;
  readonly point: string;
  readonly reason: string;
  /** The store as it was left. */
  readonly folder: string;
}

/** Figures of the runs on one kind of store. */
export class Report {
  readonly kind: StoreKind;
  readonly seed: number;
  readonly failures: Failure[] = [];
  runs = 0;
  stores = 0;
  turns = 0;
  /** Events that were seen before a kill and looked for after it, and how often such a look was taken at one. */
  events = 0;
  compared = 0;
  recoveries = 0;
  retries = 0;
  /** Rows that quote deltas. */
  quotes = 0;
  tornTails = 0;
  seconds = 0;
  readonly #points = new Map<string, { hit: number; missed: number }>();

  constructor(kind: StoreKind, seed: number) {
    this.kind = kind;
    this.seed = seed;
  }

  /** @param name where the Host was to be ended. @param hit whether it was, and not only after its last answer */
  count(name: string, hit: boolean): void {
    const counts = this.#points.get(name) ?? { hit: 0, missed: 0 };
    if (hit) counts.hit += 1;
    else counts.missed += 1;
    this.#points.set(name, counts);
  }

  text(): string {
    const {
      kind,
      seed,
      runs,
      stores,
      turns,
      events,
      compared,
      recoveries,
      retries,
      quotes,
      tornTails,
      seconds,
    } = this;
    const points = [...this.#points].sort(([a], [b]) => (a < b ? -1 : 1));
    const rate = seconds === 0 ? 0 : Math.round((seconds / runs) * 1000);
    return [
      `${kind}, seed ${seed}: ${counted(runs, "run")} on ${counted(stores, "store")} in ${seconds.toFixed(1)} s (${rate} ms a run)`,
      ...points.map(
        ([point, { hit, missed }]) =>
          `  ${String(hit).padStart(4)} ended at: ${point}${missed === 0 ? "" : ` (${missed} more had their last answer before it)`}`,
      ),
      `  ${counted(turns, "Turn")}, ${counted(events, "acknowledged event")} compared ${counted(compared, "time")}, ${counted(recoveries, "Turn")} closed by recovery, ${counted(retries, "retry", "retries")}, ${counted(quotes, "quoting row")}, ${counted(tornTails, "torn tail")}`,
      `  ${counted(this.failures.length, "failure")}`,
      "",
    ].join("\n");
  }
}

function counted(count: number, what: string, several = `${what}s`): string {
  return `${count} ${count === 1 ? what : several}`;
}

/** What somebody needs who looks into a failure. */
export function failureText(kind: StoreKind, seed: number, { run, point, reason, folder }: Failure): string {
  return (
    `FAILED: ${kind}, seed ${seed}, run ${run}, killed at: ${point}\n  ${reason}\n` +
    `  store: ${folder}\n  again: bun run crash --backend ${kind} --seed ${seed} --run ${run}\n`
  );
}
