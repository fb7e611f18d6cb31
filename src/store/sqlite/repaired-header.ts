import { newHeader, serialiseHeader } from "../../session/header.ts";
import { type Finding, isError } from "../finding.ts";
import type { ExaminedHeader } from "./examined-header.ts";
import { headerChecksum, sessionKey } from "./keys.ts";

/** A row of `sessions` as it shall be. */
export interface RepairedHeader {
  readonly how: "kept" | "made";
  readonly key: string;
  readonly header: string;
  readonly checksum: number;
}

/** What is wrong with the header and can be repaired. */
export function headerFault({ findings }: ExaminedHeader): Finding | undefined {
  return isOfOtherVersion({ findings }) ? undefined : findings.find(isError);
}

export function isOfOtherVersion({ findings }: Pick<ExaminedHeader, "findings">): boolean {
  return findings.some(({ code }) => code === "unsupported-version");
}

/**
 * The row for a session whose row is not what was written. A header that still is one of this session is kept: which of
 * its characters changed, if any did, nobody can tell. Any other is made anew from what is known.
 * @param time of the first event, in epoch milliseconds
 * @param isTaken whether a key belongs to another session
 */
export function repairHeader(
  { number, id, header, headerText }: ExaminedHeader,
  time = 0,
  isTaken = (_: string) => false,
): RepairedHeader {
  const ownId = isTaken(sessionKey(id)) ? `${id}-${number}` : id;
  const key = sessionKey(ownId);
  if (headerText !== undefined && header?.id === ownId) {
    return { how: "kept", key, header: headerText, checksum: headerChecksum(key, headerText) };
  }
  const made = serialiseHeader(newHeader({ version: 0, id: ownId, createdAt: time }));
  return { how: "made", key, header: made, checksum: headerChecksum(key, made) };
}
