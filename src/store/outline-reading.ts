import type { LogFault } from "../session/audit/fault.ts";
import { type AuditState, LogAudit } from "../session/audit/index.ts";
import { formatPlace } from "../session/errors.ts";
import { type Outline, OutlineFold } from "../session/projections/outline.ts";
import type { DecodedRecord } from "../session/records.ts";
import type { Mark, Revision, SessionProblem } from "./backend.ts";
import { Breather, breathe } from "./breathe.ts";
import { HoldfastError, NotFoundError } from "./errors.ts";
import { TORN_END } from "./finding.ts";
import type { SessionPersistence, SessionStream } from "./persistence.ts";
import { toProblem } from "./reading.ts";

/**
 * In which state a session is. `interrupted`: its last Turn is open, so a Host runs it now, or it was cut off. `torn`:
 * the end of the log is damaged or was never fully written. `empty`: it has a header, and no event.
 */
export type SessionState = "ok" | "interrupted" | "torn" | "empty" | SessionProblem["state"];

/** What the reading of a session comes to. */
export interface Outlined {
  readonly state: SessionState;
  /** Why the session is not sound, if so. */
  readonly reason?: string;
  /** Of all that an ordinary reader gets to see; absent where that is nothing, not even the header. */
  readonly outline?: Outline;
  /** Whether that is all of the session: it has no damage, and its end is not torn off. */
  readonly isWhole: boolean;
}

/** The end of a session in which nothing is wrong, for a reading of what is appended there. */
export interface OutlineEnd {
  readonly mark: Mark;
  readonly turns: AuditState["turns"];
}

/** What is known of a session up to a mark. */
export interface KnownBeginning {
  readonly outline: Outline;
  readonly end: OutlineEnd;
}

/** What {@link readOutline} read. */
export interface OutlineReading extends Outlined {
  /** Of the session as it was opened; absent where it could not be. */
  readonly revision?: Revision;
  /** Where something is wrong, or the store does not tell, there is none. What was read is then that of the revision. */
  readonly end?: OutlineEnd;
}

export interface ReadingOptions {
  /** What need not be read again, where the store finds that it is still so. */
  readonly known?: KnownBeginning | undefined;
  /** Told now and then how many events were read. */
  readonly onEvents?: (events: number) => void;
  readonly signal?: AbortSignal;
}

/**
 * Reads a session, from its first record to its last or to its damage, by the rules of `sessions verify`; where its
 * beginning is known, from there on. But only what is sound may rest on what is known: where anything is wrong behind it, and where
 * a message stands in for one before, all is read. Nothing where it was deleted meanwhile.
 * @throws the reason of the signal
 */
export async function readOutline(
  store: SessionPersistence,
  id: string,
  options: ReadingOptions = {},
): Promise<OutlineReading | undefined> {
  const first = await readOnce(store, id, options);
  if (first?.isContinued === true && first.reading.end === undefined)
    return (await readOnce(store, id, { ...options, known: undefined }))?.reading;
  return first?.reading;
}

async function readOnce(
  store: SessionPersistence,
  id: string,
  options: ReadingOptions,
): Promise<{ readonly reading: OutlineReading; readonly isContinued: boolean } | undefined> {
  let reading = new Reading();
  let stream: SessionStream | undefined;
  let isContinued = false;
  const done = (result: OutlineReading) => ({ reading: result, isContinued });
  try {
    const { known } = options;
    stream = await store.stream(id, { marks: known === undefined ? {} : { since: known.end.mark } });
    if (known !== undefined && stream.isContinued === true) {
      isContinued = true;
      reading = new Reading(known);
    }
    await reading.take(stream, options);
    return done({ revision: stream.revision, ...reading.result(stream) });
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    if (!(error instanceof HoldfastError)) throw error;
    const { state, reason } = toProblem(error);
    const { sessionId: _, ...place } = error.place;
    const where = formatPlace(place);
    return done({
      ...(stream === undefined ? {} : { revision: stream.revision, outline: reading.outline }),
      state,
      reason: where === "" ? reason : `${reason} (${where})`,
      isWhole: false,
    });
  }
}

class Reading {
  readonly #fold: OutlineFold;
  readonly #audit: LogAudit;
  /** The first event of an unknown type, and the first fault of another kind. */
  #unknown: LogFault | undefined;
  #fault: LogFault | undefined;

  constructor(known?: KnownBeginning) {
    this.#fold = new OutlineFold(known?.outline);
    this.#audit = new LogAudit(known && { next: known.end.mark.seq, turns: known.end.turns });
  }

  get outline(): Outline {
    return this.#fold.outline;
  }

  async take(stream: SessionStream, { onEvents, signal }: ReadingOptions): Promise<void> {
    const breather = new Breather();
    for await (const page of stream.pages) {
      let length = 0;
      for (const decoded of page) {
        length += decoded.record.text.length;
        this.#takeRecord(decoded);
      }
      if (!breather.isDue(length)) continue;
      onEvents?.(this.#fold.outline.events);
      await breathe();
      signal?.throwIfAborted();
    }
  }

  /** To be asked when the stream was read to its end. */
  result(stream: SessionStream): Omit<OutlineReading, "revision"> {
    const { outline } = this;
    const torn = stream.torn();
    const known = { outline, isWhole: !torn };
    const fault = this.#fault;
    // As verify has it: damaged unless all that is wrong is of one kind.
    if (fault !== undefined) {
      const { message, expected, found, place } = fault;
      const reason = `${message}: expected ${expected}, found ${found} (${formatPlace(place)})`;
      return { ...known, state: "corrupt", reason };
    }
    const unknown = this.#unknown;
    if (unknown !== undefined) {
      const reason = `The log holds an event of the unknown type ${unknown.found} (seq ${unknown.place.seq})`;
      return torn
        ? { ...known, state: "corrupt", reason: `${reason}, and the ${TORN_END}` }
        : { ...known, state: "unsupported", reason };
    }
    if (torn) return { ...known, state: "torn", reason: `The ${TORN_END}` };
    if (outline.events === 0) return { ...known, state: "empty" };
    const { next, turns } = this.#audit.state;
    const mark = next === outline.events ? stream.mark?.(next) : undefined;
    return {
      ...known,
      state: outline.openTurn === undefined ? "ok" : "interrupted",
      ...(mark === undefined ? {} : { end: { mark, turns } }),
    };
  }

  #takeRecord(decoded: DecodedRecord): void {
    this.#fold.fold(decoded);
    for (const fault of this.#audit.take(decoded, () => ({}))) {
      if (fault.code === "unknown-type") this.#unknown ??= fault;
      else this.#fault ??= fault;
    }
  }
}
