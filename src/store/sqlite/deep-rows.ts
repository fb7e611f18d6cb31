import type { ReadAccess } from "./access.ts";
import { MAX_EVENTS } from "./keys.ts";
import type { PageScan } from "./page-scan.ts";
import { type SoundRow, type Walked, walkRows } from "./row-walk.ts";
import type { Owner, RecordRow } from "./rows.ts";
import { agree } from "./same-events.ts";

/**
 * The rows of one session: those that the table leads to, and where they leave a gap or end, those that lie in other
 * pages. What the table leads to is what was stored last, so that nothing that contradicts it counts.
 */
export function* deepRows(access: ReadAccess, owner: Owner, scan: PageScan): Generator<Walked> {
  const branch = new LostBranch(scan.lostRows(owner));
  let next = 0;
  for (const walked of walkRows(access, owner)) {
    if (walked.kind === "damage") {
      yield walked;
      continue;
    }
    let rows: SoundRow[] = [];
    for (const sound of walked.rows) {
      branch.meet(sound);
      const { seq, count } = sound.row;
      if (seq > next) {
        if (rows.length > 0) yield { kind: "rows", rows };
        rows = [];
        yield* fill(scan, owner, branch, next, seq);
      }
      rows.push(sound);
      next = Math.max(next, seq + count);
    }
    if (rows.length > 0) yield { kind: "rows", rows };
  }
  yield* fill(scan, owner, branch, next, MAX_EVENTS);
}

function* fill(
  scan: PageScan,
  owner: Owner,
  branch: LostBranch,
  from: number,
  to: number,
): Generator<Walked> {
  for (const rows of scan.rows(owner, from, to, ({ row }) => branch.isOurs(row)))
    yield { kind: "rows", rows };
}

/**
 * The rows of a session that were lost with the end of a write-ahead log. Where the session went on without them they
 * are another branch of its log, from the first row that differs.
 */
class LostBranch {
  readonly #rows: readonly SoundRow[];
  #at = 0;
  #end = Number.POSITIVE_INFINITY;

  constructor(rows: readonly SoundRow[]) {
    this.#rows = rows;
  }

  /** Compares with a row that the table leads to; they come in order. */
  meet(sound: SoundRow): void {
    const { seq, count } = sound.row;
    for (let lost = this.#rows[this.#at]; lost !== undefined; lost = this.#rows[this.#at]) {
      const { row } = lost;
      if (row.seq >= seq + count) return;
      if (!agree(lost, sound)) this.#end = Math.min(this.#end, row.seq);
      if (row.seq + row.count > seq + count) return;
      this.#at += 1;
    }
  }

  isOurs({ seq }: RecordRow): boolean {
    return seq < this.#end;
  }
}
