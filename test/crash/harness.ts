import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SHIM } from "../fixtures/fault-shim.ts";
import type { StoreKind } from "../fixtures/host-lab.ts";
import { lifeOf, planRun } from "./plan.ts";
import { type Failure, Report } from "./report.ts";
import { performRun } from "./run.ts";
import { StoreLife } from "./store-life.ts";
import { Workspace } from "./workspace.ts";

export interface CrashOptions {
  readonly kind: StoreKind;
  readonly seed: number;
  /** Runs `first` to `end` (exclusive). The runs before `first` on the same store are done, too. */
  readonly first?: number;
  readonly end: number;
  readonly failed?: (failure: Failure) => void;
  readonly progress?: (report: Report) => void;
}

/** Kills Hosts on one kind of store, again and again, and checks what is left each time. */
export async function crash(options: CrashOptions): Promise<Report> {
  const { kind, seed, first = 0, end, failed, progress } = options;
  const report = new Report(kind, seed);
  const started = performance.now();
  const home = await mkdtemp(join(tmpdir(), `holdfast-crash-${kind}-`));
  const workspace = await Workspace.create(join(home, "workspace"));
  try {
    for (let run = lifeOf(kind, seed, first).first; run < end; ) {
      const last = Math.min(lifeOf(kind, seed, run).end, end);
      const failure = await live(options, report, { first: run, last, home, workspace });
      if (failure !== undefined) {
        report.failures.push(failure);
        failed?.(failure);
      }
      run = last;
      report.seconds = (performance.now() - started) / 1000;
      progress?.(report);
    }
  } finally {
    await rm(home, { recursive: true, force: true });
  }
  return report;
}

interface Life {
  readonly first: number;
  readonly last: number;
  readonly home: string;
  readonly workspace: Workspace;
}

/** Runs on one store until its life is over or something is wrong. */
async function live(
  { kind, seed }: CrashOptions,
  report: Report,
  { first, last, home, workspace }: Life,
): Promise<Failure | undefined> {
  const folder = join(home, `store-${first}`);
  const life = new StoreLife(kind, folder, workspace);
  let failure: Failure | undefined;
  report.stores += 1;
  for (let run = first; run < last && failure === undefined; run += 1) {
    const plan = planRun(kind, seed, run, SHIM !== undefined);
    let point: string = plan.kill.point;
    if (plan.kill.fault !== undefined) point += `, ${plan.kill.fault.on}`;
    if (point === "start-up" && life.needsRecovery) point += ", with something to recover";
    report.runs += 1;
    try {
      report.count(point, await performRun(life, plan, workspace, run === last - 1));
    } catch (error) {
      // The folder of a failure stays; the others go.
      const kept = await mkdtemp(join(tmpdir(), `holdfast-crash-failed-${kind}-`));
      await cp(folder, kept, { recursive: true });
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
      failure = { run, point, reason, folder: kept };
    }
  }
  report.turns += life.model.turns.size;
  report.events += life.model.length;
  report.compared += life.compared;
  report.recoveries += life.model.interrupted;
  report.quotes += life.place.quotes();
  report.retries += life.model.retries;
  report.tornTails += life.torn;
  await rm(folder, { recursive: true, force: true });
  return failure;
}
