import { type EncodedEvent, packBatch } from "../../src/session/encoding.ts";
import type { SessionHeader } from "../../src/session/header.ts";
import { recordEvents, type SessionRecord } from "../../src/session/records.ts";
import { isRunType } from "../../src/session/runs.ts";
import { openJsonl } from "../../src/store/jsonl/index.ts";
import type { SessionPersistence, SessionSnapshot } from "../../src/store/persistence.ts";
import { encodeRecord } from "../fixtures/encode-record.ts";
import { sha256 } from "../fixtures/sha256.ts";
import type { Encoding } from "./dsh.ts";
import { blanked, type Reading } from "./samples.ts";

/** Opens a session root with Holdfast. Its clock stands still: what it writes follows from what it is given. */
export function openRoot(root: string, encoding: Encoding): Promise<SessionPersistence> {
  return openJsonl({ root, encoding, thread: "process", clock: () => 1_700_000_000_000, chunkWindowMs: 0 });
}

/** A session as Holdfast read it, ready to be written again. */
export interface StoredLog {
  readonly header: SessionHeader;
  readonly headerText: string;
  readonly events: readonly EncodedEvent[];
  /** Whether it has shapes of older logs. Those are only copied: Holdfast refuses to write them anew. */
  readonly isOlder: boolean;
}

export async function readLog(store: SessionPersistence, id: string): Promise<StoredLog> {
  const stream = await store.stream(id);
  const records: SessionRecord[] = [];
  for await (const page of stream.pages) records.push(...page.map(({ record }) => record));
  const { header, headerText } = stream;
  return { header, headerText, events: records.flatMap(encodeRecord), isOlder: records.some(isModernised) };
}

function isModernised(record: SessionRecord): boolean {
  return !isRunType(record.type) && JSON.stringify(recordEvents(record)[0]) !== record.text;
}

/** Writes a log, one durable batch after the other. */
export async function writeLog(
  store: SessionPersistence,
  { header, headerText, isOlder }: StoredLog,
  batches: ReadonlyArray<readonly EncodedEvent[]>,
): Promise<void> {
  if (isOlder) {
    for (const batch of batches) await store.importRecords(headerText, packBatch(batch));
    return;
  }
  await using session = await store.create(header);
  for (const batch of batches) {
    await store.append(
      session.id,
      batch.map(({ event }) => event),
    );
  }
}

/** What Holdfast reads, in the form of dsh's answers. */
export function readingOf({ header, log, closers, projections }: SessionSnapshot): Reading {
  const stored = log.slice(0, log.length - closers.length);
  const messages = projections.messages(log, header.id);
  return {
    header,
    events: stored.length,
    eventsSha256: sha256(stored.map((event) => JSON.stringify(event)).join("\n")),
    closers: blanked(closers),
    messages: messages.length,
    messagesSha256: sha256(JSON.stringify(messages)),
  };
}

/** What Holdfast reads from sessions before and after it closed Turns that were open and repaired what was torn. */
export async function recover(
  root: string,
  encoding: Encoding,
  ids: readonly string[],
): Promise<ReadonlyArray<{ readonly before: Reading; readonly after: Reading }>> {
  await using store = await openRoot(root, encoding);
  const readings = [];
  for (const id of ids) {
    const before = readingOf(await store.inspect(id));
    readings.push({ before, after: readingOf(await store.load(id)) });
  }
  return readings;
}
