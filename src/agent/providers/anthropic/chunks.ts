import type { Chunk, Usage } from "../../../session/events.ts";
import { clip } from "../../../session/text.ts";
import { badResponse, fromStream, refused } from "../http/errors.ts";
import { parseData, type ServerEvent } from "../http/events.ts";
import { type FinishKind, finishKind } from "../http/finish.ts";
import type { AnswerReader } from "../http/provider.ts";
import { type Answer, openBlock, type StreamBlock } from "./blocks.ts";
import type { ReplayParts } from "./replay.ts";
import { eventSchema, type StopDetails, type WireEvent, type WireUsage } from "./wire.ts";

const FINISH_KINDS: ReadonlyMap<string, FinishKind> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["tool_use", "tool-calls"],
  ["max_tokens", "max-tokens"],
  ["model_context_window_exceeded", "max-tokens"],
  // Only tools of the API's own pause an answer. What is there is whole but unfinished: the next input goes on with it.
  ["pause_turn", "max-tokens"],
]);

const EVENT_TYPES: ReadonlySet<string> = new Set(eventSchema.options.map(({ shape }) => shape.type.value));

/**
 * Turns the events of one Messages answer into chunks of the format.
 *
 * Events of unknown types are ignored, as the API asks of its clients. After the stop reason only the usage may come:
 * more content means that the server lost track of its own answer. The finish carries the replay state.
 */
export class MessageAssembler implements AnswerReader {
  readonly #mask: (text: string) => string;
  readonly #answer: Answer = { replay: { signatures: [], hidden: [] }, callIds: new Set(), blocks: 0 };
  /** By the provider's index; `undefined` for blocks that ended. */
  readonly #blocks = new Map<number, StreamBlock | undefined>();
  readonly #usage: Record<string, number> = {};
  #isStarted = false;
  #stopReason: string | undefined;
  #isOver = false;

  constructor(mask: (text: string) => string) {
    this.#mask = mask;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  add(event: ServerEvent): Chunk[] {
    // Not of this protocol, but some servers that speak several say goodbye with it.
    if (event.data.trim() === "[DONE]") return [];
    const item = parseData(event);
    const type = typeOf(item) ?? event.event;
    if (type === "error" || event.event === "error") throw fromStream(item, this.#mask);
    if (type === undefined || !EVENT_TYPES.has(type)) {
      if (typeof item === "object" && item !== null) return [];
      throw badResponse("The provider sent an event that is no object");
    }
    const parsed = eventSchema.safeParse(item);
    if (parsed.success) return this.#take(parsed.data);
    const where = clip(parsed.error.issues[0]?.path.map(String).join(".") || "the event", 80);
    throw badResponse(`The provider sent a ${type} event of an unknown shape (${where})`);
  }

  close(): Chunk[] {
    if (!this.#isOver || this.#stopReason === undefined) {
      throw badResponse("The provider's answer ended before it was complete");
    }
    const kind = finishKind(FINISH_KINDS.get(this.#stopReason) ?? "stop", this.#answer.callIds.size);
    const usage = toUsage(this.#usage);
    const replayState = this.#replayState();
    return [
      ...(usage === undefined ? [] : [{ type: "usage" as const, usage }]),
      { type: "finish", reason: { kind }, ...(replayState === undefined ? {} : { replayState }) },
    ];
  }

  #take(event: WireEvent): Chunk[] {
    switch (event.type) {
      case "message_start":
        if (this.#isStarted) throw wentOn();
        this.#isStarted = true;
        this.#count(event.message?.usage);
        return [];
      case "content_block_start": {
        this.#checkOpen();
        if (this.#blocks.has(event.index)) throw badResponse("The provider began a block twice");
        const block = openBlock(event.content_block, this.#answer);
        this.#blocks.set(event.index, block);
        return block.start();
      }
      case "content_block_delta":
        return this.#block(event.index).add(event.delta);
      case "content_block_stop": {
        const block = this.#block(event.index);
        this.#blocks.set(event.index, undefined);
        return block.end();
      }
      case "message_delta":
        this.#count(event.usage);
        if (event.delta?.stop_reason) this.#stop(event.delta.stop_reason, event.delta.stop_details);
        return [];
      case "message_stop":
        if (this.#stopReason === undefined) throw badResponse("The provider sent no stop reason");
        this.#isOver = true;
        return [];
    }
  }

  #checkOpen(): void {
    if (this.#stopReason !== undefined) throw wentOn();
  }

  #block(index: number): StreamBlock {
    this.#checkOpen();
    const block = this.#blocks.get(index);
    if (block === undefined) throw badResponse("The provider sent a part of a block that is not open");
    return block;
  }

  #stop(reason: string, details: StopDetails): void {
    // Masked before it is cut: half a key is a leak too.
    const named = clip(this.#mask(reason), 40);
    if (this.#stopReason !== undefined && this.#stopReason !== reason) {
      throw badResponse(`The provider sent two stop reasons, "${this.#stopReason}" and "${named}"`);
    }
    if (reason === "refusal") {
      const words = [details?.category, details?.explanation].filter(Boolean).join(": ");
      const tail = words === "" ? "" : ` (${clip(this.#mask(words), 200)})`;
      throw refused(`The model refused to answer${tail}`);
    }
    if (!FINISH_KINDS.has(reason)) {
      throw badResponse(`The provider ended with an unknown stop reason "${named}"`);
    }
    if ([...this.#blocks.values()].some((block) => block !== undefined)) {
      throw badResponse("The provider ended its answer in the middle of a block");
    }
    this.#stopReason = reason;
  }

  /** Each report is of the whole answer so far; what a later one leaves out stands. */
  #count(usage: WireUsage | null | undefined): void {
    if (usage == null) return;
    const { output_tokens_details, ...counts } = usage;
    for (const [name, tokens] of Object.entries(counts)) if (tokens != null) this.#usage[name] = tokens;
    const thinking = output_tokens_details?.thinking_tokens;
    if (thinking != null) this.#usage["thinking_tokens"] = thinking;
  }

  #replayState(): (ReplayParts & { readonly blocks: number }) | undefined {
    const { replay, blocks } = this.#answer;
    const isNeeded = replay.signatures.length > 0 || replay.hidden.length > 0;
    return isNeeded ? { blocks, ...replay } : undefined;
  }
}

/** Tokens as the format counts them: `inputTokens` includes the cached ones; what was not reported is left out. */
function toUsage(counts: Readonly<Record<string, number>>): Usage | undefined {
  const written = counts["cache_creation_input_tokens"];
  const read = counts["cache_read_input_tokens"];
  const fresh = counts["input_tokens"];
  const output = counts["output_tokens"];
  const reasoning = counts["thinking_tokens"];
  if (fresh === undefined || output === undefined) return undefined;
  return {
    inputTokens: fresh + (written ?? 0) + (read ?? 0),
    outputTokens: output,
    ...(read === undefined ? {} : { cacheReadTokens: read }),
    ...(written === undefined ? {} : { cacheWriteTokens: written }),
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
  };
}

function typeOf(item: unknown): string | undefined {
  if (typeof item !== "object" || item === null || !("type" in item)) return undefined;
  return typeof item.type === "string" ? item.type : undefined;
}

function wentOn() {
  return badResponse("The provider went on after the end of its answer");
}
