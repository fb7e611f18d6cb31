import type { MessageCreateParamsStreaming, MessageParam, Tool } from "@anthropic-ai/sdk/resources/messages";
import type { ModelRequest, ToolDescriptor } from "../../provider.ts";
import { wellFormedObject, withExtraBody } from "../http/body.ts";
import { toMessages } from "./messages.ts";

/** The API asks for a limit. All of its present models give as much, and it leaves room for thinking. */
export const DEFAULT_MAX_TOKENS = 32_000;

/** The body of one streaming Messages request. */
export interface MessagesRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly system?: string;
  readonly tools?: readonly Tool[];
  readonly messages: readonly MessageParam[];
  readonly temperature?: number;
  readonly stop_sequences?: readonly string[];
  readonly thinking?: MessageCreateParamsStreaming["thinking"];
  readonly output_config?: { readonly effort: string };
  readonly stream: true;
}

/** What no extra member replaces: the route, the history, and that the answer streams, which all else relies on. */
const FIXED = ["model", "messages", "stream"];

/**
 * A model request in the words of the Messages API.
 *
 * Pure, with a fixed key order: equal requests give the same bytes, so that the prompt cache hits and thinking, which is
 * bound to what came before it, stays valid. Strings are made well-formed. A reasoning effort turns thinking on, with a
 * summary to read.
 *
 * Members of `extraBody` win over these and follow them, but for {@link FIXED}.
 */
export function toMessagesRequest(request: ModelRequest): MessagesRequest {
  const { config, system, tools } = request;
  const { temperature, stop, reasoningEffort } = config;
  const body: MessagesRequest = {
    model: config.model.toWellFormed(),
    max_tokens: config.maxTokens ?? DEFAULT_MAX_TOKENS,
    ...(system === undefined || system.trim() === "" ? {} : { system: system.toWellFormed() }),
    ...(tools.length === 0 ? {} : { tools: tools.map(toTool) }),
    messages: toMessages(request.messages, config.model),
    ...(temperature === undefined ? {} : { temperature }),
    ...(stop === undefined ? {} : { stop_sequences: stop.map((text) => text.toWellFormed()) }),
    ...(reasoningEffort === undefined
      ? {}
      : {
          thinking: { type: "adaptive", display: "summarized" },
          output_config: { effort: reasoningEffort.toWellFormed() },
        }),
    stream: true,
  };
  return withExtraBody(body, config.extraBody, FIXED);
}

function toTool({ name, description, parameters }: ToolDescriptor): Tool {
  return {
    name: name.toWellFormed(),
    description: description.toWellFormed(),
    // The API asks for this member, and for no other type.
    input_schema: { ...wellFormedObject(parameters), type: "object" },
  };
}
