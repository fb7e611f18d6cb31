import { describe, expect, test } from "bun:test";
import type { ModelRequest } from "../../../../src/agent/provider.ts";
import { toChatRequest } from "../../../../src/agent/providers/openai-compatible/request.ts";
import type { ContentBlock, ModelMessage } from "../../../../src/session/events.ts";

function user(...content: ContentBlock[]): ModelMessage {
  return { id: "u", role: "user", content, source: { kind: "user" } };
}

function assistant(...content: ContentBlock[]): ModelMessage {
  return { id: "a", role: "assistant", content, source: { kind: "model", provider: "p", model: "m" } };
}

function toolResult(callId: string, text: string, isError: boolean): ModelMessage {
  return {
    id: "t",
    role: "user",
    content: [{ type: "tool-result", toolCallId: callId, content: [{ type: "text", text }], isError }],
    source: { kind: "tool", callId },
  };
}

function request(messages: readonly ModelMessage[], rest: Partial<ModelRequest> = {}): ModelRequest {
  return { config: { provider: "openai-compatible", model: "m" }, tools: [], messages, ...rest };
}

const call = (id: string, args: string): ContentBlock => ({
  type: "tool-call",
  id,
  name: "f",
  arguments: args,
});
const text = (value: string): ContentBlock => ({ type: "text", text: value });

describe("toChatRequest", () => {
  test("maps a whole history: system, user, assistant with calls, results, answer", () => {
    const { messages } = toChatRequest(
      request(
        [
          user(text("hello")),
          assistant(
            { type: "reasoning", text: "hmm" },
            text("Let me look."),
            call("c1", '{"a":1}'),
            call("c2", "{}"),
          ),
          toolResult("c1", "one", false),
          toolResult("c2", "it failed", true),
          assistant(text("Done.")),
        ],
        { system: "Be kind." },
      ),
    );
    expect(messages).toEqual([
      { role: "system", content: "Be kind." },
      { role: "user", content: "hello" },
      {
        role: "assistant",
        content: "Let me look.",
        tool_calls: [
          { id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } },
          { id: "c2", type: "function", function: { name: "f", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "c1", content: "one" },
      { role: "tool", tool_call_id: "c2", content: "it failed" },
      { role: "assistant", content: "Done." },
    ]);
  });

  test("reasoning that nobody asks for is not sent back, and a message that held nothing else is left out", () => {
    const { messages } = toChatRequest(
      request([user(text("x")), assistant({ type: "reasoning", text: "hmm" })]),
    );
    expect(messages).toEqual([{ role: "user", content: "x" }]);
  });

  test("calls without text have null content", () => {
    const { messages } = toChatRequest(request([assistant(call("c1", "{}"))]));
    expect(messages[0]).toMatchObject({ role: "assistant", content: null });
  });

  test("an image becomes a note, and several blocks become one text", () => {
    const { messages } = toChatRequest(
      request([user(text("see"), { type: "image", attachment: { id: 1 } })]),
    );
    expect(messages).toEqual([{ role: "user", content: "see\n[image attachment]" }]);
  });

  test("arguments that are no JSON object are wrapped, since servers refuse the whole request otherwise", () => {
    const sent = (args: string) => {
      const [message] = toChatRequest(request([assistant(call("c", args))])).messages;
      if (message?.role !== "assistant") throw new Error("no assistant message");
      const [first] = message.tool_calls ?? [];
      return first?.type === "function" ? first.function.arguments : undefined;
    };
    expect(sent('{"a": 1}')).toBe('{"a": 1}');
    expect(sent("")).toBe("{}");
    expect(sent('{"a":')).toBe('{"malformed_arguments":"{\\"a\\":"}');
    expect(sent(`{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`)).toStartWith('{"malformed_arguments"');
    expect(sent("[1]")).toBe('{"malformed_arguments":"[1]"}');
  });

  test("call settings are passed on, and left out where they are not set", () => {
    const full = toChatRequest(
      request([], {
        config: {
          provider: "p",
          model: "m",
          temperature: 0,
          maxTokens: 7,
          stop: ["END"],
          reasoningEffort: "xhigh",
        },
      }),
    );
    expect(full).toEqual({
      model: "m",
      messages: [],
      temperature: 0,
      max_tokens: 7,
      stop: ["END"],
      reasoning_effort: "xhigh",
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(Object.keys(toChatRequest(request([])))).toEqual([
      "model",
      "messages",
      "stream",
      "stream_options",
    ]);
  });

  test("further members win, and null takes one away, but for the route, the history and the streaming", () => {
    const extraBody = {
      seed: 1,
      temperature: 1,
      stream_options: null,
      user: null,
      "lone\ud800": "\ud800",
      model: "other",
      messages: [],
      stream: false,
    };
    const body = toChatRequest(
      request([user(text("x"))], { config: { provider: "p", model: "m", temperature: 0, extraBody } }),
    );
    expect(JSON.stringify(body)).toBe(
      '{"model":"m","messages":[{"role":"user","content":"x"}],"temperature":1,"stream":true,' +
        '"seed":1,"user":null,"lone\ufffd":"\ufffd"}',
    );
  });

  test("tools are described as functions, in the order given", () => {
    const parameters = { type: "object", properties: { a: { type: "string" } } };
    const { tools } = toChatRequest(
      request([], {
        tools: [
          { name: "b", description: "B", parameters },
          { name: "a", description: "A", parameters: { type: "object" } },
        ],
      }),
    );
    expect(tools).toEqual([
      { type: "function", function: { name: "b", description: "B", parameters } },
      { type: "function", function: { name: "a", description: "A", parameters: { type: "object" } } },
    ]);
  });

  test("equal requests give the same bytes, and message ids are not among them", () => {
    const build = (id: string) =>
      JSON.stringify(
        toChatRequest(
          request([{ id, role: "user", content: [text("x")], source: { kind: "user" } }], { system: "s" }),
        ),
      );
    expect(build("one")).toBe(build("two"));
    expect(build("one")).not.toContain("one");
  });

  test("lone surrogates become well-formed in every string that is sent", () => {
    const lone = "a\ud800b";
    const body = toChatRequest(
      request(
        [
          user(text(lone)),
          assistant(text(lone), call(lone, JSON.stringify({ a: lone }))),
          toolResult(lone, lone, false),
        ],
        {
          system: lone,
          config: { provider: "p", model: lone, stop: [lone], reasoningEffort: lone },
          tools: [
            { name: lone, description: lone, parameters: { type: "object", [lone]: [lone, { deep: lone }] } },
          ],
        },
      ),
    );
    const json = JSON.stringify(body);
    expect(json).not.toMatch(/\\ud[89a-f]/i);
    expect(json).toContain("a\ufffdb");
  });
});
