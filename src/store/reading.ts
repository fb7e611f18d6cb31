import type { SessionEvent } from "../session/events.ts";
import type { SessionHeader } from "../session/header.ts";
import { type DecodedRecord, recordEvents, type SessionRecord } from "../session/records.ts";
import type { ListRequest, SessionProblem, StoredSummary } from "./backend.ts";
import { assertNext, decodeOwnHeader } from "./cold-read.ts";
import {
  HoldfastError,
  SequenceConflictError,
  StorageFailedError,
  UnsupportedFormatError,
} from "./errors.ts";
import type { SessionSummary } from "./persistence.ts";

/* How what a backend read becomes the answer of `readFrom` and `list`. */

const MAX_LIMIT = 2 ** 31 - 1;

/** Backends get natural numbers that they can count with. */
export function boundedLimit(limit: number): number {
  return Math.max(0, Math.min(Math.floor(limit), MAX_LIMIT));
}

export function boundedPage({ limit, cursor, revisions }: ListRequest): ListRequest {
  return {
    ...(revisions === undefined ? {} : { revisions }),
    ...(limit === undefined ? {} : { limit: boundedLimit(limit) }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

/** @throws SequenceConflictError unless each record follows the one before it */
export function assertContiguous(id: string, records: readonly SessionRecord[]): void {
  let next = records[0]?.seq ?? 0;
  for (const { seq, count } of records) {
    if (seq !== next) throw new SequenceConflictError(id, seq, next);
    next = seq + count;
  }
}

/** At most `limit` events from `fromSeq` on, of records that begin with the one that holds it. @throws CorruptError */
export function eventsFrom(
  id: string,
  decoded: readonly DecodedRecord[],
  fromSeq: number,
  limit: number,
): SessionEvent[] {
  const events: SessionEvent[] = [];
  let next = Math.min(Math.max(0, fromSeq), decoded[0]?.record.seq ?? 0);
  for (const { record } of decoded) {
    if (events.length >= limit) break;
    assertNext(id, record, next);
    next = record.seq + record.count;
    for (const event of recordEvents(record)) {
      if (event.seq >= fromSeq && events.length < limit) events.push(event);
    }
  }
  return events;
}

/** A session as a listing shows it: with its header, or with the reason why there is none. */
export function summarise({ id, headerText, location, problem, revision }: StoredSummary): SessionSummary {
  const known = {
    id,
    ...(location === undefined ? {} : { location }),
    ...(revision === undefined ? {} : { revision }),
  };
  const { header, fault } = tryHeader(id, headerText);
  const found = problem ?? fault;
  return {
    ...known,
    ...(header === undefined ? {} : { header }),
    ...(found === undefined ? {} : { problem: found }),
  };
}

function tryHeader(id: string, text: string): { header?: SessionHeader; fault?: SessionProblem } {
  try {
    return { header: decodeOwnHeader(id, text) };
  } catch (error) {
    if (error instanceof HoldfastError) return { fault: toProblem(error) };
    throw error;
  }
}

/** An error of one session as a listing shows it. */
export function toProblem(error: HoldfastError): SessionProblem {
  if (error instanceof UnsupportedFormatError) return { state: "unsupported", reason: error.message };
  // Nothing is known of what the storage does not give out.
  const isUnreadable = error instanceof StorageFailedError;
  return { state: isUnreadable ? "unreadable" : "corrupt", reason: error.message };
}
