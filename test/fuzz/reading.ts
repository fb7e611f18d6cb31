import type { DecodedRecord } from "../../src/session/records.ts";
import { LogDigest } from "../../src/store/digest.ts";
import type { HoldfastError } from "../../src/store/errors.ts";
import type { SessionPersistence, SessionSummary } from "../../src/store/persistence.ts";
import { need, typed } from "./fault.ts";
import type { OriginalRecord } from "./types.ts";

/** What an ordinary reader gets of one session. */
export interface Reading {
  readonly id: string;
  /** Absent where not even the header could be read. */
  readonly headerText?: string;
  readonly records: readonly OriginalRecord[];
  readonly torn: boolean;
  /** Why it was not read to its end. */
  readonly error?: HoldfastError;
  readonly unknownTypes: boolean;
  /** Number of events, and their digest. */
  readonly events: number;
  readonly digest: string;
}

/** Whether all of it was read, with nothing to complain about. */
export function isClean({ error, torn }: Reading): boolean {
  return error === undefined && !torn;
}

/** All sessions that a store lists, page by page. */
export async function listAll(store: SessionPersistence, limit = 2): Promise<SessionSummary[]> {
  const all: SessionSummary[] = [];
  let cursor: string | undefined;
  for (let page = 0; ; page += 1) {
    need(page < 100, "a listing ends", () => `more than ${page} pages of ${limit}`);
    const found = await store.list({ limit, ...(cursor === undefined ? {} : { cursor }) });
    all.push(...found.items);
    if (found.nextCursor === undefined) return all;
    cursor = found.nextCursor;
  }
}

/** Reads a session from its first record to its last, or to its first fault. */
export async function readSession(store: SessionPersistence, id: string): Promise<Reading> {
  const records: OriginalRecord[] = [];
  const digest = new LogDigest();
  let unknownTypes = false;
  let torn = false;
  let headerText: string | undefined;
  const outcome = await typed(`reading ${JSON.stringify(id)}`, async () => {
    const stream = await store.stream(id);
    headerText = stream.headerText;
    for await (const page of stream.pages) for (const decoded of page) take(decoded);
    torn = stream.torn();
  });
  function take({ record, unknownType }: DecodedRecord): void {
    const { seq, count, text } = record;
    need(seq === digest.events, "no seq is left out", () => `${id}: seq ${seq} follows ${digest.events - 1}`);
    records.push({ seq, count, text });
    digest.add(record);
    unknownTypes ||= unknownType;
  }
  return {
    id,
    ...(headerText === undefined ? {} : { headerText }),
    records,
    torn,
    ...("error" in outcome ? { error: outcome.error } : {}),
    unknownTypes,
    events: digest.events,
    digest: digest.hex(),
  };
}
