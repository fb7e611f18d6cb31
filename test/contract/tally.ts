import type { Capabilities, Need } from "./rig.ts";

/** One case of the contract, and what became of it. */
interface Case {
  readonly need: Need | undefined;
  ended: "passed" | "failed" | undefined;
  /** Whether it opened its place more than once. */
  reopened: boolean;
}

/** Counts what a run of the contract shows of each capability, for a person who looks at its end. */
export class Tally {
  readonly #cases: Case[] = [];

  /** Counts a case from when it is known; what it returns runs it. */
  add<T>(need: Need | undefined, body: (reopened: () => void) => Promise<T>): () => Promise<T> {
    const counted: Case = { need, ended: undefined, reopened: false };
    this.#cases.push(counted);
    return async () => {
      counted.ended = "failed";
      const result = await body(() => {
        counted.reopened = true;
      });
      counted.ended = "passed";
      return result;
    };
  }

  /** A line for the whole, then one a capability. */
  report(name: string, capabilities: Capabilities, canTear: boolean): string {
    const reopened = this.#cases.filter((one) => one.reopened);
    const lines = [
      `persistence contract: ${name}: ${counts(this.#cases)}`,
      `durable: ${capabilities.durable ? counts(reopened) : "not claimed"}`,
      this.#line("crossProcessLock", capabilities.crossProcessLock),
      this.#line("faults", capabilities.faults),
      this.#line("tear", canTear),
    ];
    return lines.map((line, k) => `${k === 0 ? "" : "  "}${line}\n`).join("");
  }

  #line(need: Need, claimed: boolean): string {
    const cases = this.#cases.filter((one) => one.need === need);
    return `${need}: ${claimed ? counts(cases) : `not claimed, ${cases.length} skipped`}`;
  }
}

function counts(cases: readonly Case[]): string {
  const passed = cases.filter(({ ended }) => ended === "passed").length;
  const failed = cases.filter(({ ended }) => ended === "failed").length;
  return `${passed} passed, ${failed} failed`;
}
