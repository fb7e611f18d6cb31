import type {
  ContentBlockParam,
  MessageParam,
  ToolResultBlockParam,
} from "@anthropic-ai/sdk/resources/messages";
import type { AssistantMessage, ContentBlock, ModelMessage } from "../../../session/events.ts";
import { exactArguments, malformedArguments } from "../http/body.ts";
import { type Replay, replayOf } from "./replay.ts";

/**
 * A history as the API takes it: user and assistant in turns, each with something to say, the user first. What it refuses
 * or what says nothing is left out: blank texts, thinking without a signature, messages without anything else.
 *
 * @param model the thinking of other models is left out
 */
export function toMessages(messages: readonly ModelMessage[], model: string): MessageParam[] {
  const out: Array<{ role: "user" | "assistant"; content: ContentBlockParam[] }> = [];
  const add = (role: "user" | "assistant", content: ContentBlockParam[]) => {
    if (content.length === 0) return;
    const last = out.at(-1);
    if (last?.role === role) last.content.push(...content);
    else out.push({ role, content });
  };
  for (const message of messages) {
    if (message.role === "user") add("user", toUser(message.content));
    else {
      const content = toAssistant(message, replayOf(message, model));
      if (out.length === 0 && content.length > 0) add("user", [text("[earlier messages are missing]")]);
      add("assistant", content);
    }
  }
  return out;
}

function toUser(content: readonly ContentBlock[]): ContentBlockParam[] {
  const results = content.flatMap((block) => (block.type === "tool-result" ? [toResult(block)] : []));
  const said = joinText(content);
  if (said.trim() !== "") return [...results, text(said)];
  return results.length > 0 ? results : [text("[empty message]")];
}

function toResult(block: Extract<ContentBlock, { type: "tool-result" }>): ToolResultBlockParam {
  const content = joinText(block.content);
  return {
    type: "tool_result",
    tool_use_id: callId(block.toolCallId),
    ...(content.trim() === "" ? {} : { content }),
    ...(block.isError === true ? { is_error: true } : {}),
  };
}

/** The blocks in the order in which they came. Thinking at the end is left out: it has nothing to lead up to. */
function toAssistant(message: AssistantMessage, replay: Replay | undefined): ContentBlockParam[] {
  const out: ContentBlockParam[] = [];
  const hidden = (at: number) => {
    for (const { before, block } of replay?.hidden ?? []) if (before === at) out.push(block);
  };
  for (const [at, block] of message.content.entries()) {
    hidden(at);
    switch (block.type) {
      case "reasoning": {
        const signature = replay?.signatures.find((entry) => entry.block === at)?.signature;
        if (signature !== undefined) out.push({ type: "thinking", thinking: block.text, signature });
        break;
      }
      case "text":
        if (block.text.trim() !== "") out.push(text(block.text.toWellFormed()));
        break;
      case "tool-call":
        out.push({
          type: "tool_use",
          id: callId(block.id),
          name: block.name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 128),
          input: exactArguments(block.arguments) ?? malformedArguments(block.arguments),
        });
        break;
      default:
    }
  }
  hidden(message.content.length);
  while (out.at(-1)?.type === "thinking" || out.at(-1)?.type === "redacted_thinking") out.pop();
  return out;
}

/**
 * An id that the API takes, from whichever provider: others use characters that it refuses. The same id always comes to
 * the same, so that results still name their call.
 */
function callId(id: string): string {
  return /^[A-Za-z0-9_-]+$/.test(id) ? id : `id_${Buffer.from(id).toString("base64url")}`;
}

function joinText(content: readonly ContentBlock[]): string {
  const parts: string[] = [];
  for (const block of content) {
    if (block.type === "text") parts.push(block.text.toWellFormed());
    else if (block.type === "image") parts.push("[image attachment]");
  }
  return parts.join("\n");
}

function text(value: string): ContentBlockParam {
  return { type: "text", text: value };
}
