import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Random } from "../../bench/random.ts";
import type { StoreKind } from "../fixtures/host-lab.ts";
import { planAnswer } from "./answer-plan.ts";
import { LogModel } from "./log-model.ts";
import type { InvocationPlan, RunPlan } from "./plan.ts";
import { performRun } from "./run.ts";
import { StoreLife } from "./store-life.ts";
import { Workspace } from "./workspace.ts";

const CALLS = [
  { id: "call-1", name: "list_files", args: '{"path":"notes","depth":2}' },
  { id: "call-2", name: "read_file", args: '{"path":"notes/lines.txt","offset":3,"limit":2}' },
];
/** The item of the answer to the second input with which the Host is killed. */
export const LAST_ITEM = 3;

const FAILURE = { kind: "status", status: 503, waitMs: 1 } as const;

/** What the two inputs of a small life are answered with. */
export const INVOCATIONS: readonly [InvocationPlan, InvocationPlan] = [
  {
    id: "0.0",
    input: "[0.0] Good morning!",
    answers: [{ ...answer(CALLS, false), failures: [FAILURE] }, answer([], true)],
    queued: false,
    cancelled: false,
  },
  { id: "1.0", input: "[1.0] And now?", answers: [answer([], true)], queued: false, cancelled: false },
];

/** A store on which two Hosts were killed: after a Turn with two tools and a retry, and within an answer. */
export class SmallLife implements AsyncDisposable {
  readonly life: StoreLife;
  readonly #home: string;
  readonly #kind: StoreKind;
  readonly #workspace: Workspace;
  #copies = 0;

  private constructor(kind: StoreKind, home: string, workspace: Workspace) {
    this.#kind = kind;
    this.#home = home;
    this.#workspace = workspace;
    this.life = new StoreLife(kind, join(home, "store"), workspace);
  }

  static async create(kind: StoreKind): Promise<SmallLife> {
    const home = await mkdtemp(join(tmpdir(), `holdfast-crash-${kind}-`));
    const workspace = await Workspace.create(join(home, "workspace"));
    const small = new SmallLife(kind, home, workspace);
    const [first, second] = INVOCATIONS;
    const settled = runPlan(0, first, { on: "settled" });
    const within = runPlan(1, second, { on: "item", id: second.id, step: 0, item: LAST_ITEM });
    for (const plan of [settled, within]) await performRun(small.life, plan, workspace, false);
    return small;
  }

  /** What a log with these events says. @throws Error at the first event that must not stand there */
  replay(texts: readonly string[], recovering = false): LogModel {
    const model = new LogModel(this.life.journal, this.#workspace);
    model.recovering = recovering;
    for (const text of texts) model.take(text);
    return model;
  }

  /** A life of its own on a copy of the store, which was looked at once. */
  async copy(): Promise<StoreLife> {
    this.#copies += 1;
    const folder = join(this.#home, `copy-${this.#copies}`);
    await cp(this.life.place.folder, folder, { recursive: true });
    const life = new StoreLife(this.#kind, folder, this.#workspace, this.life.journal);
    await life.checkStopped({ ready: false, ended: false, form: "json" });
    return life;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#home, { recursive: true, force: true });
  }
}

/** Index of the first event of a type. */
export function firstOf(type: string, texts: readonly string[]): number {
  return texts.findIndex((text) => text.startsWith(`{"type":"${type}"`));
}

function answer(calls: typeof CALLS, last: boolean) {
  // The first seed whose answer has everything.
  for (let seed = 1; ; seed += 1) {
    const plan = planAnswer(new Random(seed), calls, last);
    const isWhole = plan.ending === "complete" && plan.failures.length === 0;
    const isPlain = isWhole && plan.usage !== undefined && plan.finish !== "max-tokens";
    const { length } = plan.items;
    if (isPlain && plan.content.length > calls.length && length > LAST_ITEM + 2 && length < 12) return plan;
  }
}

function runPlan(run: number, invocation: InvocationPlan, trigger: RunPlan["kill"]["trigger"]): RunPlan {
  return {
    run,
    model: "test-model",
    chunkWindowMs: 0,
    invocations: [invocation],
    kill: { point: "any moment", trigger, afterMs: run === 0 ? 0 : 60, hold: true, manner: { kind: "kill" } },
    readPauseMs: 0,
    hot: false,
    tear: false,
    slow: undefined,
    shows: "json",
    chance: new Random(1),
  };
}
