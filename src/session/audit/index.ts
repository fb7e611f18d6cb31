import type { Place } from "../errors.ts";
import { isMessageType, type SessionEvent } from "../events.ts";
import { Surface } from "../projections/surface.ts";
import type { DecodedRecord } from "../records.ts";
import type { LogFault, RecordFault } from "./fault.ts";
import { SeqOrder } from "./seq-order.ts";
import { TurnBalance, type TurnState } from "./turn-balance.ts";

export { CALL_STATES } from "./tool-pairs.ts";

/** So many unknown types are remembered, so that each is told once. */
const MOST_TYPES = 1_000;
const NONE: readonly LogFault[] = [];

/** What an audit can go on from, of a log in which nothing is wrong so far. */
export interface AuditState {
  /** Seq that comes next. */
  readonly next: number;
  readonly turns: TurnState;
}

/**
 * Checks what only the whole log can show: the order of the seqs, types, what sources and replacements name, Turns and
 * Steps, and tool calls with their results. Goes on behind each fault. Source of the rules: docs/format.md.
 *
 * Takes records one by one: its memory follows the messages that a model sees, and the gaps, not the log.
 */
export class LogAudit {
  readonly #order: SeqOrder;
  readonly #turns: TurnBalance;
  readonly #surface = new Surface();
  readonly #types = new Set<string>();
  #isReadable = true;
  #faults: LogFault[] = [];

  /**
   * @param state to go on from: finds a fault in the rest just where an audit of all would, and one more at a message that stands
   * in for one before, since the messages before are not known
   */
  constructor(state?: AuditState) {
    this.#order = new SeqOrder(state?.next);
    this.#turns = new TurnBalance(state?.turns);
  }

  /** To be asked while there was no fault. */
  get state(): AuditState {
    return { next: this.#order.next, turns: this.#turns.state };
  }

  /** Whether an ordinary reader gets as far as this: it stops at a seq out of order, or at a message off the surface. */
  get isReadable(): boolean {
    return this.#isReadable;
  }

  /** Takes the record that comes next in storage, which is sound in itself. @returns what is wrong at it */
  take(decoded: DecodedRecord, placeOf: () => Place): readonly LogFault[] {
    const { record, event } = decoded;
    const report = (fault: RecordFault) => this.#faults.push(located(fault, decoded, placeOf));
    const step = this.#order.take(record, placeOf, (fault) => this.#faults.push(fault));
    if (step !== undefined) {
      this.#isReadable = false;
      this.#turns.lose(step);
    }
    if (decoded.unknownType && this.#types.size < MOST_TYPES && !this.#types.has(record.type)) {
      this.#types.add(record.type);
      report({
        code: "unknown-type",
        message: "An event has a type that nobody here knows",
        expected: "a known type, or an ignorable event",
        found: JSON.stringify(record.type),
      });
    }
    if (event !== undefined && isMessageType(event.type)) this.#takeMessage(event, report);
    this.#turns.take(decoded, report);
    return this.#drain();
  }

  /**
   * To be called after the last record.
   * @param isWhole whether nothing behind the last record is damaged, so that the end is the end of the log
   * @param placeOf where the log ends
   */
  finish(isWhole: boolean, placeOf: () => Place): readonly LogFault[] {
    this.#order.finish((fault) => this.#faults.push(fault));
    const { open } = this.#turns;
    // Nobody closes the last Turn of a log that cannot be read to its end.
    if (open !== undefined && isWhole && this.#isReadable) {
      const message = "The last Turn is open";
      this.#faults.push({
        code: "open-turn",
        message,
        place: placeOf(),
        expected: "a turn/end",
        found: open,
      });
    }
    return this.#drain();
  }

  #takeMessage(event: SessionEvent, report: (fault: RecordFault) => void): void {
    const fault = this.#surface.findFault(event);
    const missing = this.#order.findMissing(namedSeqs(event));
    if (missing !== undefined) {
      report({
        code: "reference",
        message: "A message names an event that is missing",
        expected: "events that are there",
        found: `seq ${missing}`,
      });
    } else if (fault !== undefined && !this.#order.isBroken) {
      // What is on the surface behind a gap nobody knows.
      report({
        code: "reference",
        message: "A message does not fit the surface of the log",
        expected: "a surface operation on what is there",
        found: fault,
      });
    }
    if (fault !== undefined) this.#isReadable = false;
    this.#surface.fold(fault === undefined ? event : { ...event, surfaceOp: "append" });
  }

  #drain(): readonly LogFault[] {
    if (this.#faults.length === 0) return NONE;
    const faults = this.#faults;
    this.#faults = [];
    return faults;
  }
}

function namedSeqs({ sourceEventSeqs = [], surfaceOp }: SessionEvent): readonly number[] {
  if (surfaceOp === undefined || surfaceOp === "append") return sourceEventSeqs;
  return [...sourceEventSeqs, surfaceOp.start, surfaceOp.end];
}

function located(fault: RecordFault, { record }: DecodedRecord, placeOf: () => Place): LogFault {
  return { ...fault, place: { ...placeOf(), seq: record.seq, eventType: record.type } };
}
