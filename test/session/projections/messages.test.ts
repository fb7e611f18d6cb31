import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isEvent, type ModelMessage, type SessionEvent } from "../../../src/session/events.ts";
import { LogView } from "../../../src/session/log-view.ts";
import { SessionProjections } from "../../../src/session/projections/index.ts";
import { decodeRecord } from "../../../src/session/records.ts";
import { arbitraryEvents, batchSizes } from "../../fixtures/arbitraries.ts";
import {
  assistantMessage,
  callBlock,
  replacing,
  textBlock,
  toolResult,
  userMessage,
} from "../../fixtures/event-drafts.ts";
import { viewOf, viewOfDrafts } from "../../fixtures/logs.ts";

const AT = { turn: 1, step: 1 };

function messagesOf(log: LogView): ModelMessage[] {
  return new SessionProjections().catchUp(log).messages(log, "s");
}

/** The history by the letter of the rule: walk the surface, take the messages, skip empty answers. */
function plainHistory(events: readonly SessionEvent[]): ModelMessage[] {
  let surface: SessionEvent[] = [];
  for (const event of events) {
    const op = event.surfaceOp;
    if (op === "append") surface.push(event);
    else if (op !== undefined) {
      const from = surface.findIndex(({ seq }) => seq === op.start);
      const to = surface.findIndex(({ seq }) => seq === op.end);
      surface = [...surface.slice(0, from), event, ...surface.slice(to + 1)];
    }
  }
  const messages: ModelMessage[] = [];
  for (const event of surface) {
    if (isEvent(event, "user/message")) messages.push(event.data);
    if (isEvent(event, "tool/result")) messages.push(event.data.message);
    if (isEvent(event, "assistant/message") && event.data.message.content.length > 0)
      messages.push(event.data.message);
  }
  return messages;
}

describe("the model's history", () => {
  test("is the messages of the surface in their order, for any session", () => {
    fc.assert(
      fc.property(arbitraryEvents(), batchSizes(), (events, sizes) => {
        expect(messagesOf(viewOf(events, sizes))).toEqual(plainHistory(events));
      }),
    );
  });

  test("leaves out an assistant message without content", () => {
    const log = viewOfDrafts([userMessage("q"), assistantMessage(AT, []), userMessage("again")]);
    expect(messagesOf(log).map(({ id }) => id)).toEqual(["user-q", "user-again"]);
  });

  test("has the summary in place of what compaction took", () => {
    const drafts = [
      userMessage("q"),
      assistantMessage(AT, [callBlock("c")]),
      toolResult(AT, "c", "long"),
      userMessage("next"),
    ];
    const log = viewOfDrafts([...drafts, replacing(userMessage("summary"), 0, 2, [0, 1, 2])]);
    expect(messagesOf(log)).toMatchObject([
      { content: [textBlock("summary")] },
      { content: [textBlock("next")] },
    ]);
  });

  test("gives a message without an id one of the session and its seq", () => {
    const [first] = viewOfDrafts([userMessage("q")]);
    const data = { role: "user" as const, content: [textBlock("q")], source: { kind: "user" } };
    const stored = { type: "user/message", seq: 1, time: 0, data, surfaceOp: "append" };
    const { record } = decodeRecord(JSON.stringify(stored), {});
    const log = new LogView([...viewOfDrafts([{ type: "session/title", data: {} }]).records(), record]);
    expect(messagesOf(log)).toEqual([{ ...data, id: "legacy-message:s:1" }]);
    expect(first?.data).toHaveProperty("id", "user-q");
  });
});
