import { isEvent, type SessionEvent } from "../events.ts";
import type { RecordFault } from "./fault.ts";

type Report = (fault: RecordFault) => void;

export const CALL_STATES = ["asked", "started", "answered"] as const;
/** What came of a call so far. */
export type CallState = (typeof CALL_STATES)[number];

/**
 * The tool calls of one Step: its message asks for them, each is started at most once, and each has one result. A call
 * that was never started has a result as well.
 */
export class ToolPairs {
  readonly #calls: Map<string, CallState>;

  /** @param calls of the Step so far, as {@link calls} had them */
  constructor(calls: Iterable<readonly [id: string, state: CallState]> = []) {
    this.#calls = new Map(calls);
  }

  get calls(): ReadonlyArray<readonly [id: string, state: CallState]> {
    return [...this.#calls];
  }

  /** Calls without a result. */
  get unanswered(): readonly string[] {
    return [...this.#calls].flatMap(([id, state]) => (state === "answered" ? [] : [id]));
  }

  /** Takes an event of the Step that is appended to the surface, or a `tool/call`. */
  take(event: SessionEvent, report: Report): void {
    if (isEvent(event, "assistant/message")) {
      for (const block of event.data.message.content)
        if (block.type === "tool-call") this.#ask(block.id, report);
    } else if (isEvent(event, "tool/call")) this.#start(event.data.callId, report);
    else if (isEvent(event, "tool/result")) this.#answer(event.data.message.source.callId, report);
  }

  /** The Step ends. */
  end(report: Report): void {
    for (const id of this.unanswered) {
      const expected = `a result of the call ${JSON.stringify(id)} before its Step ends`;
      report(fault("A tool call has no result", expected, "none"));
    }
  }

  #ask(id: string, report: Report): void {
    if (this.#calls.has(id)) {
      report(fault("Two tool calls of one Step have the same id", "an id of its own", JSON.stringify(id)));
    }
    this.#calls.set(id, "asked");
  }

  #start(id: string, report: Report): void {
    const state = this.#calls.get(id);
    const found = `the start of ${JSON.stringify(id)}`;
    if (state === undefined) {
      report(fault("A tool call starts that no message asks for", "a call of the Step's message", found));
    } else if (state === "started") {
      report(fault("A tool call starts twice", "one start of each call", `${found} again`));
    } else if (state === "answered") {
      report(fault("A tool call starts after its result", "its start before its result", found));
      return;
    }
    this.#calls.set(id, "started");
  }

  #answer(id: string, report: Report): void {
    const state = this.#calls.get(id);
    const found = `a result of ${JSON.stringify(id)}`;
    if (state === undefined) {
      report(fault("A tool result has no call", "the result of a call of the Step's message", found));
    } else if (state === "answered") {
      report(fault("A tool call has two results", "one result of each call", `${found} again`));
    }
    this.#calls.set(id, "answered");
  }
}

function fault(message: string, expected: string, found: string): RecordFault {
  return { code: "tool-pairing", message, expected, found };
}
