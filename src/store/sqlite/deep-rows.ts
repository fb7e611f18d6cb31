import type { ReadAccess } from "./access.ts";
import { MAX_EVENTS } from "./keys.ts";
import { isSame, type PageScan } from "./page-scan.ts";
import { type Owner, type SoundRow, type Walked, walkRows } from "./row-walk.ts";
import type { RecordRow } from "./rows.ts";

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
      branch.meet(sound.row);
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
  readonly #rows: readonly RecordRow[];
  #at = 0;
  #end = Number.POSITIVE_INFINITY;

  constructor(rows: readonly RecordRow[]) {
    this.#rows = rows;
  }

  /** Compares with a row that the table leads to; they come in order. */
  meet(row: RecordRow): void {
    for (let lost = this.#rows[this.#at]; lost !== undefined; lost = this.#rows[this.#at]) {
      if (lost.seq >= row.seq + row.count) return;
      if (lost.seq + lost.count > row.seq && !isSame(lost, row)) this.#end = Math.min(this.#end, lost.seq);
      this.#at += 1;
    }
  }

  isOurs({ seq }: RecordRow): boolean {
    return seq < this.#end;
  }
}
