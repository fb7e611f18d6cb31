import type { SessionEvent } from "../src/session/events.ts";
import type { SessionHeader } from "../src/session/header.ts";
import { apportion, Random } from "./random.ts";
import { planTurns } from "./workload/plan.ts";
import { STEPS, STEPS_OF_TURN, TURNS } from "./workload/shape.ts";
import { CREATED_AT, WorkloadWriter } from "./workload/writer.ts";

export interface WorkloadOptions {
  readonly seed: number;
  /** Steps of the session; 123 when absent. */
  readonly steps?: number;
  /** Turns of the session; as many as usual for its Steps when absent. At most one a Step. */
  readonly turns?: number;
  /** Go on until there are exactly this many events, however many Turns that takes. */
  readonly events?: number;
  /** Whether the last Turn breaks off in a tool call. True when absent. */
  readonly interrupted?: boolean;
}

/** The header of a generated session. */
export function workloadHeader(seed: number): SessionHeader {
  return {
    version: 0,
    id: `workload-${seed}`,
    createdAt: CREATED_AT,
    cwd: "/srv/project",
    delegationDepth: 0,
    agentPreset: "standard",
  };
}

/**
 * A coding session shaped like a real one (workload/shape.ts), as the batches in which it becomes durable. The same
 * options give the same events. No more than one batch and one Step's texts are held at a time.
 */
export function* generateSession(options: WorkloadOptions): Generator<SessionEvent[]> {
  let left = options.events ?? Number.POSITIVE_INFINITY;
  for (const batch of allBatches(options)) {
    yield batch.length <= left ? batch : batch.slice(0, left);
    left -= batch.length;
    if (left <= 0) return;
  }
}

/** The whole session; stretches of that size without end when events are counted. */
function* allBatches({
  seed,
  steps = STEPS,
  turns,
  events,
  interrupted = true,
}: WorkloadOptions): Generator<SessionEvent[]> {
  const random = new Random(seed);
  const writer = new WorkloadWriter(random);
  const count = turns ?? Math.max(1, Math.round((steps * TURNS) / STEPS));
  const weights = Array.from({ length: count }, (_, turn) => STEPS_OF_TURN[turn % TURNS] ?? 1);
  const stepsOfTurn = apportion(steps, weights, 1);
  const open = interrupted && events === undefined;
  yield* writer.opening();
  for (let firstTurn = 1; ; firstTurn += count) {
    yield* writer.stretch(planTurns(random, stepsOfTurn, { firstTurn, open }), open);
    if (events === undefined) return;
  }
}
