import { storeAndIds } from "../../host/store-options.ts";
import type { RawOptions } from "../../host/usage.ts";
import { isError } from "../../store/finding.ts";
import { openExaminer, openRepairer, planRepair } from "../../store/open-examiner.ts";
import type { RepairPlan, RepairStep } from "../../store/repairer.ts";
import type { StoreName } from "../../store/store-name.ts";
import { type VerifyReport, verifySessions, verifyStore } from "../../store/verify.ts";
import { EXIT } from "../exit-codes.ts";
import { jsonText } from "../json-text.ts";
import { type Output, printing, printingOn } from "../output.ts";
import { printableLine } from "../printable.ts";
import { Progress } from "../progress.ts";
import { StopSignals } from "../stop-signals.ts";
import { hanging, outputColumns } from "../wrap.ts";
import { Loss } from "./repair-loss.ts";
import {
  doneJson,
  doneText,
  helplessJson,
  helplessText,
  stepJson,
  stepText,
  summaryJson,
  summaryText,
} from "./repair-report.ts";
import { reportJson, reportText } from "./verify-report.ts";

export interface RepairFlags {
  readonly dryRun: boolean;
  readonly json: boolean;
}

/**
 * `holdfast sessions repair`: says what is to be done, does it step by step, and checks what came of it. Exits with the
 * code of damage where something stays wrong.
 */
export async function repair(raw: RawOptions, args: readonly string[], flags: RepairFlags): Promise<number> {
  const { name, ids } = storeAndIds(raw, args);
  using stop = new StopSignals();
  const run = (output: Output) => new RepairCommand(name, ids, flags, stop.signal, output).run();
  const code = await unlessStopped(stop, () => (flags.dryRun ? printing(run) : printingOn(run)));
  if (stop.code === undefined) return code;
  const what = flags.dryRun ? "stopped before the end" : "stopped; the same command goes on from here";
  process.stderr.write(`holdfast: ${what}\n`);
  return stop.code;
}

/** What stops in the middle of its planning throws the reason of the signal. */
async function unlessStopped(stop: StopSignals, run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (stop.code === undefined || error !== stop.signal.reason) throw error;
    return stop.code;
  }
}

class RepairCommand {
  readonly #name: StoreName;
  readonly #ids: readonly string[] | undefined;
  readonly #flags: RepairFlags;
  readonly #signal: AbortSignal;
  readonly #output: Output;

  constructor(
    name: StoreName,
    ids: readonly string[],
    flags: RepairFlags,
    signal: AbortSignal,
    output: Output,
  ) {
    this.#name = name;
    this.#ids = ids.length === 0 ? undefined : [...new Set(ids)];
    this.#flags = flags;
    this.#signal = signal;
    this.#output = output;
  }

  async run(): Promise<number> {
    const missing = await this.#missing();
    for (const id of missing) await this.#report({ kind: "missing", id });
    const { dryRun } = this.#flags;
    const { plan, done } = dryRun ? await this.#plan() : await this.#repair();
    for (const finding of plan.helpless) {
      await this.#print(
        helplessText(finding, this.#name, outputColumns()),
        helplessJson(finding, this.#name),
      );
    }
    const isSound = done.length === 0 || this.#signal.aborted || (await this.#check(done));
    await this.#print(summaryText(plan, done.length, dryRun, this.#name), summaryJson(plan, done.length));
    const isLost = Loss.of(dryRun ? plan.steps : done)?.isGrave === true;
    if (!isSound || isLost || plan.helpless.some(isError)) return EXIT.corrupt;
    return missing.length === 0 ? EXIT.ok : EXIT.notFound;
  }

  get #chosen(): { readonly ids?: readonly string[] } {
    return this.#ids === undefined ? {} : { ids: this.#ids };
  }

  /** Sessions that were named and are not there. */
  async #missing(): Promise<readonly string[]> {
    if (this.#ids === undefined) return [];
    const missing = new Set(this.#ids);
    await using examiner = await openExaminer(this.#name);
    for await (const { id } of examiner.sessions(this.#ids)) missing.delete(id);
    return [...missing];
  }

  async #plan(): Promise<{ readonly plan: RepairPlan; readonly done: readonly RepairStep[] }> {
    const plan = await planRepair(this.#name, { ...this.#chosen, signal: this.#signal });
    for (const step of plan.steps) await this.#print(stepText(step, outputColumns()), stepJson(step));
    return { plan, done: [] };
  }

  async #repair(): Promise<{ readonly plan: RepairPlan; readonly done: readonly RepairStep[] }> {
    await using repairer = await openRepairer(this.#name);
    using progress = new Progress();
    const showing = (what: string) => ({
      onProgress: (share: number) => progress.show(`${what}, ${Math.floor(100 * share)}%`),
    });
    progress.show("looking");
    const options = { ...this.#chosen, signal: this.#signal };
    const plan = await repairer.plan({ ...options, ...showing("looking") });
    progress.clear();
    const done: RepairStep[] = [];
    for (const step of plan.steps) {
      if (this.#signal.aborted) break;
      // Told before it is done: whoever ends the program in the middle knows what it was at.
      await this.#print(stepText(step, outputColumns()), stepJson(step));
      await repairer.carryOut(step, showing(`step ${done.length + 1} of ${plan.steps.length}`));
      progress.clear();
      done.push(step);
      await this.#print(doneText(step), doneJson(step));
    }
    return { plan, done };
  }

  /** Whether what was repaired is sound now. The store is free by then: this process must not read what it holds. */
  async #check(done: readonly RepairStep[]): Promise<boolean> {
    const ids = done.flatMap((step) => (step.kind === "session" ? [step.id] : []));
    const chosen = ids.length < done.length ? {} : { ids };
    await using examiner = await openExaminer(this.#name);
    using progress = new Progress();
    progress.show("checking");
    const loss = Loss.of(done);
    let isSound = true;
    const take = async (report: VerifyReport) => {
      if (report.kind === "finding" && isError(report.finding)) isSound = false;
      progress.clear();
      await this.#report(report, loss);
    };
    // What is wrong elsewhere in the store is nothing to a repair of single sessions.
    if (this.#ids === undefined) for await (const report of verifyStore(examiner)) await take(report);
    for await (const report of verifySessions(examiner, { ...chosen, signal: this.#signal }))
      await take(report);
    return isSound;
  }

  async #report(report: VerifyReport, loss?: Loss): Promise<void> {
    const own = report.kind === "session" ? loss?.sessionText(report) : undefined;
    const text =
      own === undefined
        ? reportText(report, this.#name, outputColumns())
        : hanging(printableLine(own), outputColumns(), "  ");
    const json = report.kind === "session" ? loss?.sessionJson(report) : undefined;
    await this.#print(text === undefined ? "" : `${text}\n`, json ?? reportJson(report, this.#name));
  }

  async #print(text: string, json: object): Promise<void> {
    await this.#output.write(this.#flags.json ? `${jsonText(json)}\n` : text);
    await this.#output.flush();
  }
}
