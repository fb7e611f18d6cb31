import type { Random } from "../../bench/random.ts";
import type { Fault } from "../fixtures/fault-shim.ts";
import type { StoreKind } from "../fixtures/host-lab.ts";
import type { InvocationPlan } from "./plan.ts";

/** Where a Host is killed, and how often each place is chosen. */
const POINTS = {
  "start-up": 5,
  idle: 2,
  "any moment": 6,
  "request received": 4,
  "retry waits": 5,
  "delta sent": 6,
  "within the arguments of a call": 4,
  "finish sent": 4,
  "tool runs": 5,
  "call seen": 3,
  "between answer and next input": 3,
  "inputs queued": 4,
  "shutting down": 5,
  "stopped first": 4,
  "ended in order": 3,
  "file operation": 16,
} as const;
export type Point = keyof typeof POINTS;

/** What happens before the kill. Steps and items count from 0. */
export type Trigger =
  | { readonly on: "spawned" }
  | { readonly on: "ready" }
  | { readonly on: "request"; readonly id: string; readonly step: number }
  /** The model lets an attempt fail; they count from 1. */
  | { readonly on: "failed"; readonly id: string; readonly step: number; readonly attempt: number }
  /** The model is asked again, after that attempt. */
  | { readonly on: "retried"; readonly id: string; readonly step: number; readonly attempt: number }
  | { readonly on: "item"; readonly id: string; readonly step: number; readonly item: number }
  /** A read shows a call that has no result yet. */
  | { readonly on: "call" }
  | { readonly on: "answer"; readonly id: string }
  /** Every input has its answer. */
  | { readonly on: "settled" };

/** SIGKILL; or SIGSTOP first, with or without SIGCONT; or SIGTERM and SIGKILL during the shutdown; or SIGTERM alone. */
export type Manner =
  | { readonly kind: "kill" }
  | { readonly kind: "stop"; readonly stillMs: number; readonly thenMs: number | undefined }
  | { readonly kind: "terminate"; readonly graceMs: number }
  | { readonly kind: "end" };

export interface KillPlan {
  readonly point: Point;
  readonly trigger: Trigger;
  /** From the trigger to the kill. */
  readonly afterMs: number;
  /** Whether the model says nothing more once the trigger has come. */
  readonly hold: boolean;
  readonly manner: Manner;
  /** Where the process kills itself; the trigger is for one that never gets there. */
  readonly fault?: Pick<Fault, "on" | "at" | "action">;
}

/** A point, what it asks of the inputs, and how it becomes a plan with them. */
export interface KillDraft {
  /** How many inputs; any number when absent. */
  readonly turns?: number;
  readonly queued: boolean;
  readonly needsCall: boolean;
  readonly needsFailure: boolean;
  readonly longTool: boolean;
  /** Whether file operations may be slow: there is one fault at a time. */
  readonly mayBeSlow: boolean;
  settle(random: Random, invocations: readonly InvocationPlan[]): KillPlan;
}

export function planKill(
  random: Random,
  {
    kind,
    isFirst,
    faults,
  }: { readonly kind: StoreKind; readonly isFirst: boolean; readonly faults: boolean },
): KillDraft {
  const point = pickPoint(random, isFirst, faults);
  return {
    ...(point === "idle" || point === "start-up" ? { turns: 0 } : {}),
    ...(point === "inputs queued" ? { turns: random.between(2, 3) } : {}),
    queued: point === "inputs queued",
    needsCall: point === "within the arguments of a call" || point === "tool runs" || point === "call seen",
    needsFailure: point === "retry waits",
    mayBeSlow: point !== "file operation",
    longTool: point === "tool runs" || (point === "call seen" && random.below(2) === 0),
    settle: (settling, invocations) => {
      if (point !== "file operation") return { point, ...planFor(point, settling, invocations) };
      const fault = planFault(settling, kind, isFirst);
      // An end in order has file operations of its own.
      const manner = ["unlink", "truncate"].includes(fault.on) || settling.below(2) === 0 ? "end" : "kill";
      return { point, trigger: { on: "settled" }, afterMs: 0, hold: false, manner: { kind: manner }, fault };
    },
  };
}

function pickPoint(random: Random, isFirst: boolean, faults: boolean): Point {
  const names = Object.keys(POINTS).filter(isPoint);
  // A store is only made in its first run.
  const weightOf = (point: Point) => {
    if (point === "file operation") return faults ? POINTS[point] * (isFirst ? 2 : 1) : 0;
    return POINTS[point] * (isFirst && point === "start-up" ? 5 : 1);
  };
  let left = random.below(names.reduce((sum, point) => sum + weightOf(point), 0));
  for (const point of names) {
    left -= weightOf(point);
    if (left < 0) return point;
  }
  return "any moment";
}

function isPoint(name: string): name is Point {
  return Object.hasOwn(POINTS, name);
}

