import type { ExaminedDamage } from "../examiner.ts";
import type { Finding } from "../finding.ts";

/** Lines in a row that are told one by one; a stretch of garbage may be millions. */
const MOST = 100;

/**
 * Lines in a row that are no records. At the end of a plain log they are a torn tail, which is only known there; so they
 * are kept until a record follows.
 */
export class BadLines {
  #findings: Finding[] = [];
  #more = 0;
  #first: { readonly finding: Finding; readonly isWhole: boolean } | undefined;

  /** The first of them, and whether it is a record in its place but for its details. */
  get first(): { readonly finding: Finding; readonly isWhole: boolean } | undefined {
    return this.#first;
  }

  /** @param describe asked for no more lines than are told */
  add(describe: () => Finding, isWhole: () => boolean): void {
    if (this.#findings.length > MOST) {
      this.#more += 1;
      return;
    }
    const finding = describe();
    this.#first ??= { finding, isWhole: isWhole() };
    this.#findings.push(finding);
  }

  /** Gives them out and forgets them. */
  *flush(): Generator<ExaminedDamage> {
    if (this.#first === undefined) return;
    const findings = this.#findings;
    const last = findings.at(-1);
    if (this.#more > 0 && last !== undefined) {
      findings[findings.length - 1] = {
        code: "malformed",
        message: `This line and ${this.#more} more in a row are no records`,
        place: last.place,
      };
    }
    this.#findings = [];
    this.#more = 0;
    this.#first = undefined;
    for (const finding of findings) yield { kind: "damage", finding };
  }
}
