import { InvalidEventError, NotSerialisableError } from "../session/errors.ts";
import type { AssistantMessage, Chunk, ContentBlock, Usage } from "../session/events.ts";
import type { LogWriter } from "../session/log.ts";
import { waitFor } from "../session/wait-for.ts";
import { describeError } from "./errors.ts";
import type { ProvisionalDelta } from "./live-feed.ts";
import { type ModelRequest, type Provider, ProviderError } from "./provider.ts";
import type { Route } from "./providers/registry.ts";
import { type RetryPolicy, retryDelay, waitForRetry } from "./retry.ts";

/** Where in the conversation a Step stands. */
export interface StepPlace {
  readonly turn: number;
  readonly step: number;
}

/** What one model answer came to. */
export interface StepAnswer {
  readonly message: AssistantMessage;
  readonly finish: "stop" | "tool-calls" | "max-tokens";
}

/** What it takes to get an answer and to keep it. */
export interface StepOptions {
  readonly provider: Provider;
  readonly request: ModelRequest;
  readonly place: StepPlace;
  readonly writer: LogWriter;
  readonly messageId: string;
  readonly retry: RetryPolicy;
  /** Told of each delta before it is durable. */
  readonly offer: (delta: ProvisionalDelta) => void;
  readonly signal: AbortSignal;
}

/**
 * Streams one model answer into the log: its chunks as they come, then the whole as one `assistant/message` that cites
 * them. Returns when that is durable.
 *
 * A request that fails before its first delta is made again as the policy says, each time after an `llm/retry` event.
 *
 * When the signal stops it, what was said so far becomes an interrupted message, so that the history shows it; when the
 * provider fails, the chunks stay in the log but nothing half-made enters the history.
 * @throws ProviderError, the signal's reason, or what the store threw
 */
export async function streamAnswer(options: StepOptions): Promise<StepAnswer> {
  const { place, writer, retry, signal } = options;
  for (let failed = 1; ; failed += 1) {
    const attempt = new Attempt(options);
    try {
      return await attempt.run();
    } catch (error) {
      const delayMs = attempt.isOver ? undefined : retryDelay(error, failed, retry);
      if (delayMs === undefined) throw error;
      signal.throwIfAborted();
      const data = { ...place, attempt: failed, delayMs, error: describeError(error) };
      await writer.append({ type: "llm/retry", data });
      await waitForRetry(delayMs, signal, retry);
    }
  }
}

/** One model request and its answer. */
class Attempt {
  readonly #options: StepOptions;
  readonly #answer = new AnswerParts();
  readonly #firstSeq: number;
  /** Starts of blocks and counts of tokens that nothing has followed yet: a failure now leaves nothing behind. */
  #held: Chunk[] = [];
  #isRefused = false;

  constructor(options: StepOptions) {
    this.#options = options;
    this.#firstSeq = options.writer.nextSeq;
  }

  /** Whether there can be no other attempt: something of the answer was handed to the log, or the log refused it. */
  get isOver(): boolean {
    return this.#isRefused || this.#options.writer.nextSeq > this.#firstSeq;
  }

  async run(): Promise<StepAnswer> {
    const { provider, request, signal } = this.#options;
    const answer = this.#answer;
    try {
      for await (const chunk of abortable(provider.stream(request, signal), signal)) {
        if (answer.finish !== undefined) throw badAnswer("it went on after its end");
        answer.add(chunk);
        await this.#write(chunk);
      }
      const finish = answer.finish?.kind;
      if (finish !== "stop" && finish !== "tool-calls" && finish !== "max-tokens") {
        throw badAnswer(finish === undefined ? "it stopped before its end" : `it ended as ${finish}`);
      }
      if (answer.repeatsCallId) throw badAnswer("it makes two calls with the same id");
      return { message: await this.#commit(false), finish };
    } catch (error) {
      // The log refused a chunk, which shows with the event after it. The writer takes nothing more.
      if (error instanceof InvalidEventError || error instanceof NotSerialisableError) {
        this.#isRefused = true;
        throw badAnswer(error.message);
      }
      if (signal.aborted && answer.hasWords) await this.#commit(true);
      if (signal.aborted) throw signal.reason;
      throw error;
    }
  }

  async #write(chunk: Chunk): Promise<void> {
    this.#held.push(chunk);
    if (chunk.type === "block-start" || (chunk.type === "usage" && !this.isOver)) return;
    const ready = this.#held;
    this.#held = [];
    const { place, writer, offer } = this.#options;
    for (const next of ready) {
      const seq = writer.nextSeq;
      const handed = writer.push({ type: "assistant/chunk", data: { ...place, chunk: next } });
      if (isDelta(next)) offer({ ...place, seq, chunk: next });
      await handed;
    }
  }

