import { isEvent, type ModelMessage } from "../events.ts";
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
    const message = messageAt(log, seq);
    if (message === undefined || (message.role === "assistant" && message.content.length === 0)) continue;
    messages.push(message.id === undefined ? { ...message, id: `legacy-message:${sessionId}:${seq}` } : message);
  }
  return messages;
}

function messageAt(log: LogView, seq: number): ModelMessage | undefined {
  const event = log.at(seq);
  if (isEvent(event, "user/message")) return event.data;
  if (isEvent(event, "assistant/message") || isEvent(event, "tool/result")) return event.data.message;
  return undefined;
}
