import type { SessionHeader } from "../session/header.ts";
import { serialiseHeader } from "../session/header.ts";
import type { LogView } from "../session/log-view.ts";
import { encodeDraft, packBatch, type SessionRecord } from "../session/records.ts";
import { batches } from "./copy.ts";
import type { SessionPersistence } from "./persistence.ts";

/** Text of the largest seed that is one commit, in UTF-16 units. */
const ONE_COMMIT = 4 * 1024 * 1024;
/** Records that are looked at before others have their turn. */
const PAGE = 1_000;

/**
 * Stores a new session that begins with the first `length` events of another one, texts unchanged, and then the mark of
 * the seed's end. `length` must not fall inside a record. A seed of at most 4 Mi characters is one commit; a longer one is
 * stored in batches as a copy is, in bounded memory, and a crash leaves its beginning without the mark.
 * What fails leaves nothing. @throws SequenceConflictError where there is such a session, or as the store does
 */
export async function storeSeed(
  store: SessionPersistence,
  header: SessionHeader,
  parent: LogView,
  length: number,
  now: number,
): Promise<void> {
  const headerText = serialiseHeader(header);
  const seed = [...firstRecords(parent, length)];
  const isWhole = (seed.at(-1)?.seq ?? 0) + (seed.at(-1)?.count ?? 0) >= length;
  if (isWhole) {
    await store.importRecords(headerText, [...seed, endOfSeed(length, seed.at(-1)?.time ?? now)]);
    return;
  }
  let isBegun = false;
  let time = now;
  try {
    for await (const batch of batches(pagesOf(parent, length), 0, length)) {
      await store.importRecords(headerText, batch);
      isBegun = true;
      time = batch.at(-1)?.time ?? time;
    }
    await store.importRecords(headerText, [endOfSeed(length, time)]);
  } catch (error) {
    // What went wrong before counts. A beginning that cannot be taken back is listed as a session.
    if (isBegun) await store.delete(header.id).catch(() => undefined);
    throw error;
  }
}

/** The records of a seed, or the beginning of one that is too long for one commit. */
function* firstRecords(parent: LogView, length: number): Generator<SessionRecord> {
  let size = 0;
  for (const { seq, count, type, time, text } of parent.records(0, length)) {
    size += text.length;
    if (size > ONE_COMMIT) return;
    yield { seq, count, type, time, text };
  }
}

async function* pagesOf(parent: LogView, length: number) {
  let page: Array<{ readonly record: SessionRecord }> = [];
  for (const record of parent.records(0, length)) {
    page.push({ record });
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  yield page;
}

function endOfSeed(seq: number, time: number): SessionRecord {
  const [record] = packBatch([encodeDraft({ type: "session/end-seed", data: {} }, seq, time)]);
  if (record === undefined) throw new RangeError("an event makes a record");
  return record;
}
