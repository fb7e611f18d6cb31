import type { EventData, StrictEvent } from "../../src/session/events.ts";

/* What closes a Turn that was cut off, from docs/durability.md. The texts are promised to models. */

const NOT_STARTED_TEXT =
  "This tool call was not started: the session was interrupted first. Nothing happened, so it can be called again.";
const UNKNOWN_TEXT =
  "The session was interrupted while this tool ran, so whether it took effect is unknown. Call it again only if it is " +
  "read-only or idempotent; otherwise check the actual state first, or ask the user.";
const ABORTED_TEXT = "This tool call was stopped before it gave a result. Whether it took effect is unknown.";

const NOT_STARTED = { name: "ToolNotStartedError", code: "TOOL_NOT_STARTED" };
const UNKNOWN = { name: "ToolOutcomeUnknownError", code: "TOOL_OUTCOME_UNKNOWN" };
const ABORTED = { name: "ToolAbortedError", code: "TOOL_ABORTED" };

/** The answer to a call in an answer that reached its token limit. */
export const CUT_OFF = {
  text: "This tool call was not run: the answer reached its token limit first. Ask for less at once, and call it again.",
  error: NOT_STARTED,
};

/** A call without a result; `seq` is that of its `tool/call`, where it was started. */
export interface UnansweredCall {
  readonly id: string;
  readonly seq: number | undefined;
}

/** What is open at the end of a log. */
export interface OpenEnd {
  readonly turn: number;
  /** Absent when no Step is open. */
  readonly step: number | undefined;
  readonly calls: readonly UnansweredCall[];
  /** Seq that comes next, and the time of the last event. */
  readonly seq: number;
  readonly time: number;
}

/** The events that recovery adds. */
export function closersOf({ turn, step, calls, seq, time }: OpenEnd): object[] {
  const events: object[] = calls.map((call, k) => {
    const { text, error } = recovered(call);
    const content = [{ type: "text", text }];
    const message = {
      id: `interrupted-tool-result-${call.id}-${seq + k}`,
      role: "user",
      source: { kind: "tool", callId: call.id },
      content: [{ type: "tool-result", toolCallId: call.id, isError: true, content }],
    };
    const sources = call.seq === undefined ? {} : { sourceEventSeqs: [call.seq] };
    return { type: "tool/result", data: { turn, step, message, error }, ...sources, surfaceOp: "append" };
  });
  if (step !== undefined) events.push({ type: "step/end", data: { turn, step } });
  events.push({ type: "turn/end", data: { turn, reason: { kind: "interrupted" } } });
  return events.map((event, k) => ({ ...event, seq: seq + k, time }));
}

function recovered({ seq }: UnansweredCall) {
  return seq === undefined
    ? { text: NOT_STARTED_TEXT, error: NOT_STARTED }
    : { text: UNKNOWN_TEXT, error: UNKNOWN };
}

/**
 * Whether a result stands in for one that never came: added by recovery, or when the Turn was stopped.
 * @param at seq that comes next, and the time of the event before
 */
export function standIn(
  { data, seq, time }: Extract<StrictEvent, { type: "tool/result" }>,
  call: UnansweredCall,
  at: { readonly time: number },
): "interrupted" | "stopped" | undefined {
  const found = outcomeIn(data);
  if (data.message.id === `interrupted-tool-result-${call.id}-${seq}`) {
    return time === at.time && Bun.deepEquals(found, recovered(call), true) ? "interrupted" : undefined;
  }
  const stopped = call.seq === undefined ? recovered(call) : { text: ABORTED_TEXT, error: ABORTED };
  return Bun.deepEquals(found, stopped, true) ? "stopped" : undefined;
}

/** A result as its tool gave it. @throws Error when it contradicts itself */
export function outcomeIn({ message, error, meta }: EventData<"tool/result">): object {
  const [{ content, isError }] = message.content;
  const [block] = content;
  if (content.length !== 1 || block?.type !== "text") throw new Error("its result is not one text");
  if (isError !== (error !== undefined)) throw new Error("it says both that it failed and that it did not");
  return {
    text: block.text,
    ...(error === undefined ? {} : { error }),
    ...(meta === undefined ? {} : { meta }),
  };
}
