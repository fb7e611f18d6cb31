import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionFunctionTool,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import type { ContentBlock, ModelMessage } from "../../../session/events.ts";
import { findJsonFault, type JsonObject, type JsonValue } from "../../../session/json.ts";
import type { ModelRequest, ToolDescriptor } from "../../provider.ts";

/** The body of one streaming Chat Completions request. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatCompletionMessageParam[];
  readonly tools?: readonly ChatCompletionFunctionTool[];
  readonly temperature?: number;
  readonly max_tokens?: number;
  readonly stop?: readonly string[];
  readonly reasoning_effort?: string;
  readonly stream: true;
  readonly stream_options: { readonly include_usage: true };
}

/**
 * A model request in the words of Chat Completions.
 *
 * Pure, with a fixed key order: equal requests give the same bytes, so that a provider's prompt cache hits. Strings are
 * made well-formed, because many servers refuse a body with a lone surrogate.
 */
export function toChatRequest(request: ModelRequest): ChatRequest {
  const { config } = request;
  const messages: ChatCompletionMessageParam[] = [];
  if (request.system !== undefined) messages.push({ role: "system", content: request.system.toWellFormed() });
  for (const message of request.messages) addMessage(messages, message);
  return {
    model: config.model.toWellFormed(),
    messages,
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(toTool) }),
    ...(config.temperature === undefined ? {} : { temperature: config.temperature }),
    ...(config.maxTokens === undefined ? {} : { max_tokens: config.maxTokens }),
    ...(config.stop === undefined ? {} : { stop: config.stop.map((text) => text.toWellFormed()) }),
    ...(config.reasoningEffort === undefined
      ? {}
      : { reasoning_effort: config.reasoningEffort.toWellFormed() }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

function addMessage(messages: ChatCompletionMessageParam[], message: ModelMessage): void {
  if (message.role === "assistant") {
    const assistant = toAssistant(message.content);
    if (assistant !== undefined) messages.push(assistant);
    return;
  }
  const rest: ContentBlock[] = [];
  for (const block of message.content) {
    if (block.type !== "tool-result") rest.push(block);
    else {
      messages.push({
        role: "tool",
        tool_call_id: block.toolCallId.toWellFormed(),
        content: joinText(block.content, "\n"),
      });
    }
  }
  if (rest.length > 0 || message.content.length === 0) {
    messages.push({ role: "user", content: joinText(rest, "\n") });
  }
}

/** Reasoning is not sent back. A message that held nothing else is left out: servers refuse an empty one. */
function toAssistant(content: readonly ContentBlock[]): ChatCompletionAssistantMessageParam | undefined {
  const text = joinText(content, "");
  const calls = content.filter((block) => block.type === "tool-call");
  if (calls.length === 0) return text === "" ? undefined : { role: "assistant", content: text };
  return {
    role: "assistant",
    content: text === "" ? null : text,
    tool_calls: calls.map((call) => ({
      id: call.id.toWellFormed(),
      type: "function",
      function: { name: call.name.toWellFormed(), arguments: replayArguments(call.arguments) },
    })),
  };
}

/**
 * Arguments as they go back to the model. Several servers parse them and refuse the whole request when they are no JSON,
 * which would make the session unusable after one bad call: such text is wrapped.
 */
function replayArguments(text: string): string {
  if (text.trim() === "") return "{}";
  const plain = text.toWellFormed();
  const value = parseObject(plain);
  if (value === undefined) return JSON.stringify({ malformed_arguments: plain });
  // Escapes may hide a lone surrogate from toWellFormed. JSON.stringify writes those, and no others, as escapes.
  return JSON.stringify(value).includes("\\ud") ? JSON.stringify(wellFormedObject(value)) : plain;
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return findJsonFault(value) === undefined && isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

// Only for what JSON.parse returned: its objects hold JSON and nothing else.
function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function joinText(content: readonly ContentBlock[], separator: string): string {
  const parts: string[] = [];
  for (const block of content) {
    if (block.type === "text") parts.push(block.text.toWellFormed());
    else if (block.type === "image") parts.push("[image attachment]");
  }
  return parts.join(separator);
}

function toTool(tool: ToolDescriptor): ChatCompletionFunctionTool {
  return {
    type: "function",
    function: {
      name: tool.name.toWellFormed(),
      description: tool.description.toWellFormed(),
      parameters: wellFormedObject(tool.parameters),
    },
  };
}

function wellFormedObject(value: JsonObject): Record<string, JsonValue> {
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key.toWellFormed(), wellFormed(member)]),
  );
}

function wellFormed(value: JsonValue): JsonValue {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (isArray(value)) return value.map(wellFormed);
  return wellFormedObject(value);
}

// Array.isArray does not narrow readonly arrays.
function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
