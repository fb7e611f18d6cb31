import { CorruptError } from "../errors.ts";
import type { Finding } from "../finding.ts";
import type { RepairOptions, RepairPlan, RepairStep, SessionRepair, StoreRepair } from "../repairer.ts";
import { type ExaminedSqliteSession, SqliteExaminer } from "./examine.ts";
import type { ExaminedHeader } from "./examined-header.ts";
import { foreignFinding } from "./foreign.ts";
import { lossOf } from "./lost-events.ts";
import { READABLE } from "./reading-finding.ts";
import { backupName, nextNumber, quarantineName } from "./repair-files.ts";
import { headerFault, isOfOtherVersion, type RepairedHeader, repairHeader } from "./repaired-header.ts";
import { findCut, type SessionCut } from "./session-cut.ts";

/** A plan, and for each of its steps which sessions it is about, by number. */
export interface SqlitePlan extends RepairPlan {
  readonly numbers: ReadonlyMap<RepairStep, readonly number[]>;
}

/** What a repair of the store at `path`, which must be resolved, would do. Reads only. */
export async function planRepair(path: string, options: RepairOptions = {}): Promise<SqlitePlan> {
  const structure = await readStructure(path);
  // A database that cannot be opened as it should is no reason to build another one.
  const reason = structure.find(({ code }) => code === "store-damaged");
  const helpless = structure.filter(({ code }) => code !== "store-damaged");
  if (reason !== undefined) return await planFor(path, options, reason, helpless);
  const plan = await planFor(path, options, undefined, helpless);
  // SQLite's own check passes over a page that lies behind the end of the file. What cannot be read cannot be set aside.
  const hole = plan.steps.find(
    ({ reason: { code, expected } }) => code === "damaged" && expected === READABLE,
  );
  return hole === undefined
    ? plan
    : await planFor(path, options, { ...hole.reason, code: "store-damaged" }, helpless);
}

async function planFor(
  path: string,
  options: RepairOptions,
  damage: Finding | undefined,
  helpless: readonly Finding[],
): Promise<SqlitePlan> {
  await using examiner = new SqliteExaminer(path, { deep: damage !== undefined });
  return await new Planner(path, examiner, options).run(damage, helpless);
}

async function readStructure(path: string): Promise<readonly Finding[]> {
  await using examiner = new SqliteExaminer(path, {});
  return [...examiner.structure()];
}

class Planner {
  readonly #path: string;
  readonly #examiner: SqliteExaminer;
  readonly #options: RepairOptions;
  readonly #first: number;
  readonly #steps: RepairStep[] = [];
  readonly #numbers = new Map<RepairStep, readonly number[]>();
  readonly #helpless: Finding[] = [];

  constructor(path: string, examiner: SqliteExaminer, options: RepairOptions) {
    this.#path = path;
    this.#examiner = examiner;
    this.#options = options;
    this.#first = nextNumber(path);
  }

