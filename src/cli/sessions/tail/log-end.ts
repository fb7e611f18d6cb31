import type { SessionPersistence } from "../../../store/persistence.ts";

type Reading = Pick<SessionPersistence, "readFrom">;

/** Events that are read at first: few, since each may be large. */
const BLOCK = 16;

/**
 * The number of events that a session has, found by asking whether there is one of a seq: a few dozen small reads,
 * however long the log. Damage that precedes its end may go unnoticed.
 * @throws NotFoundError, CorruptError
 */
export async function countEvents(store: Reading, id: string): Promise<number> {
  const { length } = await store.readFrom(id, 0, { limit: BLOCK });
  return length < BLOCK ? length : await endBehind(store, id, BLOCK - 1);
}

/** The seq that comes next, of a log that has the event `known`. */
async function endBehind(store: Reading, id: string, known: number): Promise<number> {
  const has = async (seq: number) => (await store.readFrom(id, seq, { limit: 1 })).length > 0;
  let low = known;
  let high = known + 1;
  while (await has(high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await has(middle)) low = middle;
    else high = middle;
  }
  return high;
}
