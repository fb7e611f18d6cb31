import { isEvent, type SessionEvent, type TurnEndReason } from "../events.ts";
import type { DecodedRecord } from "../records.ts";
import { isRunType } from "../runs.ts";
import { Durations } from "./durations.ts";
import { UsageProjection, type UsageTotals } from "./usage.ts";

const DAY_MS = 86_400_000;

export interface TypeCount {
  events: number;
  /** Of the records that hold them, as UTF-8; a packed run counts as it is stored. */
  bytes: number;
}

export interface ToolCount {
  calls: number;
  /** Calls of which the result is an error. */
  failures: number;
  /** From call to result, in milliseconds. */
  readonly durations: Durations;
}

/** What one model used on one day. */
export interface ModelUse {
  readonly provider: string;
  readonly model: string;
  /** Days since the epoch. */
  readonly day: number;
  /** Steps that reported tokens. */
  steps: number;
  tokens: UsageTotals;
}

/**
 * Counts over one session or several, in one pass; memory follows the kinds of things that are counted, not their number.
 * Between two sessions call {@link nextSession}.
 */
export class SessionStats {
  events = 0;
  bytes = 0;
  turns = 0;
  steps = 0;
  retries = 0;
  /** From the start of a Step to its message, in milliseconds, summed: the model's time, with retries and their waits. */
  modelTime = 0;
  readonly types = new Map<string, TypeCount>();
  readonly turnEnds = new Map<TurnEndReason["kind"], number>();
  readonly tools = new Map<string, ToolCount>();
  readonly #uses = new Map<string, ModelUse>();
  #usage = new UsageProjection();
  /** Calls of this Turn without a result. */
  #calls = new Map<string, { readonly tool: ToolCount; readonly time: number }>();
  #stepStart: number | undefined;
  /** The model of the latest request or answer, and when tokens were last reported. */
  #model = { provider: "", model: "" };
  #reportedAt = 0;
  #reportedBy = this.#model;
  readonly #dayOf: (time: number) => number;

  /** @param dayOf the day that a time in epoch milliseconds is of, counted from the epoch; in UTC when absent */
  constructor(dayOf: (time: number) => number = (time) => Math.floor(time / DAY_MS)) {
    this.#dayOf = dayOf;
  }

  /** What each model used on each day, in the order of their first use. */
  get uses(): readonly ModelUse[] {
    return [...this.#uses.values()];
  }

  /** Forgets what is open in the session that was read; what was counted stays. */
  nextSession(): void {
    this.#settleLast();
    this.#usage = new UsageProjection();
    this.#calls = new Map();
    this.#stepStart = undefined;
    this.#model = { provider: "", model: "" };
  }

  fold({ record, event }: DecodedRecord): void {
    const bytes = Buffer.byteLength(record.text);
    this.events += record.count;
    this.bytes += bytes;
    const type = isRunType(record.type) ? "assistant/chunk" : record.type;
    const count = entry(this.types, type, () => ({ events: 0, bytes: 0 }));
    count.events += record.count;
    count.bytes += bytes;
    if (event !== undefined) this.#foldEvent(event);
  }

  #foldEvent(event: SessionEvent): void {
    this.#foldUsage(event);
    if (isEvent(event, "turn/start")) {
      this.turns += 1;
      this.#calls.clear();
      this.#stepStart = undefined;
    } else if (isEvent(event, "turn/end")) {
      const { kind } = event.data.reason;
      this.turnEnds.set(kind, (this.turnEnds.get(kind) ?? 0) + 1);
    } else if (isEvent(event, "step/start")) {
      this.steps += 1;
      this.#stepStart = event.time;
    } else if (isEvent(event, "assistant/message")) {
      if (event.surfaceOp !== "append" || this.#stepStart === undefined) return;
      this.modelTime += Math.max(0, event.time - this.#stepStart);
      this.#stepStart = undefined;
    } else if (isEvent(event, "tool/call")) {
      const { callId, name } = event.data;
      const tool = entry(this.tools, name, () => ({ calls: 0, failures: 0, durations: new Durations() }));
      tool.calls += 1;
      this.#calls.set(callId, { tool, time: event.time });
    } else if (isEvent(event, "tool/result")) {
      const [block] = event.data.message.content;
      const call = this.#calls.get(block.toolCallId);
      // A later result of the same call is one that compaction shortened.
      if (event.surfaceOp !== "append" || call === undefined) return;
      this.#calls.delete(block.toolCallId);
      if (block.isError === true) call.tool.failures += 1;
      call.tool.durations.add(event.time - call.time);
    } else if (event.type === "llm/retry") this.retries += 1;
  }

  /** What counts as used is the rule of {@link UsageProjection}; here it gets its model and its day. */
  #foldUsage(event: SessionEvent): void {
    const before = this.#usage.total;
    if (isEvent(event, "request/header")) {
      const { provider, model } = event.data.header.config;
      this.#model = { provider, model };
    } else if (isEvent(event, "assistant/message") && event.surfaceOp === "append") {
      const { provider, model } = event.data.message.source;
      this.#model = { provider, model };
      this.#reported(event.time);
    } else if (isEvent(event, "assistant/chunk") && event.data.chunk.type === "usage") {
      this.#reported(event.time);
    }
    this.#usage.fold(event);
    if (this.#usage.total !== before) this.#addUse(before, this.#usage.total);
  }

  #reported(time: number): void {
    this.#reportedAt = time;
    this.#reportedBy = this.#model;
  }

  #addUse(before: UsageTotals, after: UsageTotals): void {
    const { provider, model } = this.#reportedBy;
    const day = this.#dayOf(this.#reportedAt);
    const key = JSON.stringify([day, provider, model]);
    const use = entry(this.#uses, key, () => ({ provider, model, day, steps: 0, tokens: NOTHING }));
    use.steps += 1;
    use.tokens = addTokens(use.tokens, after, before);
  }

  /** A session that breaks off behind a report of tokens: they were used all the same. */
  #settleLast(): void {
    const before = this.#usage.total;
    this.#usage.fold({
      type: "turn/end",
      seq: 0,
      time: 0,
      data: { turn: 0, reason: { kind: "interrupted" } },
    });
    if (this.#usage.total !== before) this.#addUse(before, this.#usage.total);
  }
}

const NOTHING: UsageTotals = new UsageProjection().total;

/** `totals` and what came between two counts. */
export function addTokens(
  totals: UsageTotals,
  after: UsageTotals,
  before: UsageTotals = NOTHING,
): UsageTotals {
  return {
    inputTokens: totals.inputTokens + after.inputTokens - before.inputTokens,
    outputTokens: totals.outputTokens + after.outputTokens - before.outputTokens,
    cacheReadTokens: totals.cacheReadTokens + after.cacheReadTokens - before.cacheReadTokens,
    cacheWriteTokens: totals.cacheWriteTokens + after.cacheWriteTokens - before.cacheWriteTokens,
    reasoningTokens: totals.reasoningTokens + after.reasoningTokens - before.reasoningTokens,
  };
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
