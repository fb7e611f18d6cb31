import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionFunctionTool,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import type { AssistantMessage, ContentBlock, ModelMessage } from "../../../session/events.ts";
import type { ModelRequest, ToolDescriptor } from "../../provider.ts";
import {
  hidesSurrogate,
  malformedArguments,
  parseArguments,
  wellFormedObject,
  withExtraBody,
} from "../http/body.ts";
import { PROVIDER_NAME, type ReasoningField, type Replay, replayOf } from "./replay.ts";

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

/** What no extra member replaces: the route, the history, and that the answer streams, which all else relies on. */
const FIXED = ["model", "messages", "stream"];

/**
 * A model request in the words of Chat Completions.
 *
 * Pure, with a fixed key order: equal requests give the same bytes, so that a provider's prompt cache hits. Strings are
 * made well-formed, because many servers refuse a body with a lone surrogate.
 *
 * Members of `extraBody` win over these and follow them, but for {@link FIXED}.
 */
export function toChatRequest(request: ModelRequest): ChatRequest {
  const { config } = request;
  const messages: ChatCompletionMessageParam[] = [];
  if (request.system !== undefined) messages.push({ role: "system", content: request.system.toWellFormed() });
  const replays = new Replays(config.model);
  for (const message of request.messages) addMessage(messages, message, replays);
  const body: ChatRequest = {
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
  return withExtraBody(body, config.extraBody, FIXED);
}

/** An assistant message with what some servers want back beside the content. */
type AssistantParam = ChatCompletionAssistantMessageParam & Partial<Record<ReasoningField, string>>;

/** Says what goes back with each message of a history, in order. */
class Replays {
  readonly #model: string;
  #reasoning: ReasoningField | undefined;

  constructor(model: string) {
    this.#model = model;
  }

  /**
   * A server that once told its reasoning is told that of every later message of this model, also of one that was cut off
   * before its end: DeepSeek refuses the whole history otherwise.
   */
  of(message: AssistantMessage): Omit<Replay, "blocks"> {
    const { provider, model } = message.source;
    const replay = replayOf(message, this.#model);
    this.#reasoning = replay?.reasoning ?? this.#reasoning;
    if (provider !== PROVIDER_NAME || model !== this.#model || this.#reasoning === undefined)
      return replay ?? {};
    return { ...replay, reasoning: this.#reasoning };
  }
}

function addMessage(messages: ChatCompletionMessageParam[], message: ModelMessage, replays: Replays): void {
  if (message.role === "assistant") {
    const assistant = toAssistant(message.content, replays.of(message));
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

/**
 * Reasoning goes back only under the name it came in. A message that held nothing else is left out: servers refuse an empty
 * one.
 */
function toAssistant(
  content: readonly ContentBlock[],
  { reasoning, calls: extras = [] }: Omit<Replay, "blocks">,
): AssistantParam | undefined {
  const text = joinText(content, "");
  const calls = content.flatMap((block, at) => (block.type === "tool-call" ? [{ ...block, at }] : []));
  const told = reasoning === undefined ? {} : { [reasoning]: reasoningOf(content) };
  if (calls.length === 0) return text === "" ? undefined : { role: "assistant", content: text, ...told };
  return {
    role: "assistant",
    content: text === "" ? null : text,
    ...told,
    tool_calls: calls.map(({ at, ...call }) => {
      const extra = extras.find(({ block }) => block === at)?.extra;
      return {
        id: call.id.toWellFormed(),
        type: "function",
        function: { name: call.name.toWellFormed(), arguments: replayArguments(call.arguments) },
        ...(extra === undefined ? {} : { extra_content: extra }),
      };
    }),
  };
}

function reasoningOf(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => (block.type === "reasoning" ? [block.text.toWellFormed()] : [])).join("");
}

/**
 * Arguments as they go back to the model. Several servers parse them and refuse the whole request when they are no JSON,
 * which would make the session unusable after one bad call: such text is wrapped.
 */
function replayArguments(text: string): string {
  if (text.trim() === "") return "{}";
  const plain = text.toWellFormed();
  const value = parseArguments(plain);
  if (value === undefined) return JSON.stringify(malformedArguments(plain));
  return hidesSurrogate(value) ? JSON.stringify(wellFormedObject(value)) : plain;
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
