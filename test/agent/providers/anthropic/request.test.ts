import { describe, expect, test } from "bun:test";
import type { ModelRequest } from "../../../../src/agent/provider.ts";
import { createAnthropic } from "../../../../src/agent/providers/anthropic/index.ts";
import { DEFAULT_MAX_TOKENS, toMessagesRequest } from "../../../../src/agent/providers/anthropic/request.ts";
import type { ContentBlock, ModelMessage } from "../../../../src/session/events.ts";
import { ProviderServer, statusReply } from "../../../fixtures/provider-server.ts";

function user(...content: ContentBlock[]): ModelMessage {
  return { id: "u", role: "user", content, source: { kind: "user" } };
}

function assistant(...content: ContentBlock[]): ModelMessage {
  return {
    id: "a",
    role: "assistant",
    content,
    source: { kind: "model", provider: "anthropic", model: "m" },
  };
}

function toolResult(callId: string, value: string, isError = false): ModelMessage {
  return {
    id: "t",
    role: "user",
    content: [{ type: "tool-result", toolCallId: callId, content: [{ type: "text", text: value }], isError }],
    source: { kind: "tool", callId },
  };
}

const text = (value: string): ContentBlock => ({ type: "text", text: value });
const call = (id: string, args = "{}", name = "f"): ContentBlock => ({
  type: "tool-call",
  id,
  name,
  arguments: args,
});

type Config = ModelRequest["config"];
const config: Config = { provider: "anthropic", model: "m" };

function bodyOf(messages: readonly ModelMessage[], rest: Partial<ModelRequest> = {}) {
  return toMessagesRequest({ config, tools: [], messages, ...rest });
}

/** The messages as they are sent: as JSON. */
function sent(...messages: ModelMessage[]): unknown {
  return JSON.parse(JSON.stringify(bodyOf(messages).messages));
}

describe("the history", () => {
  test("has the results of a Step together and first in one message, followed by what the user says", () => {
    expect(
      sent(
        user(text("hello")),
        assistant(
          { type: "reasoning", text: "hmm" },
          text("Let me look."),
          call("c1", '{"a":1}'),
          call("c2"),
        ),
        toolResult("c1", "one"),
        toolResult("c2", "it failed", true),
        user(text("and?")),
        assistant(text("Done.")),
        user(text("thanks")),
      ),
    ).toEqual([
      { role: "user", content: [{ type: "text", text: "hello" }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Let me look." },
          { type: "tool_use", id: "c1", name: "f", input: { a: 1 } },
          { type: "tool_use", id: "c2", name: "f", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c1", content: "one" },
          { type: "tool_result", tool_use_id: "c2", content: "it failed", is_error: true },
          { type: "text", text: "and?" },
        ],
      },
      { role: "assistant", content: [{ type: "text", text: "Done." }] },
      { role: "user", content: [{ type: "text", text: "thanks" }] },
    ]);
  });

  test("takes turns: a message with nothing to send falls out, and its neighbours become one", () => {
    expect(
      sent(user(text("a")), assistant({ type: "reasoning", text: "hm" }, text(" \n")), user(text("b"))),
    ).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
    ]);
  });

  test("begins with the user, also where a log does not", () => {
    expect(sent(assistant(text("hello")), user(text("hi")))).toMatchObject([
      { role: "user" },
      { role: "assistant" },
      { role: "user" },
    ]);
  });

  test("has no empty text: the API refuses it", () => {
    expect(
      sent(
        user(text("")),
        assistant(call("c")),
        toolResult("c", " "),
        user({ type: "image", attachment: 1 }),
      ),
    ).toEqual([
      { role: "user", content: [{ type: "text", text: "[empty message]" }] },
      { role: "assistant", content: [{ type: "tool_use", id: "c", name: "f", input: {} }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c" },
          { type: "text", text: "[image attachment]" },
        ],
      },
    ]);
  });

  test("wraps arguments that are no JSON object, and keeps the digits of the others", () => {
    const body = JSON.stringify(
      bodyOf([
        assistant(
          call("a", ""),
          call("b", '{"a":'),
          call("c", "[1]"),
          call("d", '{"id":1234567890123456789,"one":1.0}'),
          call("e", '{"s":"\\ud800"}'),
        ),
      ]),
    );
    const inputs = [...body.matchAll(/"input":(\{.*?\})\}/g)].map((match) => match[1]);
    expect(inputs).toEqual([
      "{}",
      '{"malformed_arguments":"{\\"a\\":"}',
      '{"malformed_arguments":"[1]"}',
      '{"id":1234567890123456789,"one":1.0}',
      '{"s":"\ufffd"}',
    ]);
  });

  test("gives ids and names of other providers a form that the API takes, the same in call and result", () => {
    const id = "functions.f:0";
    const body = JSON.stringify(
      bodyOf([user(text("x")), assistant(call(id, "{}", "my.tool")), toolResult(id, "y")]),
    );
    const [, callId, name, resultId] =
      /"id":"([\w-]+)","name":"([\w-]+)".*"tool_use_id":"([\w-]+)"/.exec(body) ?? [];
    expect(name).toBe("my_tool");
    expect(callId).toBe(resultId ?? "");
  });
});

