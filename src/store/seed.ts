import { encodeDraft, packBatch } from "../session/encoding.ts";
import type { SessionHeader } from "../session/header.ts";
import { serialiseHeader } from "../session/header.ts";
import type { DecodedRecord, SessionRecord } from "../session/records.ts";
import { batches } from "./copy.ts";
import type { SessionPersistence } from "./persistence.ts";

/** Text of the largest seed that is one commit, in UTF-16 units. */
const ONE_COMMIT = 4 * 1024 * 1024;
/**
 * Stores a new session that begins with the first `length` events of another one, texts unchanged, and then the mark of
 * the seed's end. `length` must not fall inside a record. A seed of at most 4 Mi characters is one commit; a longer one is
 * stored in batches as a copy is, in bounded memory, and a crash leaves its beginning without the mark.
 * What fails leaves nothing. @throws SequenceConflictError where there is such a session, or as the store does
 */
export async function storeSeed(
  store: SessionPersistence,
  header: SessionHeader,
  parent: AsyncIterable<ReadonlyArray<Pick<DecodedRecord, "record">>>,
  length: number,
  now: number,
): Promise<void> {
  const headerText = serialiseHeader(header);
  let isBegun = false;
  const commit = async (records: readonly SessionRecord[]) => {
    await store.importRecords(headerText, records);
    isBegun = true;
  };
  /** Batches that may still become one commit. */
  let held: SessionRecord[][] | undefined = [];
  let size = 0;
  let time = now;
  try {
    for await (const batch of batches(parent, 0, length)) {
      time = batch.at(-1)?.time ?? time;
      if (held === undefined) {
        await commit(batch);
        continue;
      }
      held.push(batch);
      for (const { text } of batch) size += text.length;
      if (size <= ONE_COMMIT) continue;
      for (const each of held) await commit(each);
      held = undefined;
    }
    await commit([...(held ?? []).flat(), endOfSeed(length, time)]);
  } catch (error) {
    // What went wrong before counts. A beginning that cannot be taken back is listed as a session.
    if (isBegun) await store.delete(header.id).catch(() => undefined);
    throw error;
  }
}

function endOfSeed(seq: number, time: number): SessionRecord {
  const [record] = packBatch([encodeDraft({ type: "session/end-seed", data: {} }, seq, time)]);
  if (record === undefined) throw new RangeError("an event makes a record");
  return record;
}
