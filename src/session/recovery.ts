import type { EventData, EventDraft, SessionEvent, TurnEndReason } from "./events.ts";
import { freezeJson } from "./json.ts";
import type { OpenCall, OpenWork } from "./projections/open-work.ts";

const NOT_STARTED_TEXT =
  "This tool call was not started: the session was interrupted first. Nothing happened, so it can be called again.";
const UNKNOWN_TEXT =
  "The session was interrupted while this tool ran, so whether it took effect is unknown. Call it again only if it is " +
  "read-only or idempotent; otherwise check the actual state first, or ask the user.";

/** What an unanswered call is answered with. */
export interface ClosingAnswer {
  readonly messageId: string;
  readonly text: string;
  readonly error: { readonly name: string; readonly code: string };
}

/**
 * What ends an open Turn: one error result for each unanswered call of the open Step in message order, then `step/end`
 * if a Step is open, then `turn/end` with `reason`. Empty when no Turn is open.
 *
 * `answer` gets the call and the position of its result among the drafts.
 */
export function closeTurn(
  { turn, step, calls }: OpenWork,
  reason: TurnEndReason,
  answer: (call: OpenCall, position: number) => ClosingAnswer,
): EventDraft[] {
  if (turn === undefined) return [];
  const drafts: EventDraft[] = [];
  if (step !== undefined) {
    for (const [position, call] of calls.entries()) {
      const data = errorResult(turn, step, call.callId, answer(call, position));
      const sources = call.callSeq === undefined ? {} : { sourceEventSeqs: [call.callSeq] };
      drafts.push({ type: "tool/result", data, ...sources, surfaceOp: "append" });
    }
    drafts.push({ type: "step/end", data: { turn, step } });
  }
  drafts.push({ type: "turn/end", data: { turn, reason } });
  return drafts;
}

/** The answer to a call that was cut off: not started, or started with an unknown outcome. */
export function interruptedAnswer({ callSeq }: OpenCall, messageId: string): ClosingAnswer {
  return callSeq === undefined
    ? { messageId, text: NOT_STARTED_TEXT, error: { name: "ToolNotStartedError", code: "TOOL_NOT_STARTED" } }
    : {
        messageId,
        text: UNKNOWN_TEXT,
        error: { name: "ToolOutcomeUnknownError", code: "TOOL_OUTCOME_UNKNOWN" },
      };
}

/**
 * The synthetic events that balance a Turn which a crash interrupted. Empty when no Turn is open.
 *
 * Deterministic: seqs go on from `nextSeq` and every time is the last event's, so that recovery twice gives the same.
 * Source: docs/durability.md, "A crashed Turn".
 */
export function closeInterruptedTurn(openWork: OpenWork, nextSeq: number): SessionEvent[] {
  const drafts = closeTurn(openWork, { kind: "interrupted" }, (call, position) =>
    interruptedAnswer(call, `interrupted-tool-result-${call.callId}-${nextSeq + position}`),
  );
  return drafts.map(({ type, ...rest }, index) =>
    freezeJson({ type, seq: nextSeq + index, time: openWork.lastTime, ...rest }),
  );
}

function errorResult(
  turn: number,
  step: number,
  callId: string,
  { messageId, text, error }: ClosingAnswer,
): EventData<"tool/result"> {
  return {
    turn,
    step,
    message: {
      id: messageId,
      role: "user",
      source: { kind: "tool", callId },
      content: [
        { type: "tool-result", toolCallId: callId, isError: true, content: [{ type: "text", text }] },
      ],
    },
    error,
  };
}
