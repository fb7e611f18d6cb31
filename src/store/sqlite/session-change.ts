import type { ReadAccess } from "./access.ts";
import { type ExaminedHeader, examineHeader } from "./examined-header.ts";
import { admitStore, QuietAccess } from "./quiet-access.ts";
import type { RowChange } from "./repair-rows.ts";
import { headerFault, type RepairedHeader, repairHeader } from "./repaired-header.ts";
import { walkRows, wholeRows } from "./row-walk.ts";
import { isTailRow } from "./rows.ts";
import { findCut } from "./session-cut.ts";
import selectSession from "./sql/select-session.sql" with { type: "text" };
import selectSessionsAfter from "./sql/select-sessions-after.sql" with { type: "text" };
import selectTail from "./sql/select-tail.sql" with { type: "text" };

/**
 * What repairs one session of a database that is sound as such; nothing where the session is gone. Reads nothing of other
 * sessions, so that many are repaired in the time of each.
 * @param onProgress told now and then how far it is, as a share from 0 to 1
 */
export async function changeOf(
  path: string,
  number: number,
  onProgress: (share: number) => void,
): Promise<RowChange | undefined> {
  using access = new QuietAccess(path, admitStore);
  const row = access.read((database) => database.query(selectSessionsAfter).get({ from: number, limit: 1 }));
  if (Object(row).number !== number) return undefined;
  const stored = examineHeader(number, row, path);
  const last = lastSeq(access, number);
  const owner = { path, id: stored.id, number };
  const cut = await findCut(owner, wholeRows(walkRows(access, owner), owner), {
    onProgress: (seq) => onProgress(Math.min(1, seq / last)),
  });
  const header = headerFor(access, stored, cut.firstTime);
  const { from, segment, closers } = cut;
  return {
    session: number,
    from,
    ...(segment === undefined ? {} : { segment }),
    closers,
    ...(header === undefined ? {} : { header }),
  };
}

function lastSeq(access: ReadAccess, session: number): number {
  const row = access.read((database) => database.query(selectTail).get({ session }));
  return isTailRow(row) ? Math.max(1, row.seq) : 1;
}

function headerFor(access: ReadAccess, stored: ExaminedHeader, time?: number): RepairedHeader | undefined {
  if (headerFault(stored) === undefined) return undefined;
  return repairHeader(stored, time, (key) => {
    const other = access.read((database) => database.query(selectSession).get({ key }));
    return other !== null && Object(other).number !== stored.number;
  });
}
