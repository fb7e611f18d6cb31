import { isStrict, type SessionEvent, type Usage } from "../events.ts";

/** Token counts, summed. Counts that no provider reported are 0. */
export type UsageTotals = Readonly<Record<keyof typeof ZERO, number>>;

const ZERO = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };

/** Token usage of a session and of each Turn. A Step counts once: by its message, else by its last usage chunk. */
export class UsageProjection {
  #total: UsageTotals = ZERO;
  #turns = new Map<number, UsageTotals>();
  #reported: Usage | undefined;
  /** Whether the Step was counted by its message, so that a usage chunk behind it adds nothing. */
  #counted = false;
  #turn = 0;

  get total(): UsageTotals {
    return this.#total;
  }

  ofTurn(turn: number): UsageTotals {
    return this.#turns.get(turn) ?? ZERO;
  }

  clone(): UsageProjection {
    const copy = new UsageProjection();
    copy.#total = this.#total;
    copy.#turns = new Map(this.#turns);
    copy.#reported = this.#reported;
    copy.#counted = this.#counted;
    copy.#turn = this.#turn;
    return copy;
  }

  fold(event: SessionEvent): void {
    if (!isStrict(event)) return;
    switch (event.type) {
      case "turn/start":
      case "step/start":
        this.#settle();
        this.#turn = event.data.turn;
        this.#counted = false;
        break;
      case "assistant/chunk":
        if (event.data.chunk.type === "usage" && !this.#counted) this.#reported = event.data.chunk.usage;
        break;
      case "assistant/message":
        if (event.surfaceOp !== "append") break;
        this.#reported = event.data.usage ?? this.#reported;
        this.#counted = this.#reported !== undefined;
        this.#settle();
        break;
      case "step/end":
      case "turn/end":
        this.#settle();
        break;
      default:
    }
  }

  #settle(): void {
    const usage = this.#reported;
    if (usage === undefined) return;
    this.#reported = undefined;
    this.#total = add(this.#total, usage);
    this.#turns.set(this.#turn, add(this.ofTurn(this.#turn), usage));
  }
}

function add(totals: UsageTotals, usage: Usage): UsageTotals {
  const cached = (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0);
  // dsh counts the cached ones apart, which shows where they are more than all.
  const input = cached > usage.inputTokens ? usage.inputTokens + cached : usage.inputTokens;
  return {
    inputTokens: totals.inputTokens + input,
    outputTokens: totals.outputTokens + usage.outputTokens,
    cacheReadTokens: totals.cacheReadTokens + (usage.cacheReadTokens ?? 0),
    cacheWriteTokens: totals.cacheWriteTokens + (usage.cacheWriteTokens ?? 0),
    reasoningTokens: totals.reasoningTokens + (usage.reasoningTokens ?? 0),
  };
}
