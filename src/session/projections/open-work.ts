import { isStrict, type SessionEvent } from "../events.ts";
import { recordRun, type SessionRecord } from "../records.ts";
import { isRunType, lastTime } from "../runs.ts";

/** A tool call of the open Step's assistant message that has no result yet. */
export interface OpenCall {
  readonly callId: string;
  readonly name: string;
  /** Seq of the `tool/call`, when the call was started. */
  readonly callSeq?: number;
}

/** What is under way at the end of a log, and where its numbers stand. */
export class OpenWork {
  #turn: number | undefined;
  #step: number | undefined;
  #calls = new Map<string, OpenCall>();
  #lastTurn = 0;
  #lastTime = 0;
  /** The record at the end, if it was passed over: its last time is worked out when somebody asks. */
  #passed: SessionRecord | undefined;

  /** Number of the open Turn. */
  get turn(): number | undefined {
    return this.#turn;
  }

  /** Number of the open Step. */
  get step(): number | undefined {
    return this.#step;
  }

  /** Calls without a result, in message order. */
  get calls(): readonly OpenCall[] {
    return [...this.#calls.values()];
  }

  /** Highest Turn number so far; 0 before the first. */
  get lastTurn(): number {
    return this.#lastTurn;
  }

  /** Time of the last event, in epoch milliseconds. */
  get lastTime(): number {
    if (this.#passed === undefined) return this.#lastTime;
    return isRunType(this.#passed.type) ? lastTime(recordRun(this.#passed)) : this.#passed.time;
  }

  clone(): OpenWork {
    const copy = new OpenWork();
    copy.#turn = this.#turn;
    copy.#step = this.#step;
    copy.#calls = new Map(this.#calls);
    copy.#lastTurn = this.#lastTurn;
    copy.#lastTime = this.#lastTime;
    copy.#passed = this.#passed;
    return copy;
  }

  /** Passes over a record of deltas, which matters here only for its time. */
  pass(record: SessionRecord): void {
    this.#passed = record;
  }

  fold(event: SessionEvent): void {
    this.#lastTime = event.time;
    this.#passed = undefined;
    if (!isStrict(event)) return;
    switch (event.type) {
      case "turn/start":
        this.#turn = event.data.turn;
        this.#lastTurn = Math.max(this.#lastTurn, event.data.turn);
        this.#closeStep();
        break;
      case "turn/end":
        this.#turn = undefined;
        this.#closeStep();
        break;
      case "step/start":
        this.#step = event.data.step;
        this.#calls.clear();
        break;
      case "step/end":
        this.#closeStep();
        break;
      case "assistant/message":
        if (event.surfaceOp !== "append") break;
        for (const block of event.data.message.content) {
          if (block.type === "tool-call") this.#calls.set(block.id, { callId: block.id, name: block.name });
        }
        break;
      case "tool/call": {
        const { callId, name } = event.data;
        if (this.#calls.has(callId)) this.#calls.set(callId, { callId, name, callSeq: event.seq });
        break;
      }
      case "tool/result":
        this.#calls.delete(event.data.message.source.callId);
        break;
      default:
    }
  }

  #closeStep(): void {
    this.#step = undefined;
    this.#calls.clear();
  }
}
