import { isEvent, isStrict, type SessionEvent } from "../events.ts";
import { isChunkOf } from "../recognise.ts";
import { type DecodedRecord, recordEvents } from "../records.ts";
import type { AsideReason, SalvageWriter } from "./writer.ts";

/** The Turn and the Step that an event names. */
export interface At {
  readonly turn: number;
  readonly step?: number;
}

/**
 * The Turn and the Step that a record stands in; nothing where it names none. What stands in for an earlier message does
 * not count: it was made when that one's Step was over.
 */
export function placeNamedBy({ record, event, run }: DecodedRecord): At | undefined {
  if (run !== undefined) return run;
  const named = event ?? recordEvents(record)[0];
  if (named === undefined || !isStrict(named) || typeof named.surfaceOp === "object") return undefined;
  switch (named.type) {
    case "turn/start":
    case "turn/end":
      return { turn: named.data.turn };
    case "step/start":
    case "step/end":
    case "assistant/chunk":
    case "assistant/message":
    case "tool/call":
    case "tool/result":
      return { turn: named.data.turn, step: named.data.step };
    default:
      return undefined;
  }
}

/** Whether a message is added to the end of the surface by a person or a producer, so that it begins or steers a Turn. */
export function isInput(event: SessionEvent | undefined): boolean {
  return event !== undefined && isEvent(event, "user/message") && event.surfaceOp === "append";
}

/**
 * Brings the new log to where the next event stands: what is open and must not be is closed as a crash closes it, and
 * what is not open and must be is begun.
 */
export class SalvageTurns {
  readonly #writer: SalvageWriter;
  #lastTurn = 0;
  #lastStep = 0;
  #hasBegun = false;
  /** Ids of the calls that the open Step asks for. */
  readonly #calls = new Set<string>();
  /** Whether events may be missing since the last one that named its place. */
  isLost = false;

  constructor(writer: SalvageWriter) {
    this.#writer = writer;
  }