describe("the body", () => {
  const full: Config = { ...config, temperature: 0, maxTokens: 7, stop: ["END"], reasoningEffort: "high" };

  test("has its members in one order, and the settings that were given", () => {
    const tools = [{ name: "f", description: "F", parameters: { properties: { a: {} } } }];
    expect(JSON.stringify(bodyOf([user(text("x"))], { config: full, system: "Be kind.", tools }))).toBe(
      '{"model":"m","max_tokens":7,"system":"Be kind.",' +
        '"tools":[{"name":"f","description":"F","input_schema":{"properties":{"a":{}},"type":"object"}}],' +
        '"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}],' +
        '"temperature":0,"stop_sequences":["END"],"thinking":{"type":"adaptive","display":"summarized"},' +
        '"output_config":{"effort":"high"},"stream":true}',
    );
    expect(Object.keys(bodyOf([], { system: " " }))).toEqual(["model", "max_tokens", "messages", "stream"]);
    expect(bodyOf([]).max_tokens).toBe(DEFAULT_MAX_TOKENS);
  });

  test("takes further members, which win, but for the route, the history and the streaming", () => {
    const extraBody = {
      thinking: { type: "disabled" },
      top_k: 3,
      model: "other",
      messages: [],
      stream: false,
    };
    expect<object>(bodyOf([user(text("x"))], { config: { ...full, extraBody } })).toMatchObject({
      model: "m",
      messages: [{ role: "user" }],
      thinking: { type: "disabled" },
      stream: true,
      top_k: 3,
    });
  });

  test("has no lone surrogate", () => {
    const lone = "a\ud800b";
    const body = bodyOf(
      [
        user(text(lone)),
        assistant(text(lone), call(lone, JSON.stringify({ [lone]: lone }), lone)),
        toolResult(lone, lone),
      ],
      {
        system: lone,
        config: {
          ...config,
          model: lone,
          stop: [lone],
          reasoningEffort: lone,
          extraBody: { [lone]: [lone] },
        },
        tools: [{ name: lone, description: lone, parameters: { type: "object", [lone]: { deep: lone } } }],
      },
    );
    expect(JSON.stringify(body)).not.toMatch(/\\ud[89a-f]/i);
  });
});

test("the version of the API is the present one, but the one before where a sampling parameter asks for it", async () => {
  await using server = new ProviderServer(statusReply(400, ""), statusReply(400, ""), statusReply(400, ""));
  const provider = createAnthropic({ baseUrl: server.origin, requestTimeoutMs: 30_000 });
  for (const settings of [{}, { temperature: 1 }, { extraBody: { top_p: 0.5 } }]) {
    const request = { config: { ...config, ...settings }, tools: [], messages: [user(text("x"))] };
    await Array.fromAsync(provider.stream(request, new AbortController().signal)).catch(() => undefined);
  }
  expect(server.requests.map(({ headers }) => headers.get("anthropic-version"))).toEqual([
    "2026-10-21",
    "2023-06-01",
    "2023-06-01",
  ]);
});
