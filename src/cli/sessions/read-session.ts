import { isMessageType, type SessionEvent } from "../../session/events.ts";
import type { SessionHeader } from "../../session/header.ts";
import { LogView } from "../../session/log-view.ts";
import { SessionProjections, type TranscriptEntry } from "../../session/projections/index.ts";
import type { UsageTotals } from "../../session/projections/usage.ts";
import type { DecodedRecord, SessionRecord } from "../../session/records.ts";
import { closeInterruptedTurn } from "../../session/recovery.ts";
import { LogDigest } from "../../store/digest.ts";
import { HoldfastError } from "../../store/errors.ts";
import type { SessionStream } from "../../store/persistence.ts";

/** What a stored session holds, as far as it can be read. */
export interface SessionReading {
  readonly header: SessionHeader;
  /** Events that were read. */
  readonly events: number;
  readonly digest: string;
  readonly torn: boolean;
  readonly unknownTypes: ReadonlyArray<{ readonly type: string; readonly seq: number }>;
  /** What would close the last Turn, if it is open. None of a damaged session, whose end nobody knows. */
  readonly closers: readonly SessionEvent[];
  readonly usage: UsageTotals;
  /** Why not all of it was read. */
  readonly damage?: HoldfastError;
  readonly transcript: Iterable<TranscriptEntry>;
}

/**
 * Reads a session from its first record to its last, or to its damage. Only what a transcript shows is kept, and as
 * text: nine of ten events are deltas, whose text stands in a message again.
 */
export async function readSession(stream: SessionStream): Promise<SessionReading> {
  const projections = new SessionProjections();
  const digest = new LogDigest();
  const unknown = new Map<string, number>();
  const kept: SessionRecord[] = [];
  let damage: HoldfastError | undefined;
  try {
    for await (const page of stream.pages) {
      for (const decoded of page) {
        const { record, unknownType } = decoded;
        digest.add(record);
        projections.foldDecoded(decoded);
        if (isShown(decoded)) kept.push(record);
        if (unknownType && !unknown.has(record.type)) unknown.set(record.type, record.seq);
      }
    }
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    damage = error;
  }
  const { openWork, usage, seen } = projections;
  return {
    header: stream.header,
    events: digest.events,
    digest: digest.hex(),
    torn: stream.torn(),
    unknownTypes: [...unknown].map(([type, seq]) => ({ type, seq })),
    closers: damage === undefined ? closeInterruptedTurn(openWork, seen) : [],
    usage: usage.total,
    ...(damage === undefined ? {} : { damage }),
    // A view finds what it has by seq, so that the records between may be missing.
    transcript: projections.transcript(new LogView(kept)),
  };
}

function isShown({ event }: DecodedRecord): boolean {
  return event !== undefined && (isMessageType(event.type) || event.type === "turn/end");
}
