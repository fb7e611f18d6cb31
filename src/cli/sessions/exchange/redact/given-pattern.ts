import { UsageError } from "../../../../host/usage.ts";

/** Of one text: a search may take so long, and more of a long one. In milliseconds of this process. */
const SEARCH_TIME = 400;
const MORE_FOR = 10_000;
/** Texts of one unit up to this length show whether a search takes longer by a factor with each of them. */
const LONGEST_PROBE = 40;
const PROBE_TIME = 50;
const UNITS = ["a", "A", "0", " ", "_", "-", ".", "/", "\n"];
const HINT =
  "Take out a repetition that stands in another one, as in (a+)+, or name what it may hold more exactly.";

/**
 * A regular expression that a user gave, for a search through texts that others wrote. There are some that take years
 * on a short text, and a search that the engine gives up looks as if nothing was there: both are refused.
 */
export class GivenPattern {
  readonly #pattern: RegExp;

  /** @throws UsageError where it is no regular expression, or one that takes too long */
  constructor(source: string) {
    this.#pattern = compiled(source);
    const units = new Set([...UNITS, ...source.replace(/[\\^$.*+?()[\]{}|]/g, "")].slice(0, 40));
    for (const unit of units) {
      for (let length = 16; length <= LONGEST_PROBE; length += 2) {
        const watch = new Watch();
        // What ends the text is in hardly any pattern, so that each way to read the rest is tried.
        this.#pattern.test(`${unit.repeat(length)}\u0001`);
        this.#pattern.lastIndex = 0;
        if (watch.time > PROBE_TIME) throw tooSlow(this.#pattern, "");
      }
    }
  }

  /** The places in a text, without empty ones. @throws UsageError where the search takes too long */
  find(text: string): { readonly start: number; readonly end: number }[] {
    const watch = new Watch();
    const found = [];
    for (const match of text.matchAll(this.#pattern)) {
      if (match[0] !== "") found.push({ start: match.index, end: match.index + match[0].length });
    }
    if (watch.time > SEARCH_TIME + text.length / MORE_FOR)
      throw tooSlow(this.#pattern, ` on a text of ${text.length} characters`);
    return found;
  }
}

/** Tells the time of this process: what others do on a busy machine is not counted, nor what its other threads do. */
class Watch {
  readonly #started = performance.now();
  readonly #before = process.cpuUsage();

  /** In milliseconds. */
  get time(): number {
    return Math.min(performance.now() - this.#started, process.cpuUsage(this.#before).user / 1000);
  }
}

function compiled(source: string): RegExp {
  try {
    return new RegExp(source, "gu");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(
      `--redact-pattern ${JSON.stringify(source)} is no regular expression: ${reason}`,
      "Write one as JavaScript has them, without slashes around it, such as 'ACME-[0-9]+'.",
    );
  }
}

function tooSlow({ source }: RegExp, where: string): UsageError {
  return new UsageError(`--redact-pattern ${JSON.stringify(source)} takes too long${where}`, HINT);
}
