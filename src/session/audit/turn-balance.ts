import { isStrict, type SessionEvent } from "../events.ts";
import { isChunkOf } from "../recognise.ts";
import { type DecodedRecord, recordEvents } from "../records.ts";
import { counted, type RecordFault } from "./fault.ts";
import { type CallState, ToolPairs } from "./tool-pairs.ts";

type Report = (fault: RecordFault) => void;

/** What an event of a Step says of its place. */
interface StepPlace {
  readonly turn: number;
  readonly step: number;
}

/** Where Turns and Steps stand in a log in which nothing is wrong so far. */
export interface TurnState {
  /** Numbers of the open Turn and of the open Step. */
  readonly turn?: number;
  readonly step?: number;
  readonly lastTurn: number;
  readonly lastStep: number;
  readonly hasBegun: boolean;
  /** Those of the open Step. */
  readonly calls: ReadonlyArray<readonly [id: string, state: CallState]>;
}

/**
 * Turns and Steps begin and end in turn, their numbers grow, and what belongs to a Step stands in it; in each Step every
 * tool call has its one result.
 *
 * What follows a fault or a gap is not checked until the next beginning or end of a Turn or Step says again where the log
 * is, so that one fault is told once. Nor is what stands before the first of them: some writers leave logs without any.
 */
export class TurnBalance {
  #turn: number | undefined;
  #step: number | undefined;
  #lastTurn = 0;
  #lastStep = 0;
  #hasBegun = false;
  /** Whether it is known what is open. */
  #isSure = true;
  /** The calls of the open Step, where all of it was seen. */
  #pairs: ToolPairs | undefined;

  /** @param state to go on from */
  constructor(state?: TurnState) {
    if (state === undefined) return;
    this.#turn = state.turn;
    this.#step = state.step;
    this.#lastTurn = state.lastTurn;
    this.#lastStep = state.lastStep;
    this.#hasBegun = state.hasBegun;
    if (state.step !== undefined) this.#pairs = new ToolPairs(state.calls);
  }