  /** Whether a record of deltas belongs to the open Step, told without reading it. */
  isOfOpenStep({ record, event, run }: DecodedRecord): boolean {
    if (event !== undefined || this.isLost) return false;
    if (this.#isWithoutTurns) return true;
    const { turn, step } = this.#writer.work;
    if (step === undefined) return false;
    return run === undefined ? isChunkOf(record.text, turn, step) : run.turn === turn && run.step === step;
  }

  /**
   * Whether it would be a surprise that the log is where this event says: then what comes behind it must say so too,
   * since a digit may have flipped.
   */
  isSurprise({ event }: DecodedRecord, { turn, step }: At): boolean {
    const { work } = this.#writer;
    if (turn !== work.turn && turn > this.#lastTurn && turn !== this.#lastTurn + 1) return true;
    if (event?.type === "step/start" && turn === work.turn) return (step ?? 0) > this.#lastStep + 1;
    const isInside = step !== undefined && event?.type !== "step/start" && event?.type !== "step/end";
    return isInside && !this.isLost && !this.#isWithoutTurns && (turn !== work.turn || step !== work.step);
  }

  /** Makes room for an event. Returns why it has none; nothing where it can be taken over now. */
  makeRoom(decoded: DecodedRecord): AsideReason | undefined {
    if (decoded.unknownType) return "unknown-type";
    if (this.isOfOpenStep(decoded)) return undefined;
    const at = placeNamedBy(decoded);
    if (at === undefined) return undefined;
    const reason = this.#makeRoomFor(decoded, at);
    if (reason === undefined) this.isLost = false;
    else if (reason === "turn") this.isLost = true;
    return reason;
  }

  /**
   * Makes room for an input behind a gap, which itself names no Turn.
   * @param behind the next record that names one, if there is any
   */
  makeRoomForInput(time: number, behind: DecodedRecord | undefined): void {
    const turn = this.#turnOfInput(behind);
    if (turn !== undefined) this.#beginTurn(turn, time);
  }

  /** Ends what is open at the end of the log. */
  end(): void {
    this.#writer.closeTurn();
  }

  /** Some writers leave logs without any Turn. */
  get #isWithoutTurns(): boolean {
    return !this.#hasBegun && this.#writer.isPristine;
  }

  #makeRoomFor({ record, event }: DecodedRecord, at: At): AsideReason | undefined {
    const { time } = record;
    const { work } = this.#writer;
    const { turn, step = 0 } = at;
    switch (event?.type) {
      case "turn/start":
        if (turn <= this.#lastTurn) return "turn";
        this.#writer.closeTurn();
        this.#noteTurn(turn);
        return undefined;
      case "turn/end":
        if (work.turn === turn) this.#writer.closeStep();
        else if (turn > this.#lastTurn) this.#writer.closeTurn();
        return work.turn === turn ? undefined : "turn";
      case "step/start":
        if (!this.#reachTurn(turn, time) || step <= this.#lastStep) return "turn";
        this.#writer.closeStep();
        this.#noteStep(step);
        return undefined;
      case "step/end":
        if (work.turn !== turn || work.step !== step) return "turn";
        this.#writer.answerCalls();
        return undefined;
      case "tool/call":
      case "tool/result":
        return this.#isWithoutTurns || this.#isExpected(event, at) ? undefined : "call";
      case "assistant/message":
        if (this.#isWithoutTurns) return undefined;
        if (!this.#reachStep(turn, step, time)) return "turn";
        return this.#addCalls(event) ? undefined : "call";
      default:
        return this.#isWithoutTurns || this.#reachStep(turn, step, time) ? undefined : "turn";
    }
  }

  /** Whether the open Step waits for this call to start, or for this result. */
  #isExpected(event: SessionEvent, { turn, step }: At): boolean {
    const { work } = this.#writer;
    if (work.turn !== turn || work.step !== step) return false;
    const isStart = isEvent(event, "tool/call");
    const id = isStart
      ? event.data.callId
      : isEvent(event, "tool/result") && event.data.message.source.callId;
    const call = work.calls.find(({ callId }) => callId === id);
    return call !== undefined && !(isStart && call.callSeq !== undefined);
  }

  /** Takes note of what a message asks for. Returns false where one of its calls has the id of another of the Step. */
  #addCalls(event: SessionEvent): boolean {
    if (!isEvent(event, "assistant/message")) return true;
    const ids = event.data.message.content.flatMap((block) => (block.type === "tool-call" ? [block.id] : []));
    if (new Set(ids).size < ids.length || ids.some((id) => this.#calls.has(id))) return false;
    for (const id of ids) this.#calls.add(id);
    return true;
  }

  #reachTurn(turn: number, time: number): boolean {
    if (this.#writer.work.turn === turn) return true;
    if (turn <= this.#lastTurn) return false;
    this.#beginTurn(turn, time);
    return true;
  }

  #reachStep(turn: number, step: number, time: number): boolean {
    if (!this.#reachTurn(turn, time)) return false;
    if (this.#writer.work.step === step) return true;
    if (step <= this.#lastStep) return false;
    this.#writer.closeStep();
    this.#writer.begin({ type: "step/start", data: { turn, step } }, time);
    this.#noteStep(step);
    return true;
  }

  #beginTurn(turn: number, time: number): void {
    this.#writer.closeTurn();
    this.#writer.begin({ type: "turn/start", data: { turn } }, time);
    this.#noteTurn(turn);
  }

  #noteTurn(turn: number): void {
    this.#hasBegun = true;
    this.#lastTurn = turn;
    this.#lastStep = 0;
    this.#calls.clear();
  }

  #noteStep(step: number): void {
    this.#lastStep = step;
    this.#calls.clear();
  }

  /** Number of the Turn that an input behind a gap begins; nothing where it belongs to what is open. */
  #turnOfInput(behind: DecodedRecord | undefined): number | undefined {
    const next = this.#lastTurn + 1;
    const named = behind === undefined ? undefined : placeNamedBy(behind)?.turn;
    if (named === undefined) return next;
    if (behind?.event?.type === "turn/start") return named > next ? next : undefined;
    return named > this.#lastTurn ? named : undefined;
  }
}
