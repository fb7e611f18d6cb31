import type { BigIntStats } from "node:fs";
import type { Revision } from "../backend.ts";

/*
 * The revision of a log: which file it is, how long, and when it was last written. A file that replaces it, or that was
 * changed in place, has another one.
 */

export function formatRevision({ ino, size, mtimeNs }: BigIntStats): Revision {
  return `${ino.toString(36)}-${size}-${mtimeNs.toString(36)}`;
}

/** Size of the log at a revision, in bytes. */
export function sizeAt(revision: Revision): number {
  return Number(revision.split("-")[1]);
}
