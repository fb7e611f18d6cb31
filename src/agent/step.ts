import { InvalidEventError, NotSerialisableError } from "../session/errors.ts";
import type { AssistantMessage, Chunk, ContentBlock, Usage } from "../session/events.ts";
import type { LogWriter } from "../session/log.ts";
import { waitFor } from "../session/wait-for.ts";
import { type ModelRequest, type Provider, ProviderError } from "./provider.ts";

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

/**
 * Streams one model answer into the log: its chunks as they come, then the whole as one `assistant/message` that cites
 * them. Returns when that is durable.
 *
 * When the signal stops it, what was said so far becomes an interrupted message, so that the history shows it; when the
 * provider fails, the chunks stay in the log but nothing half-made enters the history.
 * @throws ProviderError, the signal's reason, or what the store threw
 */
export async function streamAnswer(
  provider: Provider,
  request: ModelRequest,
  place: StepPlace,
  writer: LogWriter,
  messageId: string,
  signal: AbortSignal,
): Promise<StepAnswer> {
  const answer = new AnswerParts();
  const firstSeq = writer.nextSeq;
  const commit = async (interrupted: boolean) => {
    const { provider: name, model } = request.config;
    const message = answer.message(messageId, name, model, interrupted);
    const sources = Array.from({ length: writer.nextSeq - firstSeq }, (_, k) => firstSeq + k);
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
  };
  try {
    for await (const chunk of abortable(provider.stream(request, signal), signal)) {
      if (answer.finish !== undefined) throw badAnswer("it went on after its end");
      answer.add(chunk);
      await writer.push({ type: "assistant/chunk", data: { ...place, chunk } });
    }
    const { finish } = answer;
    if (finish !== "stop" && finish !== "tool-calls" && finish !== "max-tokens") {
      throw badAnswer(finish === undefined ? "it stopped before its end" : `it ended as ${finish}`);
    }
    if (answer.repeatsCallId) throw badAnswer("it makes two calls with the same id");
    return { message: await commit(false), finish };
  } catch (error) {
    // The log refused a chunk, which shows with the event after it. The writer takes nothing more.
    if (error instanceof InvalidEventError || error instanceof NotSerialisableError)
      throw badAnswer(error.message);
    if (signal.aborted && answer.hasWords) await commit(true);
    if (signal.aborted) throw signal.reason;
    throw error;
  }
}

function badAnswer(what: string): ProviderError {
  return new ProviderError("provider-bad-response", `The model's answer cannot be used: ${what}`, {
    hint: "Send the input again. If it happens again, look at the provider.",
    retryable: true,
  });
}

/** The parts of an answer while it streams. */
class AnswerParts {
  usage: Usage | undefined;
  finish: string | undefined;
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
        this.finish = chunk.reason.kind;
        break;
      default:
    }
  }

  /** An interrupted message keeps what was said, but no tool call: none of them was made. */
  message(id: string, provider: string, model: string, interrupted: boolean): AssistantMessage {
    const blocks = interrupted
      ? new Map<number, ContentBlock>([...this.#blocks, ...this.#open])
      : this.#blocks;
    const ordered = [...blocks].sort(([a], [b]) => a - b).map(([, block]) => block);
    const content = interrupted ? ordered.filter(isWords) : ordered;
    return { role: "assistant", content, source: { kind: "model", provider, model }, id };
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
