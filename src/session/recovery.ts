import type { EventData, SessionEvent } from "./events.ts";
import { freezeJson } from "./json.ts";
import type { OpenCall, OpenWork } from "./projections/open-work.ts";

const NOT_STARTED_TEXT =
  "This tool call was not started: the session was interrupted first. Nothing happened, so it can be called again.";
const UNKNOWN_TEXT =
  "The session was interrupted while this tool ran, so whether it took effect is unknown. Call it again only if it is " +
  "read-only or idempotent; otherwise check the actual state first, or ask the user.";

/**
 * The synthetic events that balance an interrupted Turn: one error result for each unanswered call of the open Step in
 * message order, then `step/end` if a Step is open, then `turn/end` with reason `interrupted`. Empty when no Turn is open.
 *
 * Deterministic: seqs go on from `nextSeq` and every time is the last event's, so that recovery twice gives the same.
 * Source: docs/durability.md, "A crashed Turn".
 */
export function closeInterruptedTurn(openWork: OpenWork, nextSeq: number): SessionEvent[] {
  const { turn, step, calls, lastTime: time } = openWork;
  if (turn === undefined) return [];
  const events: SessionEvent[] = [];
  const seq = () => nextSeq + events.length;
  if (step !== undefined) {
    for (const call of calls) events.push(interruptedResult(call, { turn, step, seq: seq(), time }));
    events.push({ type: "step/end", seq: seq(), time, data: { turn, step } });
  }
  events.push({ type: "turn/end", seq: seq(), time, data: { turn, reason: { kind: "interrupted" } } });
  return events.map(freezeJson);
}

function interruptedResult(
  { callId, callSeq }: OpenCall,
  { turn, step, seq, time }: { turn: number; step: number; seq: number; time: number },
): SessionEvent {
  const started = callSeq !== undefined;
  const data: EventData<"tool/result"> = {
    turn,
    step,
    message: {
      id: `interrupted-tool-result-${callId}-${seq}`,
      role: "user",
      source: { kind: "tool", callId },
      content: [
        {
          type: "tool-result",
          toolCallId: callId,
          isError: true,
          content: [{ type: "text", text: started ? UNKNOWN_TEXT : NOT_STARTED_TEXT }],
        },
      ],
    },
    error: started
      ? { name: "ToolOutcomeUnknownError", code: "TOOL_OUTCOME_UNKNOWN" }
      : { name: "ToolNotStartedError", code: "TOOL_NOT_STARTED" },
  };
  return {
    type: "tool/result",
    seq,
    time,
    data,
    ...(started ? { sourceEventSeqs: [callSeq] } : {}),
    surfaceOp: "append",
  };
}
