import { rmSync } from "node:fs";
import { join } from "node:path";
import { checkExecutable } from "./check-executable.ts";
import { checkReading, type Mark } from "./check-reading.ts";
import { checkRepair } from "./check-repair.ts";
import { checkSalvage } from "./check-salvage.ts";
import { checkVerify } from "./check-verify.ts";
import { checkWriting } from "./check-writing.ts";
import { need } from "./fault.ts";
import type { OutcomeName } from "./protocol.ts";
import { differences, newFolder, stateOf, storeIn, writeFiles } from "./store-files.ts";
import { HOLDFAST } from "./subject.ts";
import type { Input } from "./types.ts";

/** What is done with an input besides reading and verifying it. */
export interface Duties {
  readonly deep: boolean;
  readonly write: boolean;
  readonly repair: boolean;
  /** Whether a repair is planned without the lock as well, and once more afterwards. */
  readonly replan: boolean;
  readonly salvage: boolean;
  readonly execute: boolean;
}

/** The duties of an input of this number: all of them for each would take most of the time for what seldom fails. */
export function dutiesOf(number: number): Duties {
  return {
    deep: number % 2 === 0,
    write: number % 2 === 0,
    repair: number % 2 === 1,
    replan: number % 4 === 1,
    salvage: number % 3 === 0,
    execute: number % 250 === 0,
  };
}

/**
 * Does with an input what can be done with a store.
 * @returns what it came to @throws Fault
 */
export async function checkInput(
  input: Input,
  mark: Mark,
  duties: Duties,
  subject = HOLDFAST,
): Promise<readonly OutcomeName[]> {
  const folder = newFolder("input");
  const outcome = new Set<OutcomeName>();
  try {
    const place = join(folder, "store");
    writeFiles(place, input.files);
    const name = storeIn(place, input.kind);
    const before = stateOf(place);
    const reading = await checkReading(subject, input, name, mark);
    needUnchanged(before, place, "reading");
    const verified = await checkVerify(subject, input, name, reading, mark, duties.deep);
    needUnchanged(before, place, "verifying");
    if (reading.isRefused) outcome.add("refused");
    for (const { error, torn } of reading.readings) {
      outcome.add(error !== undefined ? "damaged" : torn ? "torn" : "clean");
    }
    const at = (what: string) => join(folder, what);
    if (duties.write && (await checkWriting(subject, input, at("written"), reading, mark))) {
      outcome.add("appended");
    }
    if (
      duties.repair &&
      (await checkRepair(subject, input, at("repaired"), reading, verified, mark, duties.replan))
    ) {
      outcome.add("repaired");
    }
    if (duties.salvage) {
      const ends = { from: place, to: at("salvaged") };
      if (await checkSalvage(subject, input, ends, mark)) outcome.add("salvaged");
      needUnchanged(before, place, "salvaging");
    }
    if (duties.execute) {
      await checkExecutable(input, place, reading, mark);
      needUnchanged(before, place, "the executable");
      outcome.add("executable");
    }
    return [...outcome];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function needUnchanged(before: ReadonlyMap<string, string>, place: string, what: string): void {
  const changed = differences(before, stateOf(place));
  need(changed.length === 0, "reading changes nothing", () => `${what} changed ${changed.join(", ")}`);
}
