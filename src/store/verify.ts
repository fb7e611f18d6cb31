import { LogAudit } from "../session/audit/index.ts";
import type { Place } from "../session/errors.ts";
import type { DecodedRecord } from "../session/records.ts";
import { breathe } from "./breathe.ts";
import { LogDigest } from "./digest.ts";
import { CorruptError, HoldfastError } from "./errors.ts";
import type { ExaminedSession, StoreExaminer } from "./examiner.ts";
import { type Finding, type FindingCode, findingOf, isError } from "./finding.ts";

/**
 * In which state a session is: `damaged` unless all that is wrong is of one kind with a name of its own. `unsure` where
 * nothing is wrong with what can be read of it, but the store below it is damaged: its end may be missing.
 */
export type VerifiedState = "ok" | "unsure" | "torn" | "unsupported" | "duplicate" | "unreadable" | "damaged";

/** How many findings there are. */
export interface FindingCounts {
  readonly errors: number;
  readonly notes: number;
}

/** What the check of one session comes to. */
export interface SessionVerdict extends FindingCounts {
  readonly id: string;
  /** The session's file, or that of its store. */
  readonly location: string;
  readonly state: VerifiedState;
  /** Events of its sound beginning: what an ordinary reader gets to see. All of them where the log is sound. */
  readonly events: number;
  /** Their digest. */
  readonly digest: string;
}

export type VerifyReport =
  | { readonly kind: "finding"; readonly session?: string; readonly finding: Finding }
  | ({ readonly kind: "store" } & FindingCounts)
  | ({ readonly kind: "session" } & SessionVerdict)
  /** A session that was asked for is not there. */
  | { readonly kind: "missing"; readonly id: string };

/** How far the check is: in which session, after how many of its events, and what share of its file that is. */
export interface VerifyProgress {
  readonly id: string;
  readonly events: number;
  /** From 0 to 1; absent where the session has no file of its own. */
  readonly share?: number;
}

export interface VerifyOptions {
  /** Only these sessions; all when absent. */
  readonly ids?: readonly string[];
  /** Whether the check of the store found it damaged, so that no session is known to be whole. */
  readonly isStoreDamaged?: boolean;
  /** Told now and then. */
  readonly onProgress?: (progress: VerifyProgress) => void;
  /** Ends the check early; what was found until then was reported. */
  readonly signal?: AbortSignal;
}

/** Signals and output get their turn after so many events. */
const EVENTS_A_BREATH = 20_000;
/** What opening a session counts for. */
const EVENTS_A_SESSION = 200;

/** Damage that is told with the gap that it leaves. */
const LOSES_EVENTS: ReadonlySet<FindingCode> = new Set(["damaged", "malformed"]);

/** Checks what concerns a store as a whole. Reads only. Its findings come before how many there are. */
export async function* verifyStore(examiner: StoreExaminer): AsyncGenerator<VerifyReport> {
  const counts = new Counts();
  for await (const finding of examiner.checkStore()) {
    counts.add(finding);
    yield { kind: "finding", finding };
  }
  yield { kind: "store", ...counts.total };
}

/**
 * Checks session by session. Reads only. A session's findings come before its verdict; what was asked for and is not
 * there comes last. Goes on behind whatever is wrong, in memory that does not follow the size of the logs.
 */
export async function* verifySessions(
  examiner: StoreExaminer,
  options: VerifyOptions = {},
): AsyncGenerator<VerifyReport> {
  const { ids, signal } = options;
  const missing = new Set(ids);
  const breather = new Breather();
  for await (const session of examiner.sessions(ids)) {
    if (breather.isDue(EVENTS_A_SESSION)) await breathe();
    if (signal?.aborted) return;
    missing.delete(session.id);
    const check = new SessionCheck(session, breather, options.isStoreDamaged === true);
    for await (const finding of check.run(options)) yield { kind: "finding", session: session.id, finding };
    if (signal?.aborted) return;
    yield { kind: "session", ...check.verdict };
  }
  for (const id of missing) yield { kind: "missing", id };
}

class Breather {
  #events = 0;

  /** Whether it is time, after so many more events. */
  isDue(events: number): boolean {
    this.#events += events;
    if (this.#events < EVENTS_A_BREATH) return false;
    this.#events = 0;
    return true;
  }
}

class Counts {
  readonly #codes = new Map<FindingCode, number>();
  #errors = 0;
  #notes = 0;