function planFor(
  point: Exclude<Point, "file operation">,
  random: Random,
  invocations: readonly InvocationPlan[],
): Omit<KillPlan, "point"> {
  const plan = { afterMs: shortly(random), hold: random.below(2) === 0, manner: { kind: "kill" } } as const;
  switch (point) {
    case "start-up":
      return { ...plan, trigger: { on: "spawned" }, afterMs: random.below(130) };
    case "idle":
      return { ...plan, trigger: { on: "ready" } };
    case "any moment":
      return { ...plan, trigger: { on: "ready" }, afterMs: random.below(120), hold: false };
    case "request received":
      return { ...plan, trigger: atRequest(random, invocations) };
    case "retry waits":
      return { ...plan, ...inRetry(random, atFailure(random, invocations.slice(0, 1))) };
    case "delta sent":
      return { ...plan, trigger: atItem(random, invocations) };
    case "within the arguments of a call":
      return { ...plan, trigger: atItemOf(invocations, ({ argumentsAt }) => argumentsAt) };
    case "finish sent":
      return { ...plan, trigger: atItemOf(invocations, ({ finishAt }) => finishAt), hold: false };
    case "tool runs": {
      const trigger = atItemOf(invocations, ({ items }) => items.length - 1);
      return { ...plan, trigger, afterMs: random.below(40), hold: false };
    }
    case "call seen":
      return { ...plan, trigger: { on: "call" }, hold: false };
    case "between answer and next input":
      return { ...plan, trigger: { on: "answer", id: random.pick(invocations).id } };
    case "inputs queued":
      return {
        ...plan,
        trigger: random.below(2) === 0 ? atRequest(random, invocations) : atItem(random, invocations),
      };
    case "shutting down":
      return {
        ...plan,
        trigger: atSomething(random, invocations),
        manner: { kind: "terminate", graceMs: random.below(30) },
      };
    case "stopped first": {
      const thenMs = random.below(2) === 0 ? undefined : random.below(8);
      return {
        ...plan,
        trigger: atSomething(random, invocations),
        hold: false,
        manner: { kind: "stop", stillMs: random.below(20), thenMs },
      };
    }
    case "ended in order":
      return { ...plan, trigger: atSomething(random, invocations), manner: { kind: "end" } };
  }
}

/** Kinds of operations, how often each is chosen, and how many of them a run has at most, about. */
type FaultTable = ReadonlyArray<readonly [on: Fault["on"], weight: number, most: readonly number[]]>;

const LOGS: FaultTable = [
  ["any", 4, [12, 30]],
  ["write", 3, [4, 9]],
  ["sync", 3, [3, 8]],
  ["open", 1, [4]],
  ["close", 1, [9]],
  ["unlink", 1, [1]],
];
const NEW_LOG: FaultTable = [
  ["any", 8, [20, 36]],
  ["link", 4, [1]],
  ["unlink", 2, [1]],
  ["mkdir", 3, [2]],
];

const EVERY_RUN: Readonly<Record<StoreKind, FaultTable>> = {
  sqlite: [
    ["any", 4, [20, 40]],
    ["write", 4, [10, 30]],
    ["sync", 3, [4, 9]],
    ["open", 1, [6]],
    ["close", 1, [3]],
    ["unlink", 1, [3]],
    ["truncate", 1, [1, 3]],
  ],
  zstd: LOGS,
  none: LOGS,
};
/** What making a store adds. */
const FIRST_RUN: Readonly<Record<StoreKind, FaultTable>> = {
  sqlite: [
    ["any", 10, [70, 130]],
    ["unlink", 2, [8]],
    ["truncate", 2, [3]],
    ["link", 2, [1]],
    ["mkdir", 1, [1]],
  ],
  zstd: NEW_LOG,
  none: NEW_LOG,
};

function planFault(random: Random, kind: StoreKind, isFirst: boolean): NonNullable<KillPlan["fault"]> {
  const table = (isFirst ? FIRST_RUN : EVERY_RUN)[kind];
  const [on, , most] = random.pick(table.flatMap((row) => Array<typeof row>(row[1]).fill(row)));
  const action = random.pick(["kill-before", "kill-after"] as const);
  return { on, at: random.between(1, random.pick(most)), action };
}

function shortly(random: Random): number {
  return random.pick([0, 0, 0, random.below(4), random.below(4), random.below(25)]);
}

function atSomething(random: Random, invocations: readonly InvocationPlan[]): Trigger {
  return random.pick([
    () => atRequest(random, invocations),
    () => atItem(random, invocations),
    () => atFailure(random, invocations),
    () => ({ on: "answer", id: random.pick(invocations).id }) as const,
  ])();
}

function atRequest(random: Random, invocations: readonly InvocationPlan[]): Trigger {
  const { id, answers } = random.pick(invocations);
  return { on: "request", id, step: random.below(answers.length) };
}

/** Within the wait after a failure, or as soon as the next attempt shows that the failure must be in the log. */
function inRetry(random: Random, trigger: Trigger): Pick<KillPlan, "trigger" | "afterMs"> {
  if (trigger.on === "failed" && random.below(2) === 0)
    return { trigger: { ...trigger, on: "retried" }, afterMs: 0 };
  return { trigger, afterMs: random.below(60) };
}

function atFailure(random: Random, invocations: readonly InvocationPlan[]): Trigger {
  const all = invocations.flatMap(({ id, answers }) =>
    answers.flatMap(({ failures }, step) => failures.map((_, k) => ({ id, step, attempt: k + 1 }))),
  );
  return all.length === 0 ? atRequest(random, invocations) : { on: "failed", ...random.pick(all) };
}

function atItem(random: Random, invocations: readonly InvocationPlan[]): Trigger {
  const { id, answers } = random.pick(invocations);
  const step = random.below(answers.length);
  const { items, ending } = answers[step] ?? { items: [], ending: "refused" };
  if (ending === "refused" || items.length === 0) return { on: "request", id, step };
  return { on: "item", id, step, item: random.below(items.length) };
}

/** At an item of the first answer to the first input. */
function atItemOf(
  [first]: readonly InvocationPlan[],
  itemOf: (answer: InvocationPlan["answers"][number]) => number | undefined,
): Trigger {
  const answer = first?.answers[0];
  if (first === undefined || answer === undefined) return { on: "ready" };
  const item = itemOf(answer);
  if (answer.ending === "refused" || item === undefined || item >= answer.items.length) {
    return { on: "request", id: first.id, step: 0 };
  }
  return { on: "item", id: first.id, step: 0, item };
}
