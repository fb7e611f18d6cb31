import { HoldfastError } from "../session/errors.ts";
import type { AssistantMessage, TurnEndReason } from "../session/events.ts";
import type { LogWriter } from "../session/log.ts";
import type { OpenCall } from "../session/projections/open-work.ts";
import { joinText } from "../session/projections/transcript.ts";
import type { UsageTotals } from "../session/projections/usage.ts";
import { type ClosingAnswer, closeTurn, interruptedAnswer } from "../session/recovery.ts";
import type { Session } from "../session/session.ts";
import { waitFor } from "../session/wait-for.ts";
import { describeError, MaxStepsError, TurnAbort } from "./errors.ts";
import type { ProvisionalDelta } from "./live-feed.ts";
import { type Provider, ProviderError } from "./provider.ts";
import { buildRequest, type RequestEnvelope } from "./request.ts";
import type { RetryPolicy } from "./retry.ts";
import { type StepPlace, streamAnswer } from "./step.ts";
import type { ToolOutcome } from "./tool.ts";
import type { ToolRegistry } from "./tools/registry.ts";

export interface TurnOptions {
  readonly session: Session;
  readonly provider: Provider;
  readonly tools: ToolRegistry;
  /** The envelope of every request of this Turn. */
  readonly envelope: RequestEnvelope;
  readonly input: string;
  readonly maxSteps: number;
  readonly retry: RetryPolicy;
  /** Told of each delta before it is durable. */
  readonly offer: (delta: ProvisionalDelta) => void;
  /** Whether this is the first Turn since the session was resumed. */
  readonly resumed: boolean;
  /** Makes message ids. */
  readonly newId: () => string;
  /** Fires with a {@link TurnAbort} as its reason. */
  readonly signal: AbortSignal;
}

/** How a Turn ended; all of it is durable. */
export interface TurnResult {
  readonly turn: number;
  readonly steps: number;
  readonly reason: TurnEndReason;
  /** Text of the last answer; empty when there was none. */
  readonly message: string;
  readonly usage: UsageTotals;
  /** What the Turn failed of, when the reason is `error`. */
  readonly failure?: HoldfastError;
}

/**
 * Runs one Turn: input, then Steps until the model is done. Every event is durable before what depends on it: the input
 * before the model is asked, a tool call before the tool runs, its result before the next request, the end of the Turn
 * before this returns.
 *
 * A Turn that fails or is stopped is closed: every call has its result. When the store fails, the Turn is closed as far
 * as the store allows; what remains open is closed before the next Turn.
 * @throws what the store threw, when the end of the Turn could not be saved as it happened
 */
export async function runTurn(options: TurnOptions): Promise<TurnResult> {
  const { session } = options;
  await endOpenTurn(session, { kind: "interrupted" }, (call) =>
    interruptedAnswer(call, `interrupted-tool-result-${call.callId}-${options.newId()}`),
  );
  const turn = new Turn(options, session.projections.openWork.lastTurn + 1);
  try {
    return await turn.run();
  } catch (error) {
    return await turn.fail(error);
  }
}

class Turn {
  readonly #options: TurnOptions;
  readonly #writer: LogWriter;
  readonly #turn: number;
  #steps = 0;
  /** The Step whose answer is streaming. */
  #streaming: StepPlace | undefined;
  #answer: AssistantMessage | undefined;

  constructor(options: TurnOptions, turn: number) {
    this.#options = options;
    this.#writer = options.session.log.writer();
    this.#turn = turn;
  }

