import type { StoreKind } from "../fixtures/host-lab.ts";
import type { OutcomeName } from "./protocol.ts";

export interface Failure {
  readonly number: number;
  /** What was being done with the input. */
  readonly step: string;
  /** The rule that does not hold. */
  readonly check: string;
  readonly what: string;
  /** What was done to make the input, and where it lies. */
  steps?: readonly string[];
  folder?: string;
}

/** Figures of the inputs on one kind of store. */
export class Report {
  readonly kind: StoreKind;
  readonly seed: number;
  readonly failures: Failure[] = [];
  inputs = 0;
  seconds = 0;
  readonly #outcomes = new Map<OutcomeName, number>();
  #told = 0;

  constructor(kind: StoreKind, seed: number) {
    this.kind = kind;
    this.seed = seed;
  }

  count(outcome: readonly OutcomeName[]): void {
    this.inputs += 1;
    for (const name of outcome) this.#outcomes.set(name, this.times(name) + 1);
  }

  /** How many inputs came to this. */
  times(outcome: OutcomeName): number {
    return this.#outcomes.get(outcome) ?? 0;
  }

  fail({ number, step, check, what }: Failure): void {
    this.inputs += 1;
    this.failures.push({ number, step, check, what });
  }

  /** Failures that this was not asked for before. */
  fresh(): Failure[] {
    const fresh = this.failures.slice(this.#told);
    this.#told = this.failures.length;
    return fresh;
  }

  text(): string {
    const { kind, seed, inputs, seconds, failures } = this;
    const rate = seconds === 0 ? 0 : inputs / seconds;
    const outcomes = [...this.#outcomes].map(([name, count]) => `${count} ${name}`).join(", ");
    return [
      `${kind}, seed ${seed}: ${inputs} inputs in ${seconds.toFixed(1)} s (${rate.toFixed(0)} a second)`,
      `  ${outcomes}`,
      `  ${failures.length} failures`,
      "",
    ].join("\n");
  }
}

/** What somebody needs who looks into a failure. */
export function failureText(kind: StoreKind, seed: number, failure: Failure): string {
  const { number, step, check, what, steps = [], folder = "nowhere" } = failure;
  return [
    `FAILED: ${kind}, seed ${seed}, input ${number}, at: ${step}`,
    `  rule: ${check}`,
    `  ${what}`,
    ...steps.map((made) => `  made by: ${made}`),
    `  kept in: ${folder}`,
    `  again: bun run fuzz --backend ${kind} --seed ${seed} --only ${number}`,
    "",
  ].join("\n");
}
