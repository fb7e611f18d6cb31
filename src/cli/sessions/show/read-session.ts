import type { SessionEvent } from "../../../session/events.ts";
import { isPiece } from "../../../session/projections/cut-off.ts";
import { OpenWork } from "../../../session/projections/open-work.ts";
import { UsageProjection, type UsageTotals } from "../../../session/projections/usage.ts";
import { type DecodedRecord, decodeRecord, parseEvent, recordTexts } from "../../../session/records.ts";
import { closeInterruptedTurn } from "../../../session/recovery.ts";
import type { SessionStream } from "../../../store/persistence.ts";

/** The events that are wanted, the last one included. */
export interface SeqRange {
  readonly from: number;
  /** The last event of the log when absent. */
  readonly to?: number;
}

/** The records of a stream that hold the events of a range, and no others. @throws as the stream does */
export async function* pagesIn(
  { pages }: Pick<SessionStream, "pages">,
  { from, to = Number.MAX_SAFE_INTEGER }: SeqRange,
): AsyncGenerator<readonly DecodedRecord[]> {
  for await (const page of pages) {
    const last = page.at(-1)?.record;
    const isInside =
      (page[0]?.record.seq ?? from) >= from && (last === undefined || last.seq + last.count - 1 <= to);
    yield isInside ? page : page.flatMap((decoded) => partIn(decoded, from, to));
    if (last !== undefined && last.seq + last.count > to) return;
  }
}

/** A record of events of a range; one that holds other events as well is taken apart. */
export function partIn(decoded: DecodedRecord, from: number, to: number): readonly DecodedRecord[] {
  const { seq, count } = decoded.record;
  const end = seq + count - 1;
  if (end < from || seq > to) return [];
  if (seq >= from && end <= to) return [decoded];
  return recordTexts(decoded.record)
    .slice(Math.max(0, from - seq), to - seq + 1)
    .map((text) => decodeRecord(text, {}));
}

/**
 * The event of a record as a person is to see it; nothing of one that only holds pieces of an answer. A store may keep the
 * text of an answer once, in its pieces: what was decoded for checks is without it.
 */
export function shownEvent({ record, event }: DecodedRecord): SessionEvent | undefined {
  if (event === undefined || isPiece(record)) return undefined;
  return record.type === "assistant/message" ? parseEvent(record) : event;
}

/** What is told of a session beside its transcript. Memory does not follow the log. */
export class SessionFacts {
  readonly #openWork = new OpenWork();
  readonly #usage = new UsageProjection();
  readonly #unknown = new Map<string, number>();
  /** Seq behind the last event that was read. */
  next: number;
  /** Events that were read. */
  events = 0;

  /** @param from seq of the first event */
  constructor(from: number) {
    this.next = from;
  }

  get usage(): UsageTotals {
    return this.#usage.total;
  }

  /** Types that nobody here knows, each with its first seq. */
  get unknownTypes(): ReadonlyArray<{ readonly type: string; readonly seq: number }> {
    return Array.from(this.#unknown, ([type, seq]) => ({ type, seq }));
  }

  /** What would close the last Turn, if it is open. */
  get closers(): readonly SessionEvent[] {
    return closeInterruptedTurn(this.#openWork, this.next);
  }

  take({ record, event, unknownType }: DecodedRecord): void {
    const { seq, count, type } = record;
    this.next = seq + count;
    this.events += count;
    if (unknownType && !this.#unknown.has(type)) this.#unknown.set(type, seq);
    if (event === undefined) this.#openWork.pass(record);
    else {
      this.#openWork.fold(event);
      this.#usage.fold(event);
    }
  }
}
