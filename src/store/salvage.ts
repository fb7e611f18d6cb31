import { LogAudit } from "../session/audit/index.ts";
import { SalvagePlan, type SalvageTotals } from "../session/salvage/plan.ts";
import { breathe } from "./breathe.ts";
import { batches, endOf } from "./copy.ts";
import { LogDigest } from "./digest.ts";
import {
  CorruptError,
  HoldfastError,
  IdTooLongError,
  StorageFailedError,
  UnsupportedFormatError,
} from "./errors.ts";
import type { ExaminedSession } from "./examiner.ts";
import { type Finding, isError } from "./finding.ts";
import type { SessionPersistence, SessionStream } from "./persistence.ts";
import { foresee, originOf, planned } from "./salvage-foreseen.ts";
import { findPlace, type PlaceOptions } from "./salvage-place.ts";

export interface SalvageOptions extends PlaceOptions {
  /** Whether a session that is as it should be is left out. */
  readonly onlyDamaged?: boolean;
  /** Told now and then how many events were read; once they are known also how many were written, and of how many. */
  readonly onProgress?: (
    progress: { readonly read: number } | { readonly written: number; readonly of: number },
  ) => void;
}

/** What became of one session. `id` is that of the old one. */
export type SalvageResult =
  | {
      readonly id: string;
      /** `there`: an earlier salvage made all of it. */
      readonly state: "salvaged" | "there";
      readonly newId: string;
      /** Events of the new session. */
      readonly events: number;
      /** Events that were written now; fewer than `events` where an earlier salvage was gone on with. */
      readonly written: number;
      /** Of the new session. */
      readonly digest: string;
      readonly totals: SalvageTotals;
    }
  /** Nothing is wrong with it, and nothing was written. */
  | { readonly id: string; readonly state: "sound"; readonly events: number }
  /** Not one event can be read; `reason` is the first thing that is wrong, if anything is. */
  | { readonly id: string; readonly state: "empty"; readonly reason?: Finding }
  | { readonly id: string; readonly state: "failed"; readonly error: HoldfastError };

/**
 * Takes all that can be read of a session over into a new one, whose parent it is: see {@link SalvagePlan} for what
 * enters its history. The source is read through first, and only read. The new session is read back afterwards.
 *
 * A salvage that was cut off is gone on with by the next one: the same source gives the same events.
 *
 * Typed errors are in the result. @throws the reason of `signal`, between two batches
 */
export async function salvageSession(
  source: ExaminedSession,
  target: () => Promise<SessionPersistence>,
  options: SalvageOptions,
): Promise<SalvageResult> {
  try {
    return await salvage(source, target, options);
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const isTooLong = error instanceof IdTooLongError && options.newId === undefined;
    return { id: source.id, state: "failed", error: isTooLong ? madeTooLong(error) : error };
  }
}

async function salvage(
  source: ExaminedSession,
  openTarget: () => Promise<SessionPersistence>,
  options: SalvageOptions,
): Promise<SalvageResult> {
  const { id } = source;
  const { signal, onProgress } = options;
  assertSupported(source);
  const whole = await foresee(source, 0, options);
  const { totals, events, digest } = whole;
  if (totals.taken + totals.aside === 0) {
    const reason = source.findings.find(isError) ?? whole.firstDamage;
    if (reason?.code === "unreadable") throw notRead(id, reason);
    return { id, state: "empty", ...(reason === undefined ? {} : { reason }) };
  }
  const isSound = totals.isSound && !source.findings.some(isError);
  if (options.onlyDamaged === true && isSound) return { id, state: "sound", events: totals.taken };

  const target = await openTarget();
  const place = await findPlace(source, target, whole, options);
  const { newId, have } = place;
  const made = { id, newId, events, digest, totals };
  if (have === events) return { ...made, state: "there", written: 0 };
  // An earlier salvage may have been killed in the middle of a batch.
  let setTornAside = place.isTorn;
  const plan = new SalvagePlan(originOf(source));
  for await (const batch of batches(planned(source, plan, signal), have, events)) {
    signal?.throwIfAborted();
    await target.importRecords(place.headerText, batch, { setTornAside });
    setTornAside = false;
    onProgress?.({ written: endOf(batch), of: events });
  }
  await verify(await target.stream(newId, options), digest);
  return { ...made, state: "salvaged", written: events - have };
}

/** @throws UnsupportedFormatError where the log is no log of this version: it is not damaged, but another one */
function assertSupported({ id, findings }: ExaminedSession): void {
  const found = findings.find(({ code }) => code === "unsupported-version");
  if (found === undefined) return;
  throw new UnsupportedFormatError(found.message, {
    place: { ...found.place, sessionId: id },
    hint: "It is perhaps not damaged at all. Read it with the program that wrote it.",
  });
}

/** An id that was made of the old one can be another one. */
function madeTooLong({ place, hint }: IdTooLongError): IdTooLongError {
  const what = "The id that was made for the new session is too long for a folder's name";
  return new IdTooLongError(`${what}: give it another one with --id`, { place, hint });
}

/** What was not read is not lost. */
function notRead(sessionId: string, { message, place }: Finding): StorageFailedError {
  return new StorageFailedError(message, {
    place: { ...place, sessionId },
    hint: "Make it readable for this user, or look at the disk, and salvage it again.",
  });
}

/** Reads the new session back. @throws CorruptError unless it is what was to be written, and sound */
async function verify(written: SessionStream, digest: string): Promise<void> {
  const audit = new LogAudit();
  const found = new LogDigest();
  for await (const page of written.pages) {
    await breathe();
    for (const decoded of page) {
      found.add(decoded.record);
      const [fault] = audit.take(decoded, () => ({}));
      if (fault !== undefined) {
        throw new CorruptError(`The salvaged session is not sound: ${fault.message}`, {
          expected: fault.expected,
          found: fault.found,
          place: { ...fault.place, sessionId: written.header.id },
          hint: "This is a defect of the program. The session is readable; please report it.",
        });
      }
    }
  }
  if (found.hex() === digest) return;
  throw new CorruptError("The salvaged session reads back as another one", {
    expected: `digest ${digest}`,
    found: `digest ${found.hex()}`,
    place: { sessionId: written.header.id },
    hint: "Perhaps the source was written to meanwhile. Salvage it again from a copy.",
  });
}
