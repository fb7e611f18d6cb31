import type { BigIntStats } from "node:fs";
import type { Revision } from "../backend.ts";

/*
 * The revision of a log: which file it is, how long, and when it was last written. A file that replaces it, or that was
 * changed in place, has another one.
 */

export function formatRevision({
  ino,
  size,
  mtimeNs,
}: Pick<BigIntStats, "ino" | "size" | "mtimeNs">): Revision {
  return `${ino.toString(36)}-${size}-${mtimeNs.toString(36)}`;
}

/** The revision of the first `limit` bytes of a log. Of the whole log once they are all there is. */
export function revisionUpTo(
  { ino, size, mtimeNs }: BigIntStats,
  limit = Number.POSITIVE_INFINITY,
): Revision {
  return formatRevision({ ino, size: Number(size) > limit ? BigInt(limit) : size, mtimeNs });
}

/** Size of the log at a revision, in bytes. */
export function sizeAt(revision: Revision): number {
  return Number(revision.split("-")[1]);
}
