import { apportion, type Random, spread } from "../random.ts";
import { BLOCKS, type BlockKind, BOUNDARIES, CALLING_ANSWERS, LAST_ANSWERS, STEPS } from "./shape.ts";

/** One block of an answer: how many of its deltas each batch holds. */
export interface BlockPlan {
  readonly kind: BlockKind;
  readonly pieces: readonly number[];
  /** Whether the batch of its first deltas also holds the end of the block before. */
  readonly joined: boolean;
}

/** What happens around a Step besides the answer. */
export type Extra = "steering" | "goal" | "todo";

export interface StepPlan {
  readonly turn: number;
  readonly step: number;
  readonly last: boolean;
  readonly blocks: readonly BlockPlan[];
  readonly extra?: Extra;
}

/**
 * A stretch of Turns with the numbers of the real session, in proportion to its Steps. `stepsOfTurn` says how many Steps
 * each Turn has; with `open` the last Turn does not come to its end.
 */
export function planTurns(
  random: Random,
  stepsOfTurn: readonly number[],
  options: { firstTurn: number; open: boolean },
): StepPlan[] {
  const steps = stepsOfTurn.flatMap((count, turn) =>
    Array.from({ length: count }, (_, step) => ({
      turn: options.firstTurn + turn,
      step: step + 1,
      last: step === count - 1 && !(options.open && turn === stepsOfTurn.length - 1),
    })),
  );
  const answers = planAnswers(random, steps, options.open);
  const pieces = {
    reasoning: dealer(random, answers, "reasoning"),
    text: dealer(random, answers, "text"),
    "tool-call": dealer(random, answers, "tool-call"),
  };
  const joins = planJoins(random, answers);
  const extras = planExtras(random, steps, answers);
  return steps.map((step, k) => {
    const blocks = (answers[k] ?? []).map((kind, index) => ({
      kind,
      pieces: pieces[kind](),
      joined: index > 0 && joins.pop() === true,
    }));
    const extra = extras.get(k);
    return { ...step, blocks, ...(extra === undefined ? {} : { extra }) };
  });
}

/** Kinds of blocks for each Step. An open stretch ends in an answer that is one tool call. */
function planAnswers(random: Random, steps: ReadonlyArray<{ last: boolean }>, open: boolean): BlockKind[][] {
  const calling = steps.filter(({ last }) => !last).length;
  const counts = apportion(
    calling,
    CALLING_ANSWERS.map(([, count]) => count),
  );
  const pool = random.shuffled(
    CALLING_ANSWERS.flatMap(([blocks], k) => Array.from({ length: counts[k] ?? 0 }, () => [...blocks])),
  );
  if (open) {
    const single = pool.findIndex((blocks) => blocks.length === 1);
    const [ending] = single < 0 ? [] : pool.splice(single, 1);
    pool.unshift(ending ?? pool.pop() ?? ["tool-call"]);
  }
  const endings = random.shuffled(LAST_ANSWERS);
  let ended = 0;
  return steps.map(({ last }) => {
    if (!last) return pool.pop() ?? ["tool-call"];
    ended += 1;
    return [...(endings[(ended - 1) % endings.length] ?? ["text"])];
  });
}

/** Gives out, block by block, how the deltas of one kind are cut into batches. */
function dealer(
  random: Random,
  answers: ReadonlyArray<readonly BlockKind[]>,
  kind: BlockKind,
): () => number[] {
  const shape = BLOCKS[kind];
  const blocks = answers.flat().filter((other) => other === kind).length;
  const share = (count: number) => Math.round((count * blocks) / shape.blocks);
  const runs = Math.max(blocks, share(shape.runs));
  const lengths =
    runs === 0
      ? []
      : apportion(Math.max(3 * runs, share(shape.packed)), spread(random, shape.runLength, runs), 3);
  const small = [...Array<number>(share(shape.ones)).fill(1), ...Array<number>(share(shape.twos)).fill(2)];
  const pieces = random.shuffled([...lengths, ...small]);
  const counts = blocks === 0 ? [] : apportion(pieces.length, spread(random, shape.blockLength, blocks), 1);
  return () => pieces.splice(0, counts.pop() ?? 1);
}

function planJoins(random: Random, answers: ReadonlyArray<readonly BlockKind[]>): boolean[] {
  const boundaries = answers.reduce((sum, blocks) => sum + blocks.length - 1, 0);
  const joined = Math.round((boundaries * BOUNDARIES.joined) / BOUNDARIES.all);
  return random.shuffled(Array.from({ length: boundaries }, (_, k) => k < joined));
}

/** Two steering messages, two todo lists and a goal in as many Steps as the real session has. */
function planExtras(
  random: Random,
  steps: ReadonlyArray<{ last: boolean }>,
  answers: ReadonlyArray<readonly BlockKind[]>,
): Map<number, Extra> {
  const fitting = steps.flatMap(({ last }, k) =>
    !last && k < steps.length - 1 && answers[k]?.includes("tool-call") ? [k] : [],
  );
  const wanted = ["steering", "todo", "steering", "todo", "goal"] as const;
  const count = Math.round((wanted.length * steps.length) / STEPS);
  const places = random.shuffled(fitting).slice(0, count);
  return new Map(places.map((place, k) => [place, wanted[k % wanted.length] ?? "todo"] as const));
}
