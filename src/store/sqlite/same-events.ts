import { recordTexts } from "../../session/records.ts";
import type { SoundRow } from "./row-walk.ts";

/*
 * A session that was compacted or expanded has the same events in other rows, and pages that are not used any more hold
 * the old ones.
 */

/** Whether two rows hold the same events, as far as they hold the same seqs. */
export function agree(left: SoundRow, right: SoundRow): boolean {
  const [a, b] = [left.decoded.record, right.decoded.record];
  const from = Math.max(a.seq, b.seq);
  const to = Math.min(a.seq + a.count, b.seq + b.count);
  if (from >= to) return true;
  if (a.count === 1 && b.count === 1) return isSameRow(left, right);
  const texts = [a, b].map((record) => recordTexts(record).slice(from - record.seq, to - record.seq));
  return Bun.deepEquals(texts[0], texts[1]);
}

/** The row that holds all that these hold, who have seqs in common; nothing where they contradict each other. */
export function theWhole<Row extends SoundRow>(rows: readonly Row[]): Row | undefined {
  const [first, ...others] = rows.toSorted((a, b) => b.decoded.record.count - a.decoded.record.count);
  if (first === undefined) return undefined;
  const { seq, count } = first.decoded.record;
  const isPart = ({ decoded: { record } }: Row) =>
    record.seq >= seq && record.seq + record.count <= seq + count;
  return others.every((other) => isPart(other) && agree(first, other)) ? first : undefined;
}

/** The rows of deltas that are quoted may differ. */
function isSameRow(left: SoundRow, right: SoundRow): boolean {
  if (left.row.body !== right.row.body) return false;
  if (left.row.sources === right.row.sources) return true;
  const [a, b] = [left, right].map(({ sources }) => ({
    cited: sources?.cited,
    quoted: sources?.quoted?.map(({ at, deltas }) => ({ at, deltas })),
  }));
  return Bun.deepEquals(a, b);
}