  async run(): Promise<TurnResult> {
    const { input, newId, maxSteps } = this.#options;
    await this.#writer.push({ type: "turn/start", data: { turn: this.#turn } });
    const content = [{ type: "text" as const, text: input }];
    await this.#writer.push({
      type: "user/message",
      data: { id: newId(), role: "user", content, source: { kind: "user" } },
      surfaceOp: "append",
    });
    while (this.#steps < maxSteps) {
      this.#steps += 1;
      const reason = await this.#step({ turn: this.#turn, step: this.#steps });
      if (reason !== undefined) return this.#end(reason);
    }
    throw new MaxStepsError(maxSteps);
  }

  /** Closes the Turn after something went wrong. @throws `error` when it came from the store. */
  async fail(error: unknown): Promise<TurnResult> {
    const { session, newId } = this.#options;
    // What was handed over settles first, one way or the other; the log then says what is open. Deltas may still wait
    // for company: the end of their Step takes them along at once.
    const place = this.#streaming;
    await Promise.allSettled([
      place === undefined
        ? this.#writer.flush()
        : this.#writer.append({ type: "step/end", data: { ...place } }),
    ]);
    const { reason, failure } = reasonFor(error);
    const ownFailure = isTurnFailure(error);
    try {
      await endOpenTurn(session, reason, (call) =>
        error instanceof TurnAbort ? abortedAnswer(call, newId()) : interruptedAnswer(call, newId()),
      );
    } catch (closing) {
      // The store still fails. What is open now is closed before the next Turn, or by recovery.
      throw ownFailure ? closing : error;
    }
    if (ownFailure) return this.#result(reason, failure);
    throw error;
  }

  async #step(place: StepPlace): Promise<TurnEndReason | undefined> {
    const { session, provider, envelope, newId, retry, offer, signal } = this.#options;
    await this.#writer.push({ type: "step/start", data: { ...place } });
    if (!Bun.deepEquals(session.projections.requestHeader, envelope)) {
      const header = { ...envelope, config: { ...envelope.config }, tools: [...envelope.tools] };
      await this.#writer.push({ type: "request/header", data: { header, reason: this.#headerReason() } });
    }
    await this.#writer.flush();
    signal.throwIfAborted();
    const request = buildRequest(session, envelope);
    this.#streaming = place;
    const { message, finish } = await streamAnswer({
      provider,
      request,
      place,
      writer: this.#writer,
      messageId: newId(),
      retry,
      offer,
      signal,
    });
    this.#streaming = undefined;
    this.#answer = message;
    const calls = message.content.filter((block) => block.type === "tool-call");
    for (const { id, name, arguments: args } of calls) {
      // Calls of an answer that was cut off at its limit may be cut off themselves: they are answered, not run.
      if (finish === "max-tokens") await this.#recordResult(place, id, cutOffOutcome, undefined);
      else await this.#call(place, id, name, args);
    }
    await this.#writer.push({ type: "step/end", data: { ...place } });
    if (finish === "max-tokens") return { kind: "max-tokens" };
    return calls.length === 0 ? { kind: "completed" } : undefined;
  }

  async #call(place: StepPlace, callId: string, name: string, args: string): Promise<void> {
    const { tools, signal } = this.#options;
    signal.throwIfAborted();
    const { seq } = await this.#writer.append({
      type: "tool/call",
      data: { ...place, callId, name, arguments: args },
    });
    signal.throwIfAborted();
    // Not the tool's own word alone: one that ignores its signal must not hold the Turn open.
    const outcome = await waitFor(tools.call(name, args, signal), signal);
    await this.#recordResult(place, callId, outcome, seq);
  }

  async #recordResult(
    place: StepPlace,
    callId: string,
    outcome: ToolOutcome,
    callSeq: number | undefined,
  ): Promise<void> {
    const { text, error, meta } = outcome;
    await this.#writer.push({
      type: "tool/result",
      data: {
        ...place,
        message: {
          source: { kind: "tool", callId },
          content: [
            {
              type: "tool-result",
              toolCallId: callId,
              content: [{ type: "text", text }],
              isError: error !== undefined,
            },
          ],
          role: "user",
          id: this.#options.newId(),
        },
        ...(error === undefined ? {} : { error }),
        ...(meta === undefined ? {} : { meta }),
      },
      ...(callSeq === undefined ? {} : { sourceEventSeqs: [callSeq] }),
      surfaceOp: "append",
    });
  }

  async #end(reason: TurnEndReason): Promise<TurnResult> {
    await this.#writer.append({ type: "turn/end", data: { turn: this.#turn, reason } });
    return this.#result(reason, undefined);
  }

  #result(reason: TurnEndReason, failure: HoldfastError | undefined): TurnResult {
    return {
      turn: this.#turn,
      steps: this.#steps,
      reason,
      message: joinText(this.#answer?.content ?? []),
      usage: this.#options.session.projections.usage.ofTurn(this.#turn),
      ...(failure === undefined ? {} : { failure }),
    };
  }

  #headerReason(): "initial" | "resume" | "change" {
    if (this.#options.session.projections.requestHeader === undefined) return "initial";
    return this.#options.resumed ? "resume" : "change";
  }
}

const cutOffOutcome: ToolOutcome = {
  text: "This tool call was not run: the answer reached its token limit first. Ask for less at once, and call it again.",
  error: { name: "ToolNotStartedError", code: "TOOL_NOT_STARTED" },
};

/** Appends what closes an open Turn, together or not at all. */
async function endOpenTurn(
  session: Session,
  reason: TurnEndReason,
  answer: (call: OpenCall) => ClosingAnswer,
): Promise<void> {
  await session.log.appendAll(closeTurn(session.projections.openWork, reason, answer));
}

function abortedAnswer(call: OpenCall, messageId: string): ClosingAnswer {
  if (call.callSeq === undefined) return interruptedAnswer(call, messageId);
  const text = "This tool call was stopped before it gave a result. Whether it took effect is unknown.";
  return { messageId, text, error: { name: "ToolAbortedError", code: "TOOL_ABORTED" } };
}

/** Whether the Turn ended in a way of its own, rather than by the store or by a defect. */
function isTurnFailure(error: unknown): boolean {
  return error instanceof TurnAbort || error instanceof ProviderError || error instanceof MaxStepsError;
}

function reasonFor(error: unknown): { readonly reason: TurnEndReason; readonly failure?: HoldfastError } {
  if (error instanceof TurnAbort) return { reason: { kind: "aborted", reason: { kind: error.kind } } };
  const reason: TurnEndReason = { kind: "error", error: { ...describeError(error) } };
  return error instanceof HoldfastError ? { reason, failure: error } : { reason };
}
