import type { LostEvents, StoreLoss } from "../repairer.ts";
import type { LostPages, LostRows, RowId } from "./lost-pages.ts";
import type { SessionCut } from "./session-cut.ts";

/* Of which sessions events are gone: those that are found of each, against what the pages say of the others. */

/** A session, and what was found of it. */
export interface FoundSession {
  readonly id: string;
  readonly number: number;
  readonly cut: SessionCut;
}

/**
 * @param known the sessions of the store, as far as anything was found of them
 * @param others numbers of those that were deleted, perhaps
 */
export function lossOf(
  pages: LostPages,
  known: readonly FoundSession[],
  others: readonly number[],
): StoreLoss {
  const { cutOff, records, sessions } = pages;
  const gone = new GoneRows(records ?? []);
  const last = known.reduce((most, { number }) => Math.max(most, number), 0);
  const lost = known.flatMap((session): LostEvents[] => {
    const { cut, number } = session;
    // SQLite reads nothing of a file that is too short, so that what it cannot read says nothing of one session.
    const isUntold = cutOff === undefined ? cut.isOpenEnded : records === undefined;
    return lostOf(gone, session, { isUntold, isLast: number === last });
  });
  const found = new Set([...known.map(({ number }) => number), ...others]);
  const nameless = cutOff === undefined ? [] : namelessIn(gone, sessions, found);
  if (cutOff === undefined) return { sessions: lost };
  const unnamed = countUnnamed(pages, found) - nameless.length;
  return {
    pages: cutOff,
    sessions: [...lost, ...nameless],
    ...(unnamed > 0 ? { unnamed } : {}),
  };
}

/** How many numbers of sessions may have been in rows that are gone, but for those that are known. */
function countUnnamed({ sessions, lastNumber = 0 }: LostPages, found: ReadonlySet<number>): number {
  const stretches = sessions ?? [{}];
  const sizes = stretches.map(({ after, to }) => {
    const last = Math.min(to?.low ?? lastNumber, lastNumber);
    return Math.max(0, last - Math.max(0, after?.low ?? 0));
  });
  const known = [...found].filter((number) => number <= lastNumber && isLostIn(sessions, number));
  return sizes.reduce((sum, size) => sum + size, 0) - known.length;
}

function lostOf(
  gone: GoneRows,
  { id, number, cut }: FoundSession,
  { isUntold, isLast }: { readonly isUntold: boolean; readonly isLast: boolean },
): LostEvents[] {
  const { end } = cut;
  const left = cut.events + cut.cut.events;
  const reaching = gone.from(number, end);
  const had = Math.max(end, (gone.lastSeqs.get(number) ?? -1) + 1);
  if (reaching.length === 0 && !isUntold && left >= had) return [];
  // What lay in the last page of all was of the last session.
  const isEndGone = isLast && reaching.some(({ to }) => to === undefined);
  const isCertain = left < had || isEndGone || end === 0;
  return [{ id, left, ...(had > left ? { had } : {}), isCertain }];
}

/** Rows that cannot be reached, those side by side together. */
class GoneRows {
  /** The highest seq of each session that a page names which leads to them, or to what precedes them. */
  readonly lastSeqs = new Map<number, number>();
  readonly #stretches: LostRows[] = [];

  constructor(rows: readonly LostRows[]) {
    for (const { after, to } of rows) {
      for (const id of [after, to]) if (id !== undefined) this.#name(id);
      const previous = this.#stretches.at(-1);
      const isNext =
        after !== undefined && previous?.to?.high === after.high && previous.to.low === after.low;
      if (isNext) this.#stretches.pop();
      const from = isNext ? previous?.after : after;
      this.#stretches.push({
        ...(from === undefined ? {} : { after: from }),
        ...(to === undefined ? {} : { to }),
      });
    }
  }

  /** Those among which rows of a session from seq `end` on may be. */
  from(number: number, end: number): readonly LostRows[] {
    return this.#stretches.filter(({ after, to }) => {
      if (after !== undefined && after.high > number) return false;
      if (to === undefined) return true;
      return to.high === number ? to.low >= end : to.high > number;
    });
  }

  #name({ high, low }: RowId): void {
    this.lastSeqs.set(high, Math.max(low, this.lastSeqs.get(high) ?? 0));
  }
}

/** Sessions of which there is neither a row nor a header, but a word in a page that leads to what is gone. */
function namelessIn(
  { lastSeqs }: GoneRows,
  sessions: readonly LostRows[] | undefined,
  found: ReadonlySet<number>,
): LostEvents[] {
  const numbers = [...lastSeqs].filter(
    ([number]) => number > 0 && !found.has(number) && isLostIn(sessions, number),
  );
  return numbers.map(([number, seq]) => ({
    id: `session-${number}`,
    left: 0,
    had: seq + 1,
    isCertain: true,
  }));
}

/** Whether the row of a session may be among those of its table that are gone. */
function isLostIn(sessions: readonly LostRows[] | undefined, number: number): boolean {
  return (
    sessions?.some(({ after, to }) => number > (after?.low ?? 0) && number <= (to?.low ?? number)) ?? true
  );
}
