import type { SessionRecord } from "../../session/records.ts";

/** A tail that was never fully written: what repair cuts off, and what it writes again. Crosses to the storage thread. */
export interface TornTail {
  /** Where it begins. */
  readonly offset: number;
  /** Size of the file that it was seen in. */
  readonly size: number;
  /** Records of whole lines that it still yields. */
  readonly recovered: readonly SessionRecord[];
}

/**
 * What the reading side found, back from the coordinator, to which it is opaque, and across the thread boundary.
 * @throws TypeError when it is something else
 */
export function parseTornTail(torn: unknown): TornTail | undefined {
  if (torn === undefined || isTornTail(torn)) return torn;
  throw new TypeError("a repair got a torn marker of another backend");
}

function isTornTail(value: unknown): value is TornTail {
  if (typeof value !== "object" || value === null) return false;
  if (!("offset" in value && "size" in value && "recovered" in value)) return false;
  const { offset, size, recovered } = value;
  return Number.isSafeInteger(offset) && Number.isSafeInteger(size) && Array.isArray(recovered);
}
