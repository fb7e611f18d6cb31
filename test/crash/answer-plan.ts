import type { Random } from "../../bench/random.ts";
import type { Chunk, ContentBlock, Usage } from "../../src/session/events.ts";
import { delta, event, finish, usage } from "../fixtures/provider-server.ts";
import { type FailurePlan, planFailures, planRefusal, RETRIES } from "./failures.ts";
import { inPieces, someText } from "./texts.ts";
import type { ToolCallPlan } from "./tool-calls.ts";

/** One server-sent event of an answer, and the chunks that it becomes. */
export interface AnswerItem {
  readonly wire: string;
  readonly chunks: readonly Chunk[];
}

/** One answer of the model: what is sent, and what must stand in the log for it. */
export interface AnswerPlan {
  readonly items: readonly AnswerItem[];
  /** Chunks at the end of a complete answer. */
  readonly closing: readonly Chunk[];
  readonly content: readonly ContentBlock[];
  readonly usage: Usage | undefined;
  readonly calls: readonly ToolCallPlan[];
  readonly finish: "stop" | "tool-calls" | "max-tokens";
  /** Attempts that fail before it; where it is refused, all of them. */
  readonly failures: readonly FailurePlan[];
  /** Whether the answer is sent to its end, cut off after its items, or refused with statuses instead of it. */
  readonly ending: "complete" | "cut" | "refused";
  /** Index of an item within the arguments of a call, where there is one. */
  readonly argumentsAt: number | undefined;
  /** Index of the item with the finish reason. */
  readonly finishAt: number;
  /** Milliseconds to wait after an item, by its index. */
  readonly pauses: ReadonlyMap<number, number>;
}

/**
 * An answer that calls tools. The last one of a Turn calls none, or is cut off at its token limit.
 * @param fails whether an attempt at it must fail, and ask for some patience
 */
export function planAnswer(
  random: Random,
  calls: readonly ToolCallPlan[],
  last: boolean,
  fails = false,
): AnswerPlan {
  const builder = new AnswerBuilder();
  if (random.below(3) === 0) builder.prose("reasoning", somePieces(random));
  if (calls.length === 0 || random.below(2) === 0) {
    // Now and then an answer without a word.
    if (random.below(40) > 0) builder.prose("text", somePieces(random));
  }
  if (calls.length > 0) builder.calls(random, calls);
  const tokens = { inputTokens: random.between(1, 900), outputTokens: random.between(1, 900) };
  const cutOff = last && (calls.length > 0 || random.below(12) === 0);
  const finishKind = cutOff ? "max-tokens" : calls.length > 0 ? "tool-calls" : "stop";
  const fate = last ? random.below(16) : 15;
  const ending = fate === 0 ? "refused" : fate === 1 ? "cut" : "complete";
  const answer = builder.end(finishKind, random.below(5) === 0 ? undefined : tokens, ending);
  const pauses = Array.from({ length: random.below(4) }, () => {
    return [random.below(answer.items.length), random.between(1, 4)] as const;
  });
  const failures = ending === "refused" ? planRefusal(random) : someFailures(random, fails);
  return { ...answer, failures, pauses: new Map(pauses) };
}

function someFailures(random: Random, fails: boolean): FailurePlan[] {
  if (fails) return planFailures(random, random.between(1, RETRIES), random.pick([1, 60]));
  return random.below(8) === 0 ? planFailures(random, random.between(1, RETRIES), 4) : [];
}

/** Whole characters: half a one makes an answer fail. */
function somePieces(random: Random): string[] {
  const kind = random.below(24);
  const text = (length: number) => someText(random, length).toWellFormed();
  if (kind === 0) return [text(random.between(10_000, 60_000))];
  if (kind === 1) return inPieces(random, text(2_000), 3);
  // Long enough for a SQLite store to quote it.
  if (kind < 4) return inPieces(random, text(random.between(8_000, 16_000)), 300);
  return inPieces(random, text(random.between(1, 300)), random.between(1, 20));
}

/** Builds what is sent and what it becomes side by side, by the words of docs/format.md and of the wire. */
class AnswerBuilder {
  readonly #items: AnswerItem[] = [];
  readonly #content: ContentBlock[] = [];
  readonly #calls: ToolCallPlan[] = [];
  readonly #callEnds: Chunk[] = [];
  #proseEnd: Chunk | undefined;
  #argumentsAt: number | undefined;

