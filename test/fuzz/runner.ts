import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { StoreKind } from "../fixtures/host-lab.ts";
import { makeCorpus } from "./corpus.ts";
import { makeInput } from "./input.ts";
import { readDoing } from "./progress-file.ts";
import { type ChildOptions, childMessage, type Sabotage } from "./protocol.ts";
import { type Failure, Report } from "./report.ts";
import { FOLDER_VARIABLE, newFolder, writeFiles } from "./store-files.ts";

const CHILD = join(import.meta.dir, "child.ts");
/** Inputs that one child checks: whatever it has kept by then goes with it. */
const INPUTS_A_CHILD = 500;
/** Resident memory that no child may reach: many times what the largest frame takes that is read. */
const MOST_MEMORY = 1_200 * 1024 * 1024;
const LOOK_EVERY = 100;
/** Nobody looks through more. */
const MOST_FAILURES = 25;

export interface FuzzOptions {
  readonly kind: StoreKind;
  readonly seed: number;
  readonly first?: number;
  /** After the last one. */
  readonly end: number;
  /** Epoch milliseconds after which no input is begun. */
  readonly deadline?: number;
  readonly sabotage?: Sabotage;
  readonly failed?: (failure: Failure) => void;
  readonly progress?: (report: Report) => void;
}

/** Checks inputs on one kind of store, in children that may hang or die. */
export async function fuzz(options: FuzzOptions): Promise<Report> {
  const { kind, seed, first = 0, end, deadline = Number.MAX_SAFE_INTEGER, progress } = options;
  const report = new Report(kind, seed);
  const sabotaged = options.sabotage === undefined ? {} : { sabotage: options.sabotage };
  const started = performance.now();
  const folder = newFolder("run");
  try {
    const path = join(folder, "progress");
    for (let number = first; number < end && Date.now() < deadline; ) {
      writeFileSync(path, "");
      const stop = Math.min(end, number + INPUTS_A_CHILD);
      const child = { kind, seed, first: number, end: stop, deadline, progress: path, ...sabotaged };
      number = await runChild(child, report);
      for (const failure of report.fresh()) {
        await keep(failure, options);
        options.failed?.(failure);
      }
      report.seconds = (performance.now() - started) / 1000;
      progress?.(report);
      if (report.failures.length >= MOST_FAILURES) break;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return report;
}

/** @returns the number of the input that comes next */
async function runChild(options: ChildOptions, report: Report): Promise<number> {
  const command = [process.execPath, CHILD, JSON.stringify(options)];
  const env = { ...process.env, [FOLDER_VARIABLE]: dirname(options.progress) };
  await using child = Bun.spawn(command, { stdio: ["ignore", "pipe", "pipe"], env });
  let killed: string | undefined;
  const watch = setInterval(() => {
    killed ??= reasonToKill(child.pid, options.progress);
    if (killed !== undefined) child.kill("SIGKILL");
  }, LOOK_EVERY);
  const errors = child.stderr.text();
  let next = options.first;
  let isOver = false;
  let rest = "";
  const decoder = new TextDecoder();
  try {
    for await (const chunk of child.stdout) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const message = childMessage.parse(JSON.parse(line));
        if (message.kind === "done") report.count(message.outcome);
        if (message.kind === "failed") report.fail(message);
        next = message.kind === "end" ? message.number : message.number + 1;
        isOver = message.kind === "end";
      }
    }
    await child.exited;
  } finally {
    clearInterval(watch);
  }
  if (isOver) return Date.now() < options.deadline ? options.end : next;
  const doing = readDoing(options.progress);
  const number = doing?.number ?? next;
  // What it said before it died is known.
  if (number < next) return next;
  const ending = child.signalCode ?? `exit code ${child.exitCode}`;
  const what = killed ?? `the process ended by itself, with ${ending}: ${(await errors).slice(-2_000)}`;
  report.fail({ number, step: doing?.step ?? "", check: "it comes to an end", what });
  return number + 1;
}

function reasonToKill(pid: number, progress: string): string | undefined {
  const doing = readDoing(progress);
  const waited = doing === undefined ? 0 : Date.now() - doing.since;
  if (doing !== undefined && waited > doing.patience) return `it took more than ${doing.patience / 1000} s`;
  const memory = residentMemory(pid);
  return memory > MOST_MEMORY ? `it took ${Math.round(memory / 1024 / 1024)} MiB of memory` : undefined;
}

/** In bytes; 0 where the system does not tell like this. */
function residentMemory(pid: number): number {
  try {
    const [, pages] = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ");
    return Number(pages) * 4_096;
  } catch {
    return 0;
  }
}

/** Puts the input of a failure where it stays. */
async function keep(failure: Failure, { kind, seed, sabotage }: FuzzOptions): Promise<void> {
  const corpus = await makeCorpus(kind, seed, sabotage === undefined);
  const input = makeInput(kind, seed, failure.number, corpus);
  const folder = mkdtempSync(join(tmpdir(), `holdfast-fuzz-failed-${kind}-${seed}-${failure.number}-`));
  writeFiles(join(folder, "store"), input.files);
  const { check, step, what } = failure;
  writeFileSync(join(folder, "failure.txt"), `${[check, step, what, "", ...input.steps].join("\n")}\n`);
  if (existsSync(folder)) failure.folder = folder;
  failure.steps = input.steps;
}
