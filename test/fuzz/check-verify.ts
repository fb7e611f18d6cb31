import type { ExaminedSession, StoreExaminer } from "../../src/store/examiner.ts";
import { type FindingCode, isError } from "../../src/store/finding.ts";
import type { StoreName } from "../../src/store/store-name.ts";
import { type SessionVerdict, verifySessions, verifyStore } from "../../src/store/verify.ts";
import { AllowedRecords } from "./allowed.ts";
import type { Mark, StoreReading } from "./check-reading.ts";
import { need, typed } from "./fault.ts";
import { isClean, type Reading } from "./reading.ts";
import type { Subject } from "./subject.ts";
import type { Input } from "./types.ts";

/** Findings of a log that an ordinary reader reads to its end all the same. */
const READABLE: ReadonlySet<FindingCode> = new Set<FindingCode>([
  "tool-pairing",
  "turn-balance",
  "unknown-type",
  "reference",
  // The session can be read by the name that its place has, or by none.
  "header-misplaced",
  "duplicate",
  "header-damaged",
]);

/** What verifying a store came to. */
export interface Verified {
  /** Whether it could be opened for a check. */
  readonly isOpen: boolean;
  /** Codes of the errors that concern the store as a whole. */
  readonly store: readonly FindingCode[];
  readonly sessions: ReadonlyArray<{
    readonly verdict: SessionVerdict;
    readonly codes: readonly FindingCode[];
  }>;
}

export function errorsIn({ store, sessions }: Verified): FindingCode[] {
  return [...store, ...sessions.flatMap(({ codes }) => codes)];
}

/** Checks a store, and what the check gives out. @throws Fault */
export async function verify(
  subject: Subject,
  input: Input,
  name: StoreName,
  deep: boolean,
): Promise<Verified> {
  const store: FindingCode[] = [];
  const codes = new Map<string | undefined, FindingCode[]>();
  const sessions: Array<Verified["sessions"][number]> = [];
  const outcome = await typed(`verifying${deep ? " deeply" : ""}`, async () => {
    await using examiner = await subject.openExaminer(name, { deep });
    for await (const report of reports(watched(examiner, input))) {
      if (report.kind === "session") sessions.push({ verdict: report, codes: take(report.id) });
      if (report.kind !== "finding" || !isError(report.finding)) continue;
      if (report.session === undefined) store.push(report.finding.code);
      else codes.set(report.session, [...(codes.get(report.session) ?? []), report.finding.code]);
    }
  });
  function take(id: string): FindingCode[] {
    const found = codes.get(id) ?? [];
    codes.delete(id);
    return found;
  }
  return { isOpen: "value" in outcome, store, sessions };
}

async function* reports(examiner: StoreExaminer): ReturnType<typeof verifySessions> {
  yield* verifyStore(examiner);
  yield* verifySessions(examiner);
}

/** The same examiner; what it gives out as records is compared with what was written. */
function watched(examiner: StoreExaminer, input: Input): StoreExaminer {
  const allowed = AllowedRecords.of(input);
  const isStrict = input.kind !== "none" && !input.forged;
  async function* sessions(ids?: readonly string[]): AsyncGenerator<ExaminedSession> {
    for await (const session of examiner.sessions(ids)) {
      yield { ...session, items: () => (isStrict ? checkedItems(session, allowed) : session.items()) };
    }
  }
  return {
    checkStore: () => examiner.checkStore(),
    sessions,
    [Symbol.asyncDispose]: () => examiner[Symbol.asyncDispose](),
  };
}

async function* checkedItems(
  session: ExaminedSession,
  allowed: AllowedRecords,
): ReturnType<ExaminedSession["items"]> {
  let wrong: string | undefined;
  for await (const item of session.items()) {
    // Of what the beginning of a torn end yields nobody can know.
    const isTorn = item.kind === "damage" && item.finding.code === "torn-tail";
    need(wrong === undefined || isTorn, "what is examined was written", () => `${session.id}: ${wrong}`);
    wrong = undefined;
    if (item.kind === "records") {
      const found = item.records.find(({ record }) => !allowed.has(record))?.record;
      if (found !== undefined) wrong = `seq ${found.seq} is ${found.text.slice(0, 300)}`;
    }
    yield item;
  }
  need(wrong === undefined, "what is examined was written", () => `${session.id}: ${wrong}`);
}

/** Verifying and reading say the same. @throws Fault */
export async function checkVerify(
  subject: Subject,
  input: Input,
  name: StoreName,
  reading: StoreReading,
  mark: Mark,
  isDeep: boolean,
): Promise<Verified> {
  if (isDeep) {
    mark("verify deeply");
    await verify(subject, input, name, true);
  }
  mark("verify");
  const verified = await verify(subject, input, name, false);
  const errors = errorsIn(verified);
  if (!verified.isOpen || reading.isRefused) {
    const isSilent = verified.isOpen && errors.length === 0;
    need(!isSilent, "what cannot be opened is not called sound", () => "verify found nothing wrong");
    return verified;
  }
  // Where the tree of a table is damaged, who goes on behind the damage sees that something is missing before it.
  const isTree = input.kind !== "sqlite" || reading.raw.isSound;
  for (const one of reading.readings) compare(one, verified, isTree);
  return verified;
}

function compare(reading: Reading, { store, sessions }: Verified, isTree: boolean): void {
  const { id, events, digest } = reading;
  const own = sessions.filter(({ verdict }) => verdict.id === id);
  const [found] = own;
  if (found === undefined || own.length > 1) {
    const isKnown = found !== undefined || !isClean(reading) || store.length > 0;
    need(isKnown, "what is read is verified", () => `${id} is read, and not verified`);
    return;
  }
  const { verdict, codes } = found;
  const told = `${id}: ${verdict.events} events, ${JSON.stringify(codes)}; ${events} were read, ${reading.error?.message ?? "to the end"}${reading.torn ? ", torn" : ""}`;
  if (!isClean(reading)) {
    need(codes.length > 0 || store.length > 0, "what is not read is no sound log", () => told);
  } else {
    const odd = isTree ? codes.filter((code) => !READABLE.has(code)) : [];
    need(odd.length === 0, "what is read to the end is sound", () => told);
  }
  if (reading.headerText === undefined) return;
  const isSame = verdict.events === events && verdict.digest === digest;
  need(isSame, "verify counts what is read", () => told);
}
