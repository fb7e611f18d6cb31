import { encodeDraft, encodeEvent, packBatch } from "../session/encoding.ts";
import type { EventDraft } from "../session/events.ts";
import { OpenWork } from "../session/projections/open-work.ts";
import { closeInterruptedTurn } from "../session/recovery.ts";
import { assertKnownTypes } from "./cold-read.ts";
import type { SessionPersistence } from "./persistence.ts";

export interface ClosedAppend {
  /** Seq of the event that was appended. */
  readonly seq: number;
  /** Events before it that close an interrupted Turn. */
  readonly closers: number;
  /** Whether the end of the log was damaged or never fully written; that piece was set aside. */
  readonly torn: boolean;
}

/**
 * Appends one event, which is no message, to a stored session that is not open, as it would be after the session is
 * resumed: an interrupted Turn is closed before it and a torn end set aside, in one commit. The session is read through once
 * or, where it is torn, twice, and never held as a whole.
 * @throws NotFoundError, SessionOpenError, CorruptError, UnsupportedFormatError
 */
export async function appendClosed(
  store: SessionPersistence,
  id: string,
  draft: EventDraft,
  now: number,
): Promise<ClosedAppend> {
  const stream = await store.stream(id);
  const work = new OpenWork();
  let next = 0;
  for await (const page of stream.pages) {
    for (const { record, event, unknownType } of page) {
      if (unknownType) assertKnownTypes(id, { unknownTypes: [record] });
      if (event === undefined) work.pass(record);
      else work.fold(event);
      next = record.seq + record.count;
    }
  }
  const closers = closeInterruptedTurn(work, next);
  const seq = next + closers.length;
  const torn = stream.torn();
  const records = packBatch([...closers.map(encodeEvent), encodeDraft(draft, seq, now)]);
  await store.importRecords(stream.headerText, records, { setTornAside: torn });
  return { seq, closers: closers.length, torn };
}
