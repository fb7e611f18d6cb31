import type { Place } from "../../session/errors.ts";
import { Breather, breathe } from "../breathe.ts";
import { errorCode, HoldfastError, toStorageError } from "../errors.ts";
import type { Examined, ExaminedRecords } from "../examiner.ts";
import type { Finding } from "../finding.ts";
import type { Body } from "./beginning.ts";
import { LogExamination, type Tail } from "./log-examination.ts";
import { LogFile, type LogLocation, toLogError } from "./log-file.ts";

/* All that can be read of one log, past its damage. */

/** How it is found out whether a torn end is being written right now. */
export interface Patience {
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<void>;
}

export const PATIENCE: Patience = { now: Date.now, wait: Bun.sleep };
/** How often a torn end is looked at again, and the pause before each look in milliseconds. */
const LOOKS = 2;
const PAUSE = 100;
/** A log that nobody wrote to for this long is not being written, in milliseconds. */
const QUIET = 10_000;
const NOTHING = Buffer.alloc(0);
const NO_RECORDS: ExaminedRecords = { kind: "records", records: [], placeOf: () => ({}) };

/** Everything behind the header of a log. Never throws. */
export async function* examineBody(
  location: LogLocation,
  sessionId: string,
  body: Body,
  patience = PATIENCE,
): AsyncGenerator<Examined> {
  let start = body;
  const breather = new Breather();
  try {
    for (let look = 0; ; look += 1) {
      using file = new LogFile(location);
      let tail: Tail | undefined;
      let isQuiet = true;
      for (const step of new LogExamination(file, sessionId).steps(start)) {
        if (step.kind === "tail") {
          tail = step;
          break;
        }
        if (step.kind !== "pause") {
          isQuiet = false;
          yield step;
        } else if (breather.isDue(step.bytes)) {
          await breathe();
          // Whoever takes the items may want to stop in the middle of garbage, too.
          if (isQuiet) yield NO_RECORDS;
          isQuiet = true;
        }
      }
      if (tail === undefined) return;
      // It is growing still: nothing is wrong with it.
      if (look === LOOKS) return;
      if (await isSettled(file, patience)) {
        yield* tail.salvaged;
        yield { kind: "damage", finding: tail.finding };
        return;
      }
      start = { offset: tail.offset, row: tail.row, lead: NOTHING };
    }
  } catch (error) {
    yield { kind: "damage", finding: unreadable(error, { path: location.path, sessionId }) };
  }
}

/** Of a log of another version. */
export async function* noItems(): AsyncGenerator<Examined> {}

/** What kept a log from being read, as a finding. Throws what is no matter of the storage. */
export function unreadable(error: unknown, place: Place): Finding {
  if (!(error instanceof HoldfastError) && errorCode(error) === undefined) throw error;
  const what = "The log could not be read";
  const { path, sessionId } = place;
  const isOfLog = path !== undefined && sessionId !== undefined;
  const typed = isOfLog ? toLogError(error, what, path, sessionId) : toStorageError(error, what, place);
  return { code: "unreadable", message: typed.message, place: { ...place, ...typed.place } };
}

/** Whether the log stays as it is. */
export async function isSettled(file: LogFile, { now, wait }: Patience): Promise<boolean> {
  if (Math.abs(now() - file.modifiedAt) > QUIET) return true;
  await wait(PAUSE);
  using again = new LogFile(file);
  return again.revision === file.revision;
}
