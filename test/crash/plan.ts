import { Random } from "../../bench/random.ts";
import type { StoreKind } from "../fixtures/host-lab.ts";
import { type AnswerPlan, planAnswer } from "./answer-plan.ts";
import { type KillPlan, planKill } from "./kill-points.ts";
import { someText } from "./texts.ts";
import { planCalls } from "./tool-calls.ts";

/** One invocation: its input, and the model's answers to it. */
export interface InvocationPlan {
  readonly id: string;
  /** Begins with the id in brackets, by which the model knows it. */
  readonly input: string;
  readonly answers: readonly AnswerPlan[];
  /** Whether it is sent at once, without waiting for the answer to the one before it. */
  readonly queued: boolean;
  /** Whether its client cancels it when the model is asked for the first time. */
  readonly cancelled: boolean;
}

/** Operations that take longer, each by so much. */
export interface SlowDisk {
  readonly on: "write" | "sync";
  readonly ms: number;
}

/** All that is chosen for one run of a Host. */
export interface RunPlan {
  readonly run: number;
  readonly model: string;
  readonly chunkWindowMs: number;
  readonly invocations: readonly InvocationPlan[];
  readonly kill: KillPlan;
  /** Pause between two reads of the session while Turns run. */
  readonly readPauseMs: number;
  /** Whether the next Host starts at once, with no look at the store in between. */
  readonly hot: boolean;
  /** Whether the end of a session log is cut off where nobody has seen it: as if the process had died in its write. */
  readonly tear: boolean;
  /** Set for a Host on a slow disk: what is shown too early is seen then. */
  readonly slow: SlowDisk | undefined;
  /** Which of its forms `sessions show` is asked for when the Host is gone. */
  readonly shows: "events" | "json";
  /** For choices that depend on what happened. */
  readonly chance: Random;
}

const KIND_SEEDS: Readonly<Record<StoreKind, number>> = { sqlite: 1, zstd: 2, none: 3 };
const MOST_IN_A_LIFE = 25;

/** The runs from `first` on that share a store. The same for the same seed. */
export function lifeOf(
  kind: StoreKind,
  seed: number,
  run: number,
): { readonly first: number; readonly end: number } {
  const random = randomFor(kind, seed, -1);
  for (let first = 0; ; ) {
    // Short lives, too: a store is only made once in each.
    const end = first + (random.below(3) === 0 ? random.between(1, 4) : MOST_IN_A_LIFE);
    if (run < end) return { first, end };
    first = end;
  }
}

/**
 * What happens in one run; the same for the same seed.
 * @param faults whether a Host can be killed within its file operations here
 */
export function planRun(kind: StoreKind, seed: number, run: number, faults: boolean): RunPlan {
  const random = randomFor(kind, seed, run);
  const isFirst = lifeOf(kind, seed, run).first === run;
  const draft = planKill(random, { kind, isFirst, faults });
  const count = draft.turns ?? random.between(1, 3);
  const invocations = Array.from({ length: count }, (_, k) =>
    planInvocation(random, `${run}.${k}`, {
      queued: k > 0 && (draft.queued || random.below(6) === 0),
      long: draft.longTool && k === 0,
      tools: draft.needsCall && k === 0,
      fails: draft.needsFailure && k === 0,
    }),
  );
  // What is read often leaves little that nobody has seen.
  const tear = kind !== "sqlite" && random.below(2) === 0;
  const isSlow = faults && draft.mayBeSlow && random.below(draft.needsFailure ? 2 : 6) === 0;
  const slow = { on: random.pick(["write", "sync"] as const), ms: random.between(2, 8) };
  return {
    run,
    model: random.below(5) === 0 ? "other-model" : "test-model",
    chunkWindowMs: random.pick([0, 0, 0, 2, 20, 100]),
    invocations,
    kill: draft.settle(random, invocations),
    readPauseMs: isSlow ? 0 : tear ? random.pick([0, 20, 60]) : random.pick([0, 1, 3, 10]),
    slow: isSlow ? slow : undefined,
    hot: random.below(6) === 0,
    tear,
    shows: random.pick(["events", "json"]),
    chance: random,
  };
}

function planInvocation(
  random: Random,
  id: string,
  { queued, long, tools, fails }: Record<"queued" | "long" | "tools" | "fails", boolean>,
): InvocationPlan {
  const steps = tools ? random.between(2, 3) : random.pick([1, 1, 2, 2, 3]);
  const answers = Array.from({ length: steps }, (_, step) => {
    const last = step === steps - 1;
    const hasCalls = !last || random.below(16) === 0;
    const calls = hasCalls ? planCalls(random, `call-${id}-${step + 1}`, long && step === 0) : [];
    return planAnswer(random, calls, last, fails && step === 0);
  });
  const input = `[${id}] ${someText(random, random.pick([0, 20, 200, 3_000]))}`;
  return { id, input, answers, queued, cancelled: random.below(20) === 0 };
}

function randomFor(kind: StoreKind, seed: number, run: number): Random {
  // Near seeds must not give near runs.
  return new Random(Number(Bun.hash.wyhash(`${seed}/${KIND_SEEDS[kind]}/${run}`) & 0x1f_ffff_ffff_ffffn));
}
