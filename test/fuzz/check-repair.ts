import { existsSync, readFileSync } from "node:fs";
import type { FindingCode } from "../../src/store/finding.ts";
import type { RepairPlan, RepairStep } from "../../src/store/repairer.ts";
import type { StoreName } from "../../src/store/store-name.ts";
import type { Mark, StoreReading } from "./check-reading.ts";
import { errorsIn, type Verified, verify } from "./check-verify.ts";
import { needPrefix } from "./check-writing.ts";
import { describe, need, type Outcome, typed } from "./fault.ts";
import { readSession } from "./reading.ts";
import { differences, readFiles, stateOf, storeIn, writeFiles } from "./store-files.ts";
import type { Subject } from "./subject.ts";
import type { Input } from "./types.ts";

const clock = () => 0;
/** Findings that leave a log readable, so that it may be repaired for others. */
const LASTING: ReadonlySet<FindingCode> = new Set<FindingCode>([
  "tool-pairing",
  "turn-balance",
  "unknown-type",
]);

/**
 * Repairs a copy of the store, and checks it again.
 * @param isThorough whether it is planned without the lock before, and once more afterwards
 * @returns whether anything was repaired @throws Fault
 */
export async function checkRepair(
  subject: Subject,
  input: Input,
  place: string,
  reading: StoreReading,
  verified: Verified,
  mark: Mark,
  isThorough: boolean,
): Promise<boolean> {
  writeFiles(place, input.files);
  const name = storeIn(place, input.kind);
  const before = stateOf(place);
  mark("plan the repair");
  const foreseen = isThorough ? await typed("planning a repair", () => subject.planRepair(name)) : undefined;
  const changed = differences(before, stateOf(place));
  need(changed.length === 0, "reading changes nothing", () => `planning changed ${changed.join(", ")}`);
  mark("open for repair");
  const opened = await typed("opening for repair", () => subject.openRepairer(name));
  if ("error" in opened) {
    need(
      verified.isOpen === false || errorsIn(verified).length > 0,
      "a sound store can be opened for repair",
      () => describe(opened.error),
    );
    return false;
  }
  let plan: RepairPlan;
  {
    await using repairer = opened.value;
    mark("plan the repair, with the lock");
    const planned = await typed("planning", () => repairer.plan());
    if ("error" in planned) return false;
    plan = planned.value;
    if (foreseen !== undefined) needAsForeseen(foreseen, plan);
    for (const step of plan.steps) {
      mark(`repair ${step.kind} ${step.kind === "session" ? step.id : ""}`);
      const done = await typed("repairing", () => repairer.carryOut(step));
      if ("value" in done) continue;
      needUndamaged(input, place, step);
      return false;
    }
  }
  checkBackups(input, plan);
  mark("verify what was repaired");
  // Closers are there now that nobody wrote before.
  const after = await verify(subject, { ...input, forged: true }, name, false);
  const left = errorsIn(withoutHelpless(after, plan));
  need(
    after.isOpen && left.length === 0,
    "what was repaired is sound",
    () => `${left.join(", ")} are left; ${told(plan)}`,
  );
  mark("read what was repaired");
  await checkKept(subject, name, reading);
  if (isThorough) {
    mark("plan once more");
    const again = await subject.planRepair(name);
    need(again.steps.length === 0, "what was repaired needs no repair", () => told(again));
  }
  if (errorsIn(verified).length === 0 && verified.isOpen) {
    need(plan.steps.length === 0, "what is sound is not repaired", () => told(plan));
  }
  return plan.steps.length > 0;
}

/** What no repair can help: a whole session where its header or its place is wrong, and else what was said to stay. */
function withoutHelpless({ store, sessions, ...rest }: Verified, { helpless }: RepairPlan): Verified {
  const stays = (code: FindingCode) => helpless.some((finding) => finding.code === code);
  const isLost = (id: string, location: string) =>
    helpless.some(
      ({ code, place }) => !LASTING.has(code) && (place.sessionId === id || place.path === location),
    );
  return {
    ...rest,
    store: store.filter((code) => !stays(code)),
    sessions: sessions
      .filter(({ verdict: { id, location } }) => !isLost(id, location))
      .map(({ verdict, codes }) => ({ verdict, codes: codes.filter((code) => !stays(code)) })),
  };
}

function told({ steps, helpless }: RepairPlan): string {
  const todo = steps.map(({ kind, reason }) => `${kind}: ${reason.code} ${reason.message}`);
  return `steps: ${todo.join("; ")}, helpless: ${helpless.map(({ code }) => code).join(", ")}`;
}

function needAsForeseen(foreseen: Outcome<RepairPlan>, plan: RepairPlan): void {
  const rule = "a repair does what was planned";
  if ("error" in foreseen) need(false, rule, () => `planning failed before: ${describe(foreseen.error)}`);
  else need(Bun.deepEquals(foreseen.value, plan), rule, () => `${told(foreseen.value)} became ${told(plan)}`);
}

/** The original is there whole, in its place or, where SQLite had to open the database for writing, as the step's backup. */
function needUndamaged({ files }: Input, place: string, { backup }: RepairStep): void {
  const now = readFiles(place);
  for (const [file, bytes] of files) {
    if (/-shm$|-journal$|\.creating$|holdfast-draft/.test(file)) continue;
    const copy = file.endsWith("-wal") ? `${backup}-wal` : backup;
    const isKept = existsSync(copy) && readFileSync(copy).equals(bytes);
    const isSame = now.get(file)?.equals(bytes) === true || isKept;
    need(isSame, "what was not repaired stays as it is", () => `${file} changed`);
  }
}

/** A log's backup is the log as it was. That of a database may be written anew, with the same rows. */
function checkBackups({ kind, files }: Input, { steps }: RepairPlan): void {
  if (kind === "sqlite") return;
  for (const { backup, location } of steps) {
    const bytes = existsSync(backup) ? readFileSync(backup) : undefined;
    const isSame = [...files].some(
      ([file, original]) => location.endsWith(file) && bytes?.equals(original) === true,
    );
    need(isSame, "a backup is what was there", () => backup);
  }
}

/** All that could be read before can be read still. */
async function checkKept(subject: Subject, name: StoreName, { readings }: StoreReading): Promise<void> {
  const opened = await typed("opening what was repaired", () => subject.openStoreReadOnly(name, { clock }));
  if ("error" in opened) {
    need(readings.length === 0, "what could be read can be read still", () => describe(opened.error));
    return;
  }
  await using store = opened.value;
  for (const before of readings) {
    if (before.headerText === undefined || before.records.length === 0) continue;
    needPrefix(before, await readSession(store, before.id), "what could be read can be read still");
  }
}