  /** To be asked while there was no fault. */
  get state(): TurnState {
    return {
      ...(this.#turn === undefined ? {} : { turn: this.#turn }),
      ...(this.#step === undefined ? {} : { step: this.#step }),
      lastTurn: this.#lastTurn,
      lastStep: this.#lastStep,
      hasBegun: this.#hasBegun,
      calls: this.#pairs?.calls ?? [],
    };
  }

  /** What is open; nothing where that is not known. */
  get open(): string | undefined {
    if (!this.#isSure || this.#turn === undefined) return undefined;
    const calls = this.#pairs?.unanswered.length ?? 0;
    return [
      `Turn ${this.#turn}`,
      ...(this.#step === undefined ? [] : [`Step ${this.#step}`]),
      ...(calls === 0 ? [] : [`${counted(calls, "call")} without a result`]),
    ].join(", ");
  }

  /** The record that comes next does not follow the last one: it stands behind a gap, or the log goes back. */
  lose(how: "gap" | "back"): void {
    this.#isSure = false;
    this.#pairs = undefined;
    if (how === "back") this.#lastTurn = 0;
  }

  /** Takes the record that comes next. */
  take(decoded: DecodedRecord, report: Report): void {
    const { record, event, run } = decoded;
    if (event !== undefined) this.#takeEvent(event, report);
    else if (this.#isChecked) {
      if (run !== undefined) this.#expectStep(run, "deltas", report);
      else if (!isChunkOf(record.text, this.#turn, this.#step)) {
        for (const chunk of recordEvents(record)) this.#takeEvent(chunk, report);
      }
    }
  }

  get #isChecked(): boolean {
    return this.#isSure && this.#hasBegun;
  }

  #takeEvent(event: SessionEvent, report: Report): void {
    if (!isStrict(event)) return;
    switch (event.type) {
      case "turn/start":
        this.#startTurn(event.data.turn, report);
        break;
      case "turn/end":
        this.#endTurn(event.data.turn, report);
        break;
      case "step/start":
        this.#startStep(event.data, report);
        break;
      case "step/end":
        this.#endStep(event.data, report);
        break;
      case "assistant/chunk":
        if (this.#isChecked) this.#expectStep(event.data, event.type, report);
        break;
      case "assistant/message":
      case "tool/result":
        // One that stands in for another was made when that one's Step was long over.
        if (event.surfaceOp === "append") this.#takeOfStep(event, report);
        break;
      case "tool/call":
        this.#takeOfStep(event, report);
        break;
      default:
    }
  }

  #takeOfStep(event: SessionEvent & { readonly data: StepPlace }, report: Report): void {
    if (!this.#isChecked || !this.#expectStep(event.data, event.type, report)) return;
    this.#pairs?.take(event, report);
  }

  #expectStep({ turn, step }: StepPlace, what: string, report: Report): boolean {
    if (this.#turn === turn && this.#step === step) return true;
    this.#fail("What belongs to a Step stands outside of it", `${what} of ${name(turn, step)}`, report);
    return false;
  }

  #startTurn(turn: number, report: Report): void {
    const isFree = !this.#isSure || this.#turn === undefined;
    if (!isFree) this.#fail("A Turn begins before the last one ended", `the start of Turn ${turn}`, report);
    else {
      this.#grows("Turn", turn, this.#lastTurn, report);
      this.#isSure = true;
    }
    this.#move(turn, undefined);
    this.#lastTurn = turn;
    this.#lastStep = 0;
  }

  #endTurn(turn: number, report: Report): void {
    const isOpen = !this.#isSure || (this.#turn === turn && this.#step === undefined);
    if (isOpen) this.#isSure = true;
    else {
      const message = this.#turn === turn ? "A Turn ends before its Step" : "A Turn ends that is not open";
      this.#fail(message, `the end of Turn ${turn}`, report);
    }
    this.#move(undefined, undefined);
    this.#lastTurn = Math.max(this.#lastTurn, turn);
  }

  #startStep({ turn, step }: StepPlace, report: Report): void {
    const isFree = !this.#isSure || (this.#turn === turn && this.#step === undefined);
    if (isFree) {
      // After a gap, an earlier Step may be one of another Turn.
      if (this.#isSure) this.#grows("Step", step, this.#lastStep, report);
      this.#isSure = true;
    } else {
      const message =
        this.#turn === turn ? "A Step begins before the last one ended" : "A Step begins outside of its Turn";
      this.#fail(message, `the start of ${name(turn, step)}`, report);
    }
    this.#move(turn, step);
    if (isFree) this.#pairs = new ToolPairs();
    this.#lastStep = step;
  }

  #endStep({ turn, step }: StepPlace, report: Report): void {
    const isOpen = !this.#isSure || (this.#turn === turn && this.#step === step);
    if (isOpen) {
      this.#pairs?.end(report);
      this.#isSure = true;
    } else this.#fail("A Step ends that is not open", `the end of ${name(turn, step)}`, report);
    this.#move(turn, undefined);
    this.#lastStep = step;
  }

  /** Takes over what the beginning or end of a Turn or Step says of where the log is now. */
  #move(turn: number | undefined, step: number | undefined): void {
    this.#turn = turn;
    this.#step = step;
    this.#pairs = undefined;
    this.#hasBegun = true;
    if (turn !== undefined) this.#lastTurn = Math.max(this.#lastTurn, turn);
  }

  #grows(what: string, number: number, last: number, report: Report): void {
    if (number > last) return;
    const message = `The numbers of ${what}s do not grow`;
    report({
      code: "turn-balance",
      message,
      expected: `a ${what} after ${last}`,
      found: `${what} ${number}`,
    });
  }

  #fail(message: string, found: string, report: Report): void {
    const open = this.open ?? "no open Turn";
    report({ code: "turn-balance", message, expected: `what goes on with ${open}`, found });
    this.#isSure = false;
    this.#pairs = undefined;
  }
}

function name(turn: number, step: number): string {
  return `Turn ${turn}, Step ${step}`;
}
