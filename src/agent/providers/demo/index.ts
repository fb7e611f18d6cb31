import type { Chunk } from "../../../session/events.ts";
import type { ModelRequest, Provider } from "../../provider.ts";
import { countCharacters, type PlannedCall, planStep } from "./plan.ts";

export interface DemoOptions {
  /** Waited for before each delta, so that a person sees the answer stream. No wait when absent. */
  readonly delay?: (signal: AbortSignal) => Promise<void>;
}

/**
 * The provider `demo`: no key, no network, and always the same answer to the same request.
 *
 * It reasons, streams words, and calls the read-only workspace tools where they are offered: it lists the folder and
 * searches it, reads a file, then says what it found. An input that begins with `say ` is answered with what follows.
 */
export function createDemo(options: DemoOptions = {}): Provider {
  const delay = options.delay ?? (async () => undefined);
  return { name: "demo", stream: (request, signal) => stream(request, signal, delay) };
}

async function* stream(
  request: ModelRequest,
  signal: AbortSignal,
  delay: (signal: AbortSignal) => Promise<void>,
): AsyncGenerator<Chunk, void, undefined> {
  signal.throwIfAborted();
  for (const chunk of answer(request)) {
    try {
      if (chunk.type.endsWith("-delta")) await delay(signal);
    } finally {
      // Also where the delay was stopped: it may throw something else than the signal's reason.
      signal.throwIfAborted();
    }
    yield chunk;
  }
}

function* answer(request: ModelRequest): Generator<Chunk, void, undefined> {
  const { reasoning, text, calls } = planStep(request);
  let index = 0;
  if (reasoning !== "") yield* prose(index++, "reasoning", reasoning);
  if (text !== "") yield* prose(index++, "text", text);
  for (const call of calls) yield* toolCall(index++, call);
  const written = reasoning + text + calls.map((call) => call.name + call.arguments).join("");
  yield {
    type: "usage",
    usage: {
      inputTokens: tokens(countCharacters(request)),
      outputTokens: tokens(written.length),
      reasoningTokens: tokens(reasoning.length),
    },
  };
  yield { type: "finish", reason: { kind: calls.length > 0 ? "tool-calls" : "stop" } };
}

function* prose(index: number, type: "reasoning" | "text", text: string): Generator<Chunk, void, undefined> {
  yield { type: "block-start", index, blockType: type };
  // A word with the space before it; a space at the very end is a piece of its own.
  for (const piece of text.match(/\s*\S+|\s+$/g) ?? []) {
    yield { type: type === "text" ? "text-delta" : "reasoning-delta", index, text: piece };
  }
  yield { type: "block-end", index, block: { type, text } };
}

function* toolCall(index: number, call: PlannedCall): Generator<Chunk, void, undefined> {
  const { id, name } = call;
  yield { type: "block-start", index, blockType: "tool-call" };
  yield { type: "tool-call-delta", index, id, name, argumentsDelta: call.arguments.slice(0, 1) };
  yield { type: "tool-call-delta", index, id, argumentsDelta: call.arguments.slice(1) };
  yield { type: "block-end", index, block: { type: "tool-call", id, name, arguments: call.arguments } };
}

/** Four characters to a token: near enough, and always the same. */
function tokens(characters: number): number {
  return Math.ceil(characters / 4);
}
