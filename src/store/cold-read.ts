import { encodeEvent, packBatch } from "../session/encoding.ts";
import type { Place } from "../session/errors.ts";
import type { SessionEvent } from "../session/events.ts";
import { decodeHeader, type SessionHeader } from "../session/header.ts";
import { LogView } from "../session/log-view.ts";
import { SessionProjections } from "../session/projections/index.ts";
import type { Surface } from "../session/projections/surface.ts";
import type { DecodedRecord, SessionRecord } from "../session/records.ts";
import { closeInterruptedTurn } from "../session/recovery.ts";
import type { Revision, StoredSession, TornMarker } from "./backend.ts";
import { CorruptError, UnsupportedFormatError } from "./errors.ts";
import type { SessionSnapshot, SessionStream, StreamOptions } from "./persistence.ts";

/** A stored session read once, from its first record to its last, checked and folded on the way. */
export interface ColdSession {
  readonly header: SessionHeader;
  /** What is stored. */
  readonly records: readonly SessionRecord[];
  /** Seq after the stored records. */
  readonly storedSeq: number;
  /** What closes an interrupted Turn; not stored. */
  readonly closers: readonly SessionEvent[];
  readonly closerRecords: readonly SessionRecord[];
  /** The surface of what is stored. */
  readonly storedSurface: Surface;
  /** Of the closed view: records, then closers. */
  readonly projections: SessionProjections;
  readonly revision: Revision;
  readonly torn: TornMarker | undefined;
  readonly unknownTypes: ReadonlyArray<{ readonly type: string; readonly seq: number }>;
}

/**
 * Reads a whole session. One parse a record: it checks the record, its place in the order and its surface operation,
 * and feeds the projections; afterwards only the text is kept.
 * @throws CorruptError, UnsupportedFormatError
 */
export async function readCold(
  id: string,
  stored: StoredSession,
  signal?: AbortSignal,
): Promise<ColdSession> {
  const header = decodeOwnHeader(id, stored.headerText);
  const records: SessionRecord[] = [];
  const projections = new SessionProjections();
  const unknown = new Map<string, number>();
  for await (const page of stored.pages) {
    signal?.throwIfAborted();
    for (const decoded of page) {
      foldRecord(id, projections, decoded);
      const { record } = decoded;
      records.push(stored.keep?.(record) ?? record);
      if (decoded.unknownType && !unknown.has(record.type)) unknown.set(record.type, record.seq);
    }
  }
  const storedSeq = projections.seen;
  const closers = closeInterruptedTurn(projections.openWork, storedSeq);
  const storedSurface = projections.surface.clone();
  const closerRecords = packBatch(closers.map(encodeEvent));
  projections.catchUp(new LogView([...records, ...closerRecords]));
  return {
    header,
    records,
    storedSeq,
    storedSurface,
    closers,
    closerRecords,
    projections,
    revision: stored.revision,
    torn: stored.torn(),
    unknownTypes: [...unknown].map(([type, seq]) => ({ type, seq })),
  };
}

/** The stored header of this session. @throws CorruptError, UnsupportedFormatError */
export function decodeOwnHeader(id: string, text: string): SessionHeader {
  const header = decodeHeader(text, { sessionId: id });
  if (header.id === id) return header;
  throw new CorruptError("The stored session header belongs to another session", {
    expected: `the id ${JSON.stringify(id)}`,
    found: JSON.stringify(header.id),
    place: { sessionId: id },
  });
}

/** @throws CorruptError unless the record follows the one before it. */
export function assertNext(id: string, { seq }: SessionRecord, next: number, place: Place = {}): void {
  if (seq === next) return;
  throw new CorruptError(seq > next ? "Events are missing" : "An event stands twice in the log", {
    expected: `seq ${next}`,
    found: `seq ${seq}`,
    place: { ...place, sessionId: id, seq: next },
  });
}

/**
 * What is stored, checked as it is read: each record alone, in its place, and on the surface. From another seq than 0 on
 * the surface is not known.
 */
export function streamStored(
  id: string,
  stored: StoredSession,
  { signal, fromSeq = 0, marks }: StreamOptions,
): SessionStream {
  const { isContinued = false } = stored;
  const begin = isContinued ? marks?.since?.seq : undefined;
  return {
    header: decodeOwnHeader(id, stored.headerText),
    headerText: stored.headerText,
    revision: stored.revision,
    pages:
      begin !== undefined || fromSeq > 0
        ? pagesFrom(id, stored, begin ?? fromSeq, signal, begin)
        : checkedPages(id, stored, signal),
    torn: () => stored.torn() !== undefined,
    isContinued,
    mark: (seq) => stored.mark?.(seq),
  };
}

async function* checkedPages(
  id: string,
  stored: StoredSession,
  signal?: AbortSignal,
): AsyncGenerator<readonly DecodedRecord[]> {
  const projections = new SessionProjections();
  for await (const page of stored.pages) {
    signal?.throwIfAborted();
    let good = 0;
    try {
      for (const decoded of page) {
        foldRecord(id, projections, decoded);
        good += 1;
      }
    } catch (error) {
      yield page.slice(0, good);
      throw error;
    }
    yield page;
  }
}

/** @param begin seq of the first event of the first record, where that is known */
async function* pagesFrom(
  id: string,
  stored: StoredSession,
  fromSeq: number,
  signal?: AbortSignal,
  begin?: number,
): AsyncGenerator<readonly DecodedRecord[]> {
  let next = begin;
  for await (const page of stored.pages) {
    signal?.throwIfAborted();
    const wanted: DecodedRecord[] = [];
    try {
      for (const decoded of page) {
        const { seq, count } = decoded.record;
        assertNext(id, decoded.record, next ?? Math.min(seq, fromSeq));
        next = seq + count;
        if (next > fromSeq) wanted.push(decoded);
      }
    } catch (error) {
      if (wanted.length > 0) yield wanted;
      throw error;
    }
    if (wanted.length > 0) yield wanted;
  }
}

function foldRecord(id: string, projections: SessionProjections, decoded: DecodedRecord): void {
  const { record } = decoded;
  assertNext(id, record, projections.seen);
  const fault = projections.foldDecoded(decoded);
  if (fault === undefined) return;
  throw new CorruptError("A message does not fit the surface of the log", {
    expected: "a surface operation on what is there",
    found: fault,
    place: { sessionId: id, seq: record.seq, eventType: record.type },
  });
}

/** @throws UnsupportedFormatError when the log holds types that this program must not resume over. */
export function assertKnownTypes(id: string, cold: Pick<ColdSession, "unknownTypes">): void {
  const [first] = cold.unknownTypes;
  if (first === undefined) return;
  throw new UnsupportedFormatError(
    `The log holds an event of the unknown type ${JSON.stringify(first.type)}`,
    {
      place: { sessionId: id, seq: first.seq, eventType: first.type },
      hint: "It was written by another program or a newer version. Use that one to go on; inspecting still works.",
    },
  );
}

/** The closed view of a cold session, independent of what becomes of the session later. */
export function toSnapshot(cold: ColdSession): SessionSnapshot {
  return {
    header: cold.header,
    log: new LogView([...cold.records, ...cold.closerRecords]),
    projections: cold.projections.clone(),
    closers: cold.closers,
    revision: cold.revision,
    torn: cold.torn !== undefined,
    unknownTypes: cold.unknownTypes,
  };
}
