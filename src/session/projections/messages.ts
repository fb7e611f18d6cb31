import { isEvent, type ModelMessage, type SessionEvent } from "../events.ts";
import type { LogView } from "../log-view.ts";
import type { Surface } from "./surface.ts";

/**
 * The model's history: the surface walked in order. User events give their data, the others their message; an
 * assistant message without content is skipped. Messages of older logs that lack an id get
 * `legacy-message:<session>:<seq>`.
 */
export function modelMessages(log: LogView, surface: Surface, sessionId: string): ModelMessage[] {
  const messages: ModelMessage[] = [];
  for (const seq of surface.seqs) {
    const event = log.at(seq);
    const message = messageOf(event);
    if (message === undefined || (message.role === "assistant" && message.content.length === 0)) continue;
    messages.push(message.id === undefined ? withId(message, legacyId(log, event, sessionId)) : message);
  }
  return messages;
}

function messageOf(event: SessionEvent): ModelMessage | undefined {
  if (isEvent(event, "user/message")) return event.data;
  if (isEvent(event, "assistant/message") || isEvent(event, "tool/result")) return event.data.message;
  return undefined;
}

/** The key order is the one that dsh gives such a message, so that both make the same history byte for byte. */
function withId(message: ModelMessage, id: string): ModelMessage {
  if (message.source.kind === "tool" || message.role === "assistant") return { id, ...message };
  const { role, ...rest } = message;
  return { ...rest, id, role };
}

/** A result that stands in for an earlier one keeps the identity of the first. */
function legacyId(log: LogView, event: SessionEvent, sessionId: string): string {
  let first = event;
  while (first.type === "tool/result" && typeof first.surfaceOp === "object")
    first = log.at(first.surfaceOp.start);
  return messageOf(first)?.id ?? `legacy-message:${sessionId}:${first.seq}`;
}