  async #commit(interrupted: boolean): Promise<AssistantMessage> {
    const { place, request, writer, messageId } = this.#options;
    const answer = this.#answer;
    const message = answer.message(messageId, request.config, interrupted);
    const sources = Array.from({ length: writer.nextSeq - this.#firstSeq }, (_, k) => this.#firstSeq + k);
    await writer.append({
      type: "assistant/message",
      data: {
        ...place,
        message,
        ...(answer.usage === undefined ? {} : { usage: answer.usage }),
        ...(interrupted ? { interrupted } : {}),
      },
      sourceEventSeqs: sources,
      surfaceOp: "append",
    });
    return message;
  }
}

function isDelta({ type }: Chunk): boolean {
  return type === "text-delta" || type === "reasoning-delta" || type === "tool-call-delta";
}

function badAnswer(what: string): ProviderError {
  return new ProviderError("provider-bad-response", `The model's answer cannot be used: ${what}`, {
    hint: "Send the input again. If it happens again, look at the provider.",
    retryable: true,
  });
}

type FinishReason = Extract<Chunk, { type: "finish" }>["reason"];

/** The parts of an answer while it streams. */
class AnswerParts {
  usage: Usage | undefined;
  finish: FinishReason | undefined;
  #replayState: unknown;
  readonly #blocks = new Map<number, ContentBlock>();
  readonly #open = new Map<number, { type: "text" | "reasoning"; text: string }>();

  get hasWords(): boolean {
    return [...this.#blocks.values(), ...this.#open.values()].some(isWords);
  }

  /** Results name their call by its id, so that two of one id could never be told apart. */
  get repeatsCallId(): boolean {
    const ids = [...this.#blocks.values()].flatMap((block) => (block.type === "tool-call" ? [block.id] : []));
    return new Set(ids).size < ids.length;
  }

  add(chunk: Chunk): void {
    switch (chunk.type) {
      case "text-delta":
      case "reasoning-delta": {
        const type = chunk.type === "text-delta" ? "text" : "reasoning";
        const block = this.#open.get(chunk.index) ?? { type, text: "" };
        block.text += chunk.text;
        this.#open.set(chunk.index, block);
        break;
      }
      case "block-end":
        this.#open.delete(chunk.index);
        this.#blocks.set(chunk.index, chunk.block);
        break;
      case "usage":
        this.usage = chunk.usage;
        break;
      case "finish":
        this.finish = chunk.reason;
        this.#replayState = chunk.replayState;
        break;
      default:
    }
  }

  /** An interrupted message keeps what was said, but no tool call: none of them was made. */
  message(id: string, { provider, model }: Route, interrupted: boolean): AssistantMessage {
    const blocks = interrupted
      ? new Map<number, ContentBlock>([...this.#blocks, ...this.#open])
      : this.#blocks;
    const ordered = [...blocks].sort(([a], [b]) => a - b).map(([, block]) => block);
    const content = interrupted ? ordered.filter(isWords) : ordered;
    const replay = this.#replayState === undefined ? {} : { replayState: this.#replayState };
    return { role: "assistant", content, source: { kind: "model", provider, model, ...replay }, id };
  }
}

function isWords(block: ContentBlock): boolean {
  return (block.type === "text" || block.type === "reasoning") && block.text !== "";
}

/** The chunks, until the signal fires; a source that ignores the signal is left behind. */
async function* abortable<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  let done = false;
  try {
    for (;;) {
      const next = await waitFor(iterator.next(), signal);
      if (next.done === true) {
        done = true;
        return;
      }
      yield next.value;
    }
  } finally {
    // Not awaited: a source that hangs would hold the Turn open. Its failure has nobody left to tell.
    if (!done) iterator.return?.().catch(() => undefined);
  }
}
