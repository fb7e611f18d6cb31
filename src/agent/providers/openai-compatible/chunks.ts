import type { Chunk, Usage } from "../../../session/events.ts";
import { clip } from "../../../session/text.ts";
import { badResponse, failedMidway, refused } from "../http/errors.ts";
import { type FinishKind, finishKind } from "../http/finish.ts";
import { REASONING_FIELDS, type ReasoningField, type Replay } from "./replay.ts";
import { ToolCallAssembler } from "./tool-calls.ts";
import { proseOf, streamChunkSchema, type WireDelta, type WireUsage } from "./wire.ts";

type ProseType = "text" | "reasoning";

const FINISH_KINDS: ReadonlyMap<string, FinishKind> = new Map([
  ["stop", "stop"],
  ["tool_calls", "tool-calls"],
  ["function_call", "tool-calls"],
  ["length", "max-tokens"],
  ["model_length", "max-tokens"],
  ["max_tokens", "max-tokens"],
  // Other servers' words for "stop".
  ["eos", "stop"],
  ["eos_token", "stop"],
  ["stop_sequence", "stop"],
  ["end_turn", "stop"],
]);
// The provider gave up, and says so in the finish reason.
const FAILURES: ReadonlySet<string> = new Set([
  "error",
  "abort",
  "insufficient_system_resource",
  "network_error",
]);
/** Gemini says behind it what was found. */
const FILTERED = /^(content_filter|sensitive|safety)\b/;

class ProseBlock {
  readonly index: number;
  readonly type: ProseType;
  #text = "";

  constructor(index: number, type: ProseType) {
    this.index = index;
    this.type = type;
  }

  add(text: string): Chunk {
    this.#text += text;
    return { type: this.type === "text" ? "text-delta" : "reasoning-delta", index: this.index, text };
  }

  end(): Chunk {
    return { type: "block-end", index: this.index, block: { type: this.type, text: this.#text } };
  }
}

/**
 * Turns the stream of one answer into chunks of the format.
 *
 * A text or reasoning block ends where something else begins, so that their order is kept. Tool calls may arrive side
 * by side and stay open until the answer is over; what is still open then ends in index order. After the finish reason or
 * the mark at the end only the usage may come: more content means that the server lost track of its own answer. The
 * finish carries the replay state.
 */
export class ChunkAssembler {
  readonly #calls = new ToolCallAssembler();
  readonly #mask: (text: string) => string;
  #blocks = 0;
  #prose: ProseBlock | undefined;
  #finish: string | undefined;
  #reasoningField: ReasoningField | undefined;
  #isOver = false;
  #usage: WireUsage | undefined;

  /** @param mask hides the API key in words of the provider that go into errors */
  constructor(mask: (text: string) => string = (text) => text) {
    this.#mask = mask;
  }

  /** Takes one parsed item of the stream. @throws ProviderError when it breaks the protocol. */
  add(item: unknown): Chunk[] {
    const parsed = streamChunkSchema.safeParse(item);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      const where = clip(issue?.path.map(String).join(".") || "the chunk", 80);
      throw badResponse(`The provider sent a chunk of an unknown shape (${where})`);
    }
    const { choices, usage } = parsed.data;
    if (usage != null) this.#usage = usage;
    const chunks: Chunk[] = [];
    for (const choice of choices ?? []) {
      // One answer was asked for; a server that sends more gets its first one read.
      if ((choice.index ?? 0) !== 0) continue;
      if (choice.delta != null) this.#addDelta(choice.delta, chunks);
      if (choice.finish_reason) this.#setFinish(choice.finish_reason);
    }
    return chunks;
  }

  /** The server says that nothing follows. */
  markEnd(): void {
    this.#isOver = true;
  }

  /** The chunks at the end of the stream. @throws ProviderError when the answer is not complete. */
  close(): Chunk[] {
    if (this.#finish === undefined) {
      throw badResponse("The provider's answer ended before it was complete (no finish reason)");
    }
    const chunks = this.#calls.close();
    const open = [...(this.#prose === undefined ? [] : [this.#prose]), ...this.#calls.ends()];
    open.sort((a, b) => a.index - b.index);
    for (const block of open) chunks.push(block.end());
    if (this.#usage !== undefined) chunks.push({ type: "usage", usage: toUsage(this.#usage) });
    const kind = finishKind(FINISH_KINDS.get(this.#finish) ?? "stop", this.#calls.size);
    const replayState = this.#replayState();
    chunks.push({
      type: "finish",
      reason: { kind },
      ...(replayState === undefined ? {} : { replayState }),
    });
    return chunks;
  }

  #replayState(): Replay | undefined {
    const calls = this.#calls.extras();
    if (this.#reasoningField === undefined && calls.length === 0) return undefined;
    return {
      blocks: this.#blocks,
      ...(this.#reasoningField === undefined ? {} : { reasoning: this.#reasoningField }),
      ...(calls.length === 0 ? {} : { calls }),
    };
  }

  #addDelta(delta: WireDelta, chunks: Chunk[]): void {
    const prose = proseOf(delta);
    const fragments = delta.tool_calls ?? [];
    const isLate = this.#isOver || this.#finish !== undefined;
    if (isLate && (prose.some(([, text]) => text !== "") || fragments.length > 0)) {
      throw badResponse("The provider went on after the end of its answer");
    }
    // Also without a word: such a server asks for the member with each message.
    this.#reasoningField ??= REASONING_FIELDS.find((name) => typeof delta[name] === "string");
    for (const [type, text] of prose) this.#addProse(type, text, chunks);
    for (const fragment of fragments) {
      this.#endProse(chunks);
      chunks.push(...this.#calls.add(fragment, () => this.#nextIndex()));
    }
  }

  #addProse(type: ProseType, text: string, chunks: Chunk[]): void {
    if (text === "") return;
    if (this.#prose?.type !== type) this.#endProse(chunks);
    if (this.#prose === undefined) {
      this.#prose = new ProseBlock(this.#nextIndex(), type);
      chunks.push({ type: "block-start", index: this.#prose.index, blockType: type });
    }
    chunks.push(this.#prose.add(text));
  }

  #endProse(chunks: Chunk[]): void {
    if (this.#prose === undefined) return;
    chunks.push(this.#prose.end());
    this.#prose = undefined;
  }

  #nextIndex(): number {
    this.#blocks += 1;
    return this.#blocks - 1;
  }

  #setFinish(word: string): void {
    const reason = word.toLowerCase();
    if (FILTERED.test(reason)) throw refused("The provider's content filter stopped the answer");
    if (FAILURES.has(reason)) throw failedMidway(reason);
    if (!FINISH_KINDS.has(reason)) {
      // Masked before it is cut: half a key is a leak too.
      const named = clip(this.#mask(word), 40);
      throw badResponse(`The provider ended with an unknown finish reason "${named}"`);
    }
    if (this.#finish !== undefined && this.#finish !== reason) {
      throw badResponse(`The provider sent two finish reasons, "${this.#finish}" and "${reason}"`);
    }
    this.#finish = reason;
  }
}

/** Tokens as the format counts them: `inputTokens` includes the cached ones; what was not reported is left out. */
function toUsage(usage: WireUsage): Usage {
  const cached = usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens;
  const reasoning = usage.completion_tokens_details?.reasoning_tokens;
  return {
    inputTokens: usage.prompt_tokens,
    outputTokens: usage.completion_tokens,
    ...(cached == null ? {} : { cacheReadTokens: cached }),
    ...(reasoning == null ? {} : { reasoningTokens: reasoning }),
  };
}