  get total(): FindingCounts {
    return { errors: this.#errors, notes: this.#notes };
  }

  add(finding: Finding): void {
    if (!isError(finding)) {
      this.#notes += 1;
      return;
    }
    this.#errors += 1;
    this.#codes.set(finding.code, (this.#codes.get(finding.code) ?? 0) + 1);
  }

  /** Whether there is an error, and none of another code than these. */
  onlyHas(...codes: readonly FindingCode[]): boolean {
    return this.#errors > 0 && [...this.#codes.keys()].every((code) => codes.includes(code));
  }
}

class SessionCheck {
  readonly #session: ExaminedSession;
  readonly #breather: Breather;
  readonly #isStoreDamaged: boolean;
  readonly #counts = new Counts();
  readonly #audit = new LogAudit();
  readonly #digest = new LogDigest();
  /** Whether an ordinary reader gets as far as this. */
  #isReadable = true;
  /** Damage that was found last: what comes next shows whether events are missing for it. */
  #held: Finding | undefined;

  constructor(session: ExaminedSession, breather: Breather, isStoreDamaged: boolean) {
    this.#session = session;
    this.#breather = breather;
    this.#isStoreDamaged = isStoreDamaged;
  }

  get verdict(): SessionVerdict {
    const { id, location } = this.#session;
    const { events } = this.#digest;
    const digest = this.#digest.hex();
    return { id, location, state: this.#state, events, digest, ...this.#counts.total };
  }

  get #state(): VerifiedState {
    const counts = this.#counts;
    if (counts.total.errors === 0) return this.#isStoreDamaged ? "unsure" : "ok";
    if (counts.onlyHas("torn-tail")) return "torn";
    if (counts.onlyHas("unsupported-version", "unknown-type")) return "unsupported";
    if (counts.onlyHas("duplicate")) return "duplicate";
    return counts.onlyHas("unreadable") ? "unreadable" : "damaged";
  }

  async *run(options: VerifyOptions): AsyncGenerator<Finding> {
    for (const finding of this.#session.findings) yield this.#count(finding);
    let last: Finding | undefined;
    try {
      for await (const finding of this.#checkItems(options)) yield this.#count(finding);
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      this.#isReadable = false;
      last = thrown(error, { sessionId: this.#session.id });
    }
    for (const finding of this.#release()) yield this.#count(finding);
    if (last !== undefined) yield this.#count(last);
  }

  async *#checkItems({ onProgress, signal }: VerifyOptions): AsyncGenerator<Finding> {
    const session = this.#session;
    let placeOf = (): Place => ({ path: session.location, sessionId: session.id });
    let events = 0;
    for await (const item of session.items()) {
      if (signal?.aborted) return;
      if (item.kind === "damage") {
        // A torn tail is no part of the log, and in nobody's way.
        if (item.finding.code !== "torn-tail") this.#isReadable = false;
        yield* this.#release();
        if (LOSES_EVENTS.has(item.finding.code)) this.#held = item.finding;
        else yield item.finding;
        continue;
      }
      const { records } = item;
      const before = events;
      for (const [k, decoded] of records.entries()) {
        const faults = this.#audit.take(decoded, () => item.placeOf(k));
        yield* this.#held === undefined ? faults : this.#joined(this.#held, decoded, faults);
        this.#isReadable &&= this.#audit.isReadable;
        if (this.#isReadable) this.#digest.add(decoded.record);
        events += decoded.record.count;
      }
      // Not asked for before it is needed: it may have to be looked for.
      if (records.length > 0) placeOf = () => item.placeOf(records.length - 1);
      if (!this.#breather.isDue(events - before)) continue;
      onProgress?.({ id: session.id, events, ...shareOf(session, placeOf()) });
      await breathe();
      if (signal?.aborted) return;
    }
    yield* this.#release();
    const isWhole = this.#isReadable && session.findings.every((finding) => !isError(finding));
    yield* this.#audit.finish(isWhole, placeOf);
  }

  /** What is wrong at the first record behind damage, and the damage: with the gap that it left, which is no fault of its own. */
  #joined(damage: Finding, { record }: DecodedRecord, faults: readonly Finding[]): readonly Finding[] {
    this.#held = undefined;
    const gap = faults.find(({ code }) => code === "events-missing");
    const { seq } = gap?.place ?? {};
    if (seq === undefined) return [damage, ...faults];
    const missing = { seq, events: record.seq - seq };
    return [{ ...damage, missing }, ...faults.filter((fault) => fault !== gap)];
  }

  #release(): readonly Finding[] {
    const held = this.#held;
    this.#held = undefined;
    return held === undefined ? [] : [held];
  }

  #count(finding: Finding): Finding {
    this.#counts.add(finding);
    return finding;
  }
}

function shareOf({ location }: ExaminedSession, { offset }: Place): { readonly share?: number } {
  if (offset === undefined) return {};
  return { share: Math.min(1, offset / Math.max(1, Bun.file(location).size)) };
}

/** What an examiner does not throw by itself, such as a session that was deleted meanwhile. */
function thrown(error: HoldfastError, place: Place): Finding {
  if (error instanceof CorruptError) return findingOf("damaged", error, place);
  return { code: "unreadable", message: error.message, place: { ...place, ...error.place } };
}
