import { z } from "zod";
import type { ProvisionalDelta } from "../../agent/live-feed.ts";
import {
  type Chunk,
  type EventData,
  findEventFault,
  isEvent,
  type SessionEvent,
} from "../../session/events.ts";
import { joinText } from "../../session/projections/transcript.ts";
import type { TurnUpdate } from "./source.ts";

const retrySchema = z.looseObject({ delayMs: z.number(), error: z.looseObject({ message: z.string() }) });

/** Reads the events of one Turn, and deltas ahead of them, as what a person is shown. */
export class TurnReader {
  /** Seq of the last delta that was shown ahead of its event. */
  #shown = -1;
  /** The Step of which text was streamed. */
  #streamed: string | undefined;
  readonly #calls = new Map<string, { readonly name: string; readonly arguments: string }>();

  /** A delta that is not durable yet. */
  provisional({ seq, turn, step, chunk }: ProvisionalDelta): TurnUpdate[] {
    this.#shown = seq;
    return this.#delta({ turn, step, chunk });
  }

  /** An event as it stands in a log. What this version does not know is passed over. */
  event(value: unknown): TurnUpdate[] {
    return findEventFault(value) === undefined ? this.#event(value as SessionEvent) : [];
  }

  #event(event: SessionEvent): TurnUpdate[] {
    if (isEvent(event, "assistant/chunk")) return event.seq > this.#shown ? this.#delta(event.data) : [];
    if (isEvent(event, "assistant/message")) return this.#message(event.data);
    if (isEvent(event, "tool/call")) {
      const { callId, name, arguments: args } = event.data;
      return [{ kind: "call", callId, name, arguments: args }];
    }
    if (isEvent(event, "tool/result")) return [this.#result(event.data)];
    if (event.type !== "llm/retry") return [];
    const retry = retrySchema.safeParse(event.data);
    if (!retry.success) return [];
    return [{ kind: "retry", message: retry.data.error.message, delayMs: retry.data.delayMs }];
  }

  #delta({
    turn,
    step,
    chunk,
  }: {
    readonly turn: number;
    readonly step: number;
    readonly chunk: Chunk;
  }): TurnUpdate[] {
    if (chunk.type !== "text-delta" && chunk.type !== "reasoning-delta") return [];
    const kind = chunk.type === "text-delta" ? "text" : "reasoning";
    if (kind === "text") this.#streamed = `${turn}/${step}`;
    return [{ kind, text: chunk.text, block: `${turn}/${step}/${chunk.index}` }];
  }

  #message({ turn, step, message }: EventData<"assistant/message">): TurnUpdate[] {
    for (const block of message.content) if (block.type === "tool-call") this.#calls.set(block.id, block);
    const text = joinText(message.content);
    // A provider need not stream its answers.
    if (text === "" || this.#streamed === `${turn}/${step}`) return [];
    return [{ kind: "text", text, block: `${turn}/${step}` }];
  }

  #result({ message, error }: EventData<"tool/result">): TurnUpdate {
    const { callId } = message.source;
    const { name, arguments: args } = this.#calls.get(callId) ?? { name: callId, arguments: "" };
    const failed = message.content[0].isError === true;
    return {
      kind: "result",
      callId,
      name,
      arguments: args,
      ...(failed ? { failure: error?.code ?? "" } : {}),
    };
  }
}
