import { LogAudit } from "../../session/audit/index.ts";
import { encodeEvent, packBatch } from "../../session/encoding.ts";
import { OpenWork } from "../../session/projections/open-work.ts";
import type { SessionRecord } from "../../session/records.ts";
import { closeInterruptedTurn } from "../../session/recovery.ts";
import { type Finding, isError } from "../finding.ts";
import { rowPlace, type SoundRow, type Walked } from "./row-walk.ts";
import { isRecordRow, type Owner } from "./rows.ts";

/** Where the sound beginning of a session ends: at the first thing that an ordinary reader stops at. */
export interface SessionCut {
  /** What a reader stops at; absent where it comes to the end. */
  readonly reason?: Finding;
  /** Events before it. */
  readonly events: number;
  /** Seq behind the last row that was found, whether it stays or not. */
  readonly end: number;
  /** Whether rows could not be read and none was found behind them, so that the end may be gone. */
  readonly isOpenEnded: boolean;
  /** Seq from which rows are cut off; the rows before it stay as they are. */
  readonly from: number;
  /** Seq of the segment that the last row lies in that stays, if it does: then all rows behind that segment go. */
  readonly segment?: number;
  /** What is cut off, as far as it can be read. */
  readonly cut: { readonly rows: number; readonly events: number };
  /** Whether there are rows of other types than the table takes. */
  readonly hasOddRows: boolean;
  /** What closes the Turn that is open at the end of what stays. */
  readonly closers: readonly SessionRecord[];
  /** What is wrong with the part that stays, and no cut can help. */
  readonly helpless: readonly Finding[];
  /** Time of the first event, in epoch milliseconds. */
  readonly firstTime?: number;
}

/** The event loop gets a turn after so many rows. */
const ROWS_A_TURN = 10_000;
/** Codes of what a reader stops at, though each record is sound in itself. */
const STOPS: ReadonlySet<string> = new Set(["events-missing", "events-repeated", "reference"]);

export interface CutOptions {
  /**
   * Whether it is cut after the database was built anew from these rows: then rows that cannot be read are simply not
   * there, and a gap only where nothing took their place.
   */
  readonly isRebuilt?: boolean;
  /** Told now and then which seq was read. */
  readonly onProgress?: (seq: number) => void;
}

/** Reads a session's rows to their end, and finds where to cut it. Lets timers and signals have their turn. */
export async function findCut(
  owner: Owner,
  walk: Iterable<Walked>,
  { isRebuilt = false, onProgress }: CutOptions = {},
): Promise<SessionCut> {
  const search = new CutSearch(owner);
  let unread: Finding | undefined;
  let rows = 0;
  for (const walked of walk) {
    if (walked.kind === "damage") {
      const isGone = isRebuilt && !isRecordRow(walked.row);
      if (isGone) unread ??= walked.finding;
      if (isGone) search.miss(walked.row);
      else search.takeDamage(walked.finding, walked.row);
      continue;
    }
    unread = undefined;
    for (const sound of walked.rows) search.take(sound);
    rows += walked.rows.length;
    if (rows < ROWS_A_TURN) continue;
    rows = 0;
    onProgress?.(walked.rows.at(-1)?.row.seq ?? 0);
    await new Promise(setImmediate);
  }
  // Nothing was found behind it, so that the session may have lost its end.
  if (unread !== undefined) search.missEnd(unread);
  return search.end();
}

class CutSearch {
  readonly #owner: Owner;
  readonly #audit = new LogAudit();
  readonly #work = new OpenWork();
  readonly #helpless: Finding[] = [];
  readonly #cut = { rows: 0, events: 0 };
  #hasOddRows = false;
  #reason: Finding | undefined;
  #isReadable = true;
  #isOpenEnded = false;
  #end = 0;
  #events = 0;
  #from = 0;
  #segment: number | undefined;
  #firstTime: number | undefined;

  constructor(owner: Owner) {
    this.#owner = owner;
  }

  takeDamage(finding: Finding, row: unknown): void {
    if (this.#isReadable) this.#reason = finding;
    this.#isReadable = false;
    if (row !== undefined) this.#cut.rows += 1;
    if (isRecordRow(row)) this.#end = Math.max(this.#end, row.seq + 1);
  }

  missEnd(finding: Finding): void {
    this.takeDamage(finding, undefined);
    this.#isOpenEnded = true;
  }

  /** A row that a table does not take, or rows that cannot be read. */
  miss(row: unknown): void {
    this.#hasOddRows ||= row !== undefined;
  }

  take({ decoded, segment }: SoundRow): void {
    const { record, event } = decoded;
    this.#firstTime ??= record.time;
    this.#end = Math.max(this.#end, record.seq + record.count);
    const wasReadable = this.#isReadable;
    // Behind damage nothing more needs to be known than how much there is.
    const isAudited = wasReadable || this.#reason === undefined;
    const faults = isAudited
      ? this.#audit.take(decoded, () => rowPlace(this.#owner, record.seq, segment))
      : [];
    this.#isReadable &&= this.#audit.isReadable;
    for (const fault of faults) {
      if (this.#isReadable) this.#helpless.push(fault);
      else if (STOPS.has(fault.code)) this.#reason ??= fault;
    }
    if (!this.#isReadable) {
      this.#cut.rows += 1;
      this.#cut.events += record.count;
      return;
    }
    if (event === undefined) this.#work.pass(record);
    else this.#work.fold(event);
    this.#events += record.count;
    this.#from = record.seq + 1;
    this.#segment = segment;
  }

  end(): SessionCut {
    const { path } = this.#owner;
    const faults = this.#audit.finish(this.#isReadable, () => ({ path }));
    if (!this.#isReadable) this.#reason ??= faults.find(({ code }) => STOPS.has(code)) ?? this.#outOfOrder();
    const reason = this.#reason;
    const closers = closeInterruptedTurn(this.#work, this.#events);
    return {
      ...(reason === undefined ? {} : { reason }),
      events: this.#events,
      end: this.#end,
      isOpenEnded: this.#isOpenEnded,
      from: this.#from,
      ...(this.#segment === undefined ? {} : { segment: this.#segment }),
      cut: { ...this.#cut },
      hasOddRows: this.#hasOddRows,
      closers: packBatch(closers.map(encodeEvent)),
      helpless: this.#helpless.filter(isError),
      ...(this.#firstTime === undefined ? {} : { firstTime: this.#firstTime }),
    };
  }

  #outOfOrder(): Finding {
    return {
      code: "events-repeated",
      message: "An event stands twice in the log",
      place: { ...rowPlace(this.#owner, this.#from), seq: this.#events },
      expected: `seq ${this.#events}`,
      found: "another seq",
    };
  }
}
