import type { ModelMessage, ToolMessage } from "../session/events.ts";
import type { Session } from "../session/session.ts";
import type { CallSettings, ModelRequest, ToolDescriptor } from "./provider.ts";
import type { Route } from "./providers/registry.ts";

const MISSING_RESULT_TEXT =
  "The result of this tool call is missing from the history. Whether it took effect is unknown.";

/** What every request of a Turn has in common; the `header` of `request/header`. */
export interface RequestEnvelope {
  readonly config: Route & CallSettings;
  /** Names the settings in `config` that the provider filled in. */
  readonly adapterDefaults?: Readonly<Record<string, true>>;
  readonly system?: string;
  readonly tools: readonly ToolDescriptor[];
}

/** The envelope for these settings; what they leave open and the provider needs is filled in from its defaults. */
export function requestEnvelope(
  route: Route,
  settings: CallSettings,
  defaults: CallSettings,
  rest: Pick<RequestEnvelope, "system" | "tools">,
): RequestEnvelope {
  const filled = Object.keys(defaults).filter((name) => !Object.hasOwn(settings, name));
  return {
    config: { provider: route.provider, model: route.model, ...defaults, ...settings },
    ...(filled.length === 0
      ? {}
      : { adapterDefaults: Object.fromEntries(filled.map((name) => [name, true as const])) }),
    ...rest,
  };
}

/**
 * The model request that a session stands for right now: its latest envelope and its surface, nothing else. The same
 * log gives the same request, before and after a restart.
 */
export function buildRequest(session: Session, { config, system, tools }: RequestEnvelope): ModelRequest {
  return {
    config,
    ...(system === undefined ? {} : { system }),
    tools,
    messages: pairToolCalls(session.projections.messages(session.log, session.id)),
  };
}

/**
 * A history that providers accept: each tool call is followed by exactly one result before anything else is said. Our
 * own logs are like that already; logs of other writers may not be. A call without a result gets one that says so,
 * and results without a call, or beyond the first, are left out.
 */
export function pairToolCalls(messages: readonly ModelMessage[]): ModelMessage[] {
  const out: ModelMessage[] = [];
  for (const [index, message] of messages.entries()) {
    if (isResult(message)) continue;
    out.push(message);
    if (message.role !== "assistant") continue;
    const results = resultsAfter(messages, index);
    for (const id of callIds(message)) out.push(results.get(id) ?? missingResult(id));
  }
  return out;
}

function isResult(message: ModelMessage): message is ToolMessage {
  return message.role === "user" && message.source.kind === "tool";
}

function callIds(message: ModelMessage): Set<string> {
  return new Set(message.content.flatMap((block) => (block.type === "tool-call" ? [block.id] : [])));
}

/** First result of each call up to the next assistant message, which would otherwise answer calls of its own. */
function resultsAfter(messages: readonly ModelMessage[], index: number): Map<string, ToolMessage> {
  const results = new Map<string, ToolMessage>();
  for (let at = index + 1; at < messages.length; at += 1) {
    const message = messages[at];
    if (message === undefined || message.role === "assistant") break;
    if (isResult(message) && !results.has(message.source.callId)) results.set(message.source.callId, message);
  }
  return results;
}

function missingResult(callId: string): ToolMessage {
  return {
    id: `missing-tool-result-${callId}`,
    role: "user",
    source: { kind: "tool", callId },
    content: [
      {
        type: "tool-result",
        toolCallId: callId,
        isError: true,
        content: [{ type: "text", text: MISSING_RESULT_TEXT }],
      },
    ],
  };
}
