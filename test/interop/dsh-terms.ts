import { type EventDraft, isEvent, type SessionEvent } from "../../src/session/events.ts";
import { toEvents } from "../fixtures/arbitraries.ts";

/*
 * Holdfast takes more than dsh does. These fixtures put sessions of Holdfast into the terms of dsh: event types that it
 * has, and pruned results that differ from what they replace in their content only.
 */

/** Groups of types that Holdfast takes as a whole, each with one that dsh has. */
const TYPES_OF_DSH: ReadonlyArray<readonly [string, `${string}/${string}`]> = [
  ["subagent/", "subagent/descriptor"],
  ["tool/code-dispatch", "tool/code-dispatch-start"],
  ["tool-workflow/", "tool-workflow/run-end"],
];

/** The events of drafts from seq 0, as dsh would have written them. */
export function inTermsOfDsh(drafts: readonly EventDraft[]): readonly SessionEvent[] {
  const events: SessionEvent[] = [];
  for (const event of toEvents(drafts)) events.push(withKnownType(withSameResult(event, events)));
  return events;
}

function withKnownType(event: SessionEvent): SessionEvent {
  const found = TYPES_OF_DSH.find(([prefix]) => event.type.startsWith(prefix));
  return found === undefined ? event : { ...event, type: found[1] };
}

/** A result that replaces another one gets all of it but the content of its block. */
function withSameResult(event: SessionEvent, earlier: readonly SessionEvent[]): SessionEvent {
  const { surfaceOp } = event;
  if (!isEvent(event, "tool/result") || surfaceOp === undefined || surfaceOp === "append") return event;
  const replaced = earlier[surfaceOp.start];
  if (replaced === undefined || !isEvent(replaced, "tool/result")) return event;
  const [block] = replaced.data.message.content;
  const { content } = event.data.message.content[0];
  const message = { ...replaced.data.message, content: [{ ...block, content }] as [typeof block] };
  return { ...event, data: { ...replaced.data, message } };
}

/** A member whose name is one character, written as an escape. */
const ESCAPED_NAME = /[{,]"\\(?:u[0-9a-f]{4}|[^u])":/;

/**
 * Whether Node 24 itself reads a session right. Its JSON.parse has a fault: after `{"a":1,"\\":1}` it reads the second
 * name of `{"a":1,"\n":1}` as a backslash, too. Node 20 and 26 do not.
 */
export function isSafeInNode24(drafts: readonly EventDraft[]): boolean {
  return !ESCAPED_NAME.test(JSON.stringify(drafts));
}
