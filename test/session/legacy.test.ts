import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { modernise } from "../../src/session/legacy.ts";
import { LogView } from "../../src/session/log-view.ts";
import { SessionProjections } from "../../src/session/projections/index.ts";
import { decodeRecord } from "../../src/session/records.ts";
import { arbitraryEvents } from "../fixtures/arbitraries.ts";

const TEXT = [{ type: "text", text: "hello" }];

function line(seq: number, type: string, data: unknown, surfaceOp?: unknown): string {
  return JSON.stringify({ type, seq, time: 5, data, ...(surfaceOp === undefined ? {} : { surfaceOp }) });
}

function read(type: string, data: unknown, surfaceOp?: unknown) {
  return decodeRecord(line(0, type, data, surfaceOp), {}).event;
}

describe("older shapes of version 0 are read as today's", () => {
  test("a user message without role and id", () => {
    const data = { content: TEXT, source: { kind: "user", rpcId: "r" } };
    expect(read("user/message", data, "append")?.data).toEqual({ ...data, role: "user" });
  });

  test.each([
    ["with its members beside the Turn", { turn: 2, content: TEXT, source: { kind: "user" } }],
    [
      "with a message inside",
      { turn: 2, message: { role: "user", content: TEXT, source: { kind: "user" } } },
    ],
  ])("a steering message %s is a user message", (_name, data) => {
    const decoded = decodeRecord(line(0, "steering/message", data, "append"), {});
    expect(decoded.unknownType).toBe(false);
    expect(decoded.event).toMatchObject({
      type: "user/message",
      data: { role: "user", content: TEXT, source: { kind: "user" } },
    });
    expect(decoded.event?.data).not.toHaveProperty("turn");
  });

  test("an assistant message with its provenance beside the content", () => {
    const provenance = { provider: "p", model: "m" };
    const usage = { inputTokens: 1, outputTokens: 2 };
    expect(
      read("assistant/message", { turn: 1, step: 2, content: TEXT, provenance, usage }, "append")?.data,
    ).toEqual({
      turn: 1,
      step: 2,
      usage,
      message: { role: "assistant", content: TEXT, source: { provider: "p", model: "m", kind: "model" } },
    });
  });

  test("a tool result without a message", () => {
    const data = { turn: 1, step: 2, callId: "c", content: TEXT, isError: false };
    expect(read("tool/result", data, "append")?.data).toEqual({
      turn: 1,
      step: 2,
      message: {
        role: "user",
        content: [{ type: "tool-result", toolCallId: "c", content: TEXT, isError: false }],
        source: { kind: "tool", callId: "c" },
      },
    });
  });

  test("a Turn's start drops its trigger", () => {
    expect(read("turn/start", { turn: 1, trigger: { kind: "message" }, later: 1 })?.data).toEqual({
      turn: 1,
      later: 1,
    });
  });

  test.each([
    [{ kind: "aborted" }, { kind: "aborted", reason: { kind: "legacy" } }],
    [{ kind: "disposed" }, { kind: "aborted", reason: { kind: "disposed" } }],
    [
      { kind: "error", step: 2, message: "broke" },
      { kind: "error", error: { message: "broke", code: "UNKNOWN" } },
    ],
    [
      { kind: "error", step: 2, message: "broke", code: "E1" },
      { kind: "error", error: { message: "broke", code: "E1" } },
    ],
    [
      { kind: "error", step: 0, failure: { message: "broke", code: "E2", status: 500 } },
      { kind: "error", error: { message: "broke", code: "E2", status: 500 } },
    ],
  ])("a Turn's end with reason %j", (reason, today) => {
    expect(read("turn/end", { turn: 1, reason })?.data).toEqual({ turn: 1, reason: today });
  });

  test("what is neither today's nor an older shape is still refused", () => {
    for (const [type, data] of [
      ["turn/end", { error: "boom" }],
      ["turn/end", { turn: 1, reason: { kind: "error", message: "no step" } }],
      ["assistant/message", { turn: 1, step: 1, content: TEXT }],
      ["tool/result", { turn: 1, step: 1, callId: "c", content: TEXT }],
      ["steering/message", { turn: 1 }],
      ["user/message", { source: { kind: "user" } }],
    ] as const) {
      const op = type === "turn/end" ? undefined : "append";
      expect(() => read(type, data, op)).toThrow(expect.objectContaining({ code: "corrupt" }));
    }
  });

  test("the stored text is kept as it was", () => {
    const text = line(0, "turn/start", { turn: 1, trigger: { kind: "message" } });
    const { record } = decodeRecord(text, {});
    expect([...new LogView([record]).texts()]).toEqual([text]);
    expect(new LogView([record]).at(0).data).toEqual({ turn: 1 });
  });

  test("today's events are left alone", () => {
    fc.assert(
      fc.property(arbitraryEvents(), (events) => {
        for (const event of events) {
          const row = { ...event };
          expect(modernise(row)).toBe(row);
        }
      }),
    );
  });
});

describe("messages of older logs in the model's history", () => {
  test("get ids from the session and their seq; a result that stands in for another keeps the first one's id", () => {
    const result = { turn: 1, step: 1, callId: "c", content: TEXT, isError: false };
    const call = { type: "tool-call", id: "c", name: "n", arguments: "{}" };
    const texts = [
      line(0, "user/message", { content: TEXT, source: { kind: "user" } }, "append"),
      line(
        1,
        "assistant/message",
        { turn: 1, step: 1, content: [call], provenance: { provider: "p", model: "m" } },
        "append",
      ),
      line(2, "tool/result", result, "append"),
      JSON.stringify({
        ...JSON.parse(line(3, "tool/result", result, { op: "replace", start: 2, end: 2 })),
        sourceEventSeqs: [2],
      }),
    ];
    const log = new LogView(texts.map((text) => decodeRecord(text, {}).record));
    const messages = new SessionProjections().catchUp(log).messages(log, "s");
    expect(messages.map(({ id }) => id)).toEqual([
      "legacy-message:s:0",
      "legacy-message:s:1",
      "legacy-message:s:2",
    ]);
  });
});
