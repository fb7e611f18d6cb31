import type {
  AssistantMessage,
  ContentBlock,
  RequestHeader,
  ToolMessage,
  UserMessage,
} from "../../src/session/events.ts";

/*
 * What the provider must be asked, worked out from the log by the words of Chat Completions and not by the code that
 * asks. Strings are well-formed there; in the log they need not be.
 */

/** One message of a request, as JSON. */
export type ChatMessageText = string;

export function userMessage({ content }: UserMessage): ChatMessageText {
  return JSON.stringify({ role: "user", content: textOf(content) });
}

/** An answer in a history. What is sent of it is a matter of the model that is asked. */
export interface AnswerInHistory {
  readonly model: string;
  /** Whether the model wants its thoughts back from here on. */
  readonly reasons: boolean;
  readonly plain: ChatMessageText | undefined;
  readonly withThoughts: ChatMessageText | undefined;
}

export function assistantMessage(message: AssistantMessage): AnswerInHistory {
  const { content, source } = message;
  const thoughts = content.flatMap((block) => (block.type === "reasoning" ? [block.text] : [])).join("");
  return {
    model: source.model,
    reasons: "replayState" in source,
    plain: answerText(message, {}),
    withThoughts: answerText(message, { reasoning_content: thoughts }),
  };
}

/** Nothing for an answer without words and calls. */
function answerText({ content }: AssistantMessage, told: object): ChatMessageText | undefined {
  const text = textOf(content);
  const calls = content.flatMap((block) => (block.type === "tool-call" ? [block] : []));
  if (calls.length === 0)
    return text === "" ? undefined : JSON.stringify({ role: "assistant", content: text, ...told });
  return JSON.stringify({
    role: "assistant",
    content: text === "" ? null : text,
    ...told,
    tool_calls: calls.map(({ id, name, arguments: args }) => ({
      id,
      type: "function",
      function: { name, arguments: sentArguments(args) },
    })),
  });
}

export function toolMessage({ content: [block], source }: ToolMessage): ChatMessageText {
  return JSON.stringify({ role: "tool", tool_call_id: source.callId, content: textOf(block.content) });
}

/** The whole body. */
export function requestBody(
  history: ReadonlyArray<ChatMessageText | AnswerInHistory>,
  { config, tools }: RequestHeader,
): string {
  let reasons = false;
  const messages = history.flatMap((entry) => {
    if (typeof entry === "string") return [entry];
    const isOwn = entry.model === config.model;
    reasons ||= isOwn && entry.reasons;
    return (isOwn && reasons ? entry.withThoughts : entry.plain) ?? [];
  });
  const list = Array.isArray(tools) ? tools : [];
  const functions = list.map((tool: unknown) => ({ type: "function", function: tool }));
  const model = JSON.stringify(config.model);
  const rest = '"stream":true,"stream_options":{"include_usage":true}';
  return `{"model":${model},"messages":[${messages.join(",")}],"tools":${JSON.stringify(functions)},${rest}}`;
}

function textOf(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text.toWellFormed()] : [])).join("");
}

/** A model's arguments as they go back to it: sound ones as they are, but for halves of characters in their strings. */
function sentArguments(args: string): string {
  let value: unknown;
  try {
    value = JSON.parse(args);
  } catch {
    return JSON.stringify({ malformed_arguments: args });
  }
  const text = JSON.stringify(value, (_, member: unknown) =>
    typeof member === "string" ? member.toWellFormed() : member,
  );
  return text === JSON.stringify(value) ? args : text;
}
