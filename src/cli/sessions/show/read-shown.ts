import { HoldfastError } from "../../../store/errors.ts";
import { TORN_END } from "../../../store/finding.ts";
import type { SessionPersistence, SessionStream } from "../../../store/persistence.ts";
import { EXIT, reportError } from "../../exit-codes.ts";
import type { Ending } from "../../pager.ts";
import { printableLine } from "../../printable.ts";
import { countEvents } from "../tail/log-end.ts";
import type { SeqRange, SessionFacts } from "./read-session.ts";

/** A session that is shown. */
export interface Shown {
  readonly store: SessionPersistence;
  readonly id: string;
  /** All of it when absent. */
  readonly range: SeqRange | undefined;
}

export const OPEN = "the last Turn is open: it is running now, or it was interrupted";
export const TORN = `the ${TORN_END}; that piece is left out`;

/** The session from where it is shown. */
export function openStream({ store, id, range }: Shown): Promise<SessionStream> {
  return store.stream(id, { fromSeq: range?.from ?? 0 });
}

/** The damage that a reading ended with. What precedes it is shown all the same. */
export async function untilDamage(reading: () => Promise<void>): Promise<HoldfastError | undefined> {
  try {
    await reading();
    return undefined;
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
}

/** What is said where a range lies behind the last event, so that nothing of it was shown. */
export async function nothingShown({ store, id, range }: Shown, events: number): Promise<string[]> {
  if (range === undefined || events > 0) return [];
  const count = await countEvents(store, id);
  // It has grown meanwhile.
  if (count > range.from) return [];
  const why = count === 0 ? "the session has none" : `the last one has seq ${count - 1}`;
  return [`there is no event from seq ${range.from} on: ${why}`];
}

/** Tells on stderr what else there is to know of a session that was shown. */
export async function endOf(
  shown: Shown,
  { unknownTypes, closers, events }: SessionFacts,
  torn: boolean,
  damage: HoldfastError | undefined,
): Promise<Ending> {
  const { range } = shown;
  const notes = unknownTypes.map(
    ({ type, seq }) =>
      `the log holds events of the unknown type ${printableLine(JSON.stringify(type))}, the first at seq ${seq}; ` +
      "this version cannot resume it",
  );
  if (damage === undefined) notes.push(...(await nothingShown(shown, events)));
  if (torn) notes.push(TORN);
  // What was not read says nothing of it.
  const isOpen = range === undefined && damage === undefined && closers.length > 0;
  if (isOpen) notes.push(OPEN);
  return () => {
    for (const note of notes) process.stderr.write(`holdfast: ${note}\n`);
    return damage === undefined ? EXIT.ok : reportError(damage);
  };
}