  async run(damage: Finding | undefined, helpless: readonly Finding[]): Promise<SqlitePlan> {
    this.#helpless.push(...helpless);
    const known: JudgedSession[] = [];
    const leaving = { sessions: 0, events: 0 };
    const others: number[] = [];
    let isSetAside = false;
    const isWanted = this.#options.ids === undefined ? undefined : new Set(this.#options.ids);
    const sessions = [...this.#examiner.list()].filter(
      // A database that is built anew is read as a whole.
      ({ id }) => damage !== undefined || (isWanted?.has(id) ?? true),
    );
    for (const [k, session] of sessions.entries()) {
      const { id, stored, isKnown } = session;
      const owner = { path: this.#path, id, number: stored.number };
      const share = (part: number) => this.#options.onProgress?.((k + part) / sessions.length);
      const last = this.#examiner.lastSeq(stored.number);
      const onProgress = (seq: number) => share(Math.min(1, seq / last));
      const cut = await findCut(owner, session.rows(), { isRebuilt: damage !== undefined, onProgress });
      if (isKnown) known.push({ session, cut });
      else {
        others.push(stored.number);
        leaving.sessions += 1;
        leaving.events += cut.events + cut.cut.events;
      }
      isSetAside ||= !isKnown || cut.hasOddRows;
      share(1);
    }
    if (damage !== undefined) {
      // An empty store in its place would look as if nothing had ever been there.
      if (sessions.length === 0 && !this.#examiner.isListWhole) throw nothingLeft(damage, this.#path);
      const found = known.map(({ session: { id, stored }, cut }) => ({ id, number: stored.number, cut }));
      const lost = lossOf(this.#examiner.lostPages(), found, others);
      this.#planStore(damage, known, { leaving, lost }, isSetAside);
    }
    for (const judged of known) {
      if (isWanted?.has(judged.session.id) ?? true) this.#planSession(judged, damage !== undefined);
    }
    if (damage === undefined && isWanted === undefined) this.#planForeign();
    return { steps: this.#steps, helpless: this.#helpless, numbers: this.#numbers };
  }

  /** The database as a whole first; its sessions are repaired in the new one. */
  #planStore(
    reason: Finding,
    known: readonly JudgedSession[],
    rest: Pick<StoreRepair, "leaving" | "lost">,
    isSetAside: boolean,
  ): void {
    const { backup, quarantine } = this.#files();
    const keptEvents = known.reduce((sum, { cut }) => sum + cut.events + cut.cut.events, 0);
    this.#add({
      kind: "store",
      location: this.#path,
      reason,
      keptSessions: known.length,
      keptEvents,
      ...rest,
      backup,
      ...(isSetAside ? { quarantine } : {}),
    });
  }

  #planSession({ session, cut }: JudgedSession, isRebuilt: boolean): void {
    const { stored } = session;
    if (isOfOtherVersion(stored)) {
      this.#helpless.push(...stored.findings);
      return;
    }
    this.#helpless.push(...cut.helpless);
    const fault = headerFault(stored);
    const reason = fault ?? cut.reason;
    if (reason === undefined) return;
    // Rows that are gone are not in a new database to begin with.
    const isSame = fault === undefined && cut.cut.rows === 0 && cut.closers.length === 0;
    if (isRebuilt && isSame) return;
    const step: SessionRepair = {
      kind: "session",
      id: session.id,
      location: this.#path,
      reason,
      keptEvents: cut.events,
      cut: { bytes: 0, ...cut.cut },
      closers: cut.closers.reduce((sum, { count }) => sum + count, 0),
      header: fault === undefined ? "kept" : (headerOf(this.#examiner, stored, cut)?.how ?? "kept"),
      ...this.#files(),
    };
    this.#add(step, stored.number);
  }

  #planForeign(): void {
    const foreign = this.#examiner.foreign();
    const [first] = foreign;
    if (first === undefined) return;
    const rows = foreign.reduce((sum, { rows: own }) => sum + own, 0);
    const events = foreign.reduce((sum, { events: own }) => sum + own, 0);
    const reason = foreignFinding(first, this.#path);
    const numbers = foreign.map(({ session }) => session);
    const step = { kind: "foreign", location: this.#path, reason, rows, events, ...this.#files() } as const;
    this.#add(step, ...numbers);
  }

  /** One backup for all steps; each has a quarantine file of its own. */
  #files(): { readonly backup: string; readonly quarantine: string } {
    const number = this.#first + this.#steps.length;
    return {
      backup: backupName(this.#path, this.#first),
      quarantine: quarantineName(this.#path, number),
    };
  }

  #add(step: RepairStep, ...numbers: readonly number[]): void {
    this.#steps.push(step);
    this.#numbers.set(step, numbers);
  }
}

interface JudgedSession {
  readonly session: ExaminedSqliteSession;
  readonly cut: SessionCut;
}

function nothingLeft(
  { expected = "a sound database", found = "damage" }: Finding,
  path: string,
): CorruptError {
  return new CorruptError("No session is left in the database that a repair could keep", {
    place: { path },
    expected,
    found,
    hint: "The file was left as it is, and a salvage finds no more in it. Put a backup back; to begin anew, move this file away.",
  });
}

/** The header that a session gets, where its own is not what was written. */
export function headerOf(
  examiner: SqliteExaminer,
  stored: ExaminedHeader,
  { firstTime }: SessionCut,
): RepairedHeader | undefined {
  if (headerFault(stored) === undefined) return undefined;
  return repairHeader(stored, firstTime, (key) => examiner.hasKey(key, stored.number));
}