  prose(type: "text" | "reasoning", pieces: readonly string[]): void {
    const index = this.#content.length;
    const text = pieces.join("");
    if (text === "") return;
    const before = this.#takeProseEnd();
    for (const [k, piece] of pieces.entries()) {
      const opening: Chunk[] = k === 0 ? [...before, { type: "block-start", index, blockType: type }] : [];
      const part: Chunk =
        type === "text"
          ? { type: "text-delta", index, text: piece }
          : { type: "reasoning-delta", index, text: piece };
      this.#send(delta(type === "text" ? { content: piece } : { reasoning_content: piece }), [
        ...opening,
        part,
      ]);
    }
    this.#content.push({ type, text });
    this.#proseEnd = { type: "block-end", index, block: { type, text } };
  }

  /** Calls one after the other, or their fragments in turns. */
  calls(random: Random, calls: readonly ToolCallPlan[]): void {
    const streams = calls.map((call, k) => this.#fragments(random, call, k));
    const inTurns = random.below(2) === 0;
    while (streams.some((stream) => stream.length > 0)) {
      for (const stream of streams) {
        for (let left = inTurns ? 1 : stream.length; left > 0; left -= 1) stream.shift()?.();
      }
    }
  }

  end(
    kind: AnswerPlan["finish"],
    tokens: Usage | undefined,
    ending: AnswerPlan["ending"],
  ): Omit<AnswerPlan, "pauses" | "failures"> {
    const finishAt = this.#items.length;
    this.#send(finish(FINISH[kind]), []);
    if (tokens !== undefined) this.#send(usage(tokens.inputTokens, tokens.outputTokens), []);
    const closing: Chunk[] = [...this.#takeProseEnd(), ...this.#callEnds];
    if (tokens !== undefined) closing.push({ type: "usage", usage: tokens });
    const blocks = this.#content.length;
    const replayState = { blocks, reasoning: "reasoning_content" };
    const reasoned = this.#content.some(({ type }) => type === "reasoning");
    closing.push({ type: "finish", reason: { kind }, ...(reasoned ? { replayState } : {}) });
    // An answer that is cut off never says that it is finished.
    const items = ending === "cut" ? this.#items.slice(0, finishAt) : this.#items;
    return {
      items,
      closing,
      content: this.#content,
      usage: tokens,
      calls: this.#calls,
      finish: kind,
      ending,
      argumentsAt: this.#argumentsAt,
      finishAt,
    };
  }

  #fragments(random: Random, call: ToolCallPlan, k: number): Array<() => void> {
    const { id, name, args } = call;
    // Known when the call begins, which is in the order of the calls.
    let index = -1;
    const open = () => {
      index = this.#content.length;
      const block = { type: "tool-call" as const, id, name, arguments: args };
      this.#content.push(block);
      this.#calls.push(call);
      this.#callEnds.push({ type: "block-end", index, block });
      const fragment = { index: k, id, type: "function", function: { name, arguments: "" } };
      this.#send(delta({ tool_calls: [fragment] }), [
        ...this.#takeProseEnd(),
        { type: "block-start", index, blockType: "tool-call" },
      ]);
    };
    const pieces = inPieces(random, args, Math.max(random.between(1, 12), Math.ceil(args.length / 40)));
    return [
      open,
      ...pieces.map((piece, at) => () => {
        if (at > 0) this.#argumentsAt ??= this.#items.length;
        const named = at === 0 ? { name } : {};
        this.#send(delta({ tool_calls: [{ index: k, function: { arguments: piece } }] }), [
          { type: "tool-call-delta", index, id, ...named, argumentsDelta: piece },
        ]);
      }),
    ];
  }

  #send(wire: object, chunks: readonly Chunk[]): void {
    this.#items.push({ wire: event(wire), chunks });
  }

  #takeProseEnd(): Chunk[] {
    const end = this.#proseEnd;
    this.#proseEnd = undefined;
    return end === undefined ? [] : [end];
  }
}

const FINISH = { stop: "stop", "tool-calls": "tool_calls", "max-tokens": "length" } as const;
