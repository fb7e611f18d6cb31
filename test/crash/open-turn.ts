import type { EventData, StrictEvent, Usage } from "../../src/session/events.ts";
import type { AnswerPlan } from "./answer-plan.ts";
import { CUT_OFF, type OpenEnd, outcomeIn, standIn } from "./closers.ts";
import type { Deeds } from "./deeds.ts";
import { allChunks, chunkCount, spokenContent } from "./expected-answer.ts";
import { checkRetry, codeOf, RETRIES, type readRetry } from "./failures.ts";
import { need } from "./need.ts";
import type { InvocationPlan } from "./plan.ts";
import type { Workspace } from "./workspace.ts";

type Event<T extends StrictEvent["type"]> = Extract<StrictEvent, { type: T }>;

/** Where in the log the next event stands. */
export interface Position {
  readonly seq: number;
  /** Time of the event before it. */
  readonly time: number;
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: string;
  /** Of its `tool/call`. */
  seq: number | undefined;
  answered: boolean;
}

/** The Turn that a log is in, held against what the model was planned to say and what was done. */
export class OpenTurn {
  readonly turn: number;
  readonly #deeds: Deeds;
  readonly #workspace: Workspace;
  #invocation: InvocationPlan | undefined;
  #steps = 0;
  #stepOpen = false;
  /** Of the Step: the seqs of its chunks, how often it was tried again, whether its answer stands, the usage that was reported, its calls. */
  #chunks: number[] = [];
  #retries = 0;
  #expected: ReturnType<typeof allChunks> = [];
  #said = false;
  #reported: Usage | undefined;
  #calls: Call[] = [];
  /** Set by what only the end of a Turn that was cut off has. */
  #closing: "interrupted" | "stopped" | undefined;
  /** Text of the last answer. */
  message = "";
  usage = { inputTokens: 0, outputTokens: 0 };

  constructor(turn: number, deeds: Deeds, workspace: Workspace) {
    this.turn = turn;
    this.#deeds = deeds;
    this.#workspace = workspace;
  }

  get invocation(): InvocationPlan | undefined {
    return this.#invocation;
  }

  get steps(): number {
    return this.#steps;
  }

  /** Whether a Step is open that has neither chunk nor answer, and was not asked for in vain. */
  get isAsking(): boolean {
    return this.#isWaiting && this.#retries === 0;
  }

  /** Whether a call was made that has no result. */
  get hasRunningCall(): boolean {
    return this.#nextCall?.seq !== undefined;
  }

  openEnd(position: Position): OpenEnd {
    const calls = this.#calls.filter(({ answered }) => !answered);
    return { turn: this.turn, step: this.#stepOpen ? this.#steps : undefined, calls, ...position };
  }

  takeInput({ content, source }: EventData<"user/message">): InvocationPlan {
    need(this.#invocation === undefined, "the Turn has its input");
    const [block] = content;
    const text = content.length === 1 && block?.type === "text" ? block.text : undefined;
    const invocation = text === undefined ? undefined : this.#deeds.invocationOf(text);
    if (invocation === undefined) throw new Error("nobody sent it");
    need(source.kind === "user", "it is not from the user");
    this.#invocation = invocation;
    return invocation;
  }

  startStep({ data }: Event<"step/start">): InvocationPlan {
    const invocation = this.#invocation;
    if (invocation === undefined) throw new Error("the Turn has no input");
    need(data.turn === this.turn && data.step === this.#steps + 1, "it is not the next Step");
    need(!this.#stepOpen && this.#closing === undefined, "the Step before it is open, or was cut off");
    need(this.#steps === 0 || (this.#said && this.#answer.finish === "tool-calls"), "the Turn is done");
    need(invocation.answers.length > this.#steps, "the model has no answer for it");
    this.#steps += 1;
    this.#stepOpen = true;
    this.#chunks = [];
    this.#retries = 0;
    this.#expected = allChunks(this.#answer);
    this.#said = false;
    this.#reported = undefined;
    this.#calls = [];
    return invocation;
  }

  takeRetry(data: ReturnType<typeof readRetry>): void {
    this.#assertStep(data);
    need(this.#isWaiting, "the answer has begun, or is over");
    need(data.attempt === this.#retries + 1, `it follows attempt ${this.#retries}`);
    need(this.#attempts >= data.attempt, "the model was not asked");
    const failure = this.#answer.failures[this.#retries];
    need(failure !== undefined || this.#answer.ending === "cut", "the model did not fail");
    checkRetry(data, failure);
    this.#retries += 1;
  }

  takeChunk({ data, seq }: Event<"assistant/chunk">): void {
    this.#assertStep(data);
    need(!this.#said && this.#closing === undefined, "the answer is over");
    need(this.#attempts === this.#retries + 1, "the answer came of an attempt that is not noted");
    const expected = this.#expected[this.#chunks.length];
    need(this.#chunks.length < chunkCount(this.#answer, this.#sent), "the model did not send it");
    need(Bun.deepEquals(data.chunk, expected, true), `the model sent ${JSON.stringify(expected)}`);
    this.#chunks.push(seq);
    if (data.chunk.type === "usage") this.#reported = data.chunk.usage;
  }

  takeAnswer({ data, sourceEventSeqs }: Event<"assistant/message">, model: string | undefined): void {
    this.#assertStep(data);
    const { content, source } = data.message;
    need(!this.#said && this.#closing === undefined, "the answer stands there already");
    need(Bun.deepEquals(sourceEventSeqs, this.#chunks), "it does not cite its chunks");
    need(source.provider === "openai-compatible" && source.model === model, "another model said it");
    need(Bun.deepEquals(data.usage, this.#reported), "its usage is not what the model reported");
    if (data.interrupted === true) {
      this.#stop();
      const said = spokenContent(this.#expected.slice(0, this.#chunks.length));
      need(Bun.deepEquals(content, said), "the model said something else");
    } else {
      const { ending, items, calls, content: planned } = this.#answer;
      need(ending === "complete" && this.#sent === items.length, "the model did not say all of it");
      need(this.#chunks.length === this.#expected.length, "chunks are missing before it");
      need(Bun.deepEquals(content, planned), "the model said something else");
      const { replayState } = this.#expected.findLast((chunk) => chunk.type === "finish") ?? {};
      need(Bun.deepEquals(source["replayState"], replayState), "it does not keep what the model wants back");
      this.#calls = calls.map((call) => ({ ...call, seq: undefined, answered: false }));
    }
    this.#said = true;
    this.#count();
    this.message = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  }

  takeCall({ data, seq }: Event<"tool/call">): void {
    this.#assertStep(data);
    const call = this.#nextCall;
    need(this.#closing === undefined && this.#answer.finish === "tool-calls", "no tool may run here");
    if (call === undefined || call.id !== data.callId) throw new Error("it is not the next call");
    need(call.seq === undefined, "the call was made before");
    need(call.name === data.name && call.args === data.arguments, "the model called something else");
    call.seq = seq;
  }

  takeResult(event: Event<"tool/result">, position: Position): void {
    this.#assertStep(event.data);
    const call = this.#nextCall;
    if (call === undefined || call.id !== event.data.message.source.callId) {
      throw new Error("no such call waits for a result");
    }
    const sources = call.seq === undefined ? undefined : [call.seq];
    need(Bun.deepEquals(event.sourceEventSeqs, sources), "it does not cite its call");
    const kind = standIn(event, call, position);
    if (kind === "stopped") this.#stop();
    else if (kind === "interrupted") this.#closing = kind;
    else {
      need(this.#closing === undefined, "the Turn was cut off before");
      const isCutOff = this.#answer.finish === "max-tokens";
      need(isCutOff || call.seq !== undefined, "the tool was not called");
      const expected = isCutOff ? CUT_OFF : this.#workspace.outcome(call.name, call.args);
      need(Bun.deepEquals(outcomeIn(event.data), expected), `the tool gives ${JSON.stringify(expected)}`);
    }
    call.answered = true;
  }

  endStep({ data }: Event<"step/end">): void {
    this.#assertStep(data);
    need(this.#nextCall === undefined, "a call has no result");
    this.#stepOpen = false;
    // Without an answer only the end of the Turn can follow; startStep sees to that.
    if (!this.#said) this.#count();
  }

  /** @param recovering whether a Host was started since the last event that was seen */
  end({ data: { turn, reason }, time }: Event<"turn/end">, position: Position, recovering: boolean): void {
    need(turn === this.turn && !this.#stepOpen, "it is not the end of this Turn");
    const answer = this.#steps === 0 ? undefined : this.#answer;
    switch (reason.kind) {
      case "completed":
      case "max-tokens": {
        const finish = reason.kind === "completed" ? "stop" : "max-tokens";
        need(this.#closing === undefined && this.#said, "the Turn was cut off");
        need(answer?.finish === finish, "the model ended in another way");
        return;
      }
      case "interrupted":
        need(recovering, "no Host has opened the store since");
        // Also one that was being stopped when its Host was killed.
        need(time === position.time, "recovery does not end a Turn like that");
        return;
      case "aborted": {
        need(this.#closing !== "interrupted", "the Turn ends in two ways");
        const { kind } = reason.reason;
        const isKnown = kind === "user" || kind === "disposed";
        need(isKnown && this.#deeds.mayAbort(this.#invocation?.id ?? "", kind), "nobody stopped it");
        return;
      }
      case "error":
        need(this.#closing === undefined && !this.#said, "nothing failed");
        need(answer !== undefined && answer.ending !== "complete", "the model did not fail");
        need(reason.error.code.startsWith("provider-"), "something else failed");
        this.#assertTried(answer, reason.error.code);
        return;
      default:
        throw new Error("no Turn ends like that");
    }
  }

  /** An error ends a Turn only when nothing is left to try. */
  #assertTried({ ending, failures }: AnswerPlan, code: string): void {
    const last = ending === "refused" ? failures.at(-1) : undefined;
    need(last === undefined || code === codeOf(last), "it failed in another way");
    const tried = ending === "refused" ? failures.length - 1 : RETRIES;
    need(this.#retries === tried || this.#chunks.length > 0, `it was tried ${this.#retries} times again`);
    need(this.#attempts === this.#retries + 1, "it failed of an attempt that is not noted");
  }

  /** Whether a Step is open that has neither chunk nor answer. */
  get #isWaiting(): boolean {
    return this.#stepOpen && this.#chunks.length === 0 && !this.#said && this.#closing === undefined;
  }

  /** How often the model was asked for the answer. */
  get #attempts(): number {
    return this.#deeds.attempts(this.#invocation?.id ?? "", this.#steps - 1);
  }

  get #answer(): AnswerPlan {
    const answer = this.#invocation?.answers[this.#steps - 1];
    if (answer === undefined) throw new Error("the model has no answer for this Step");
    return answer;
  }

  /** Items of the answer that the model sent. */
  get #sent(): number {
    const sent = this.#deeds.sentItems(this.#invocation?.id ?? "", this.#steps - 1);
    if (sent === undefined) throw new Error("the model was not asked");
    return sent;
  }

  get #nextCall(): Call | undefined {
    return this.#calls.find(({ answered }) => !answered);
  }

  #stop(): void {
    const id = this.#invocation?.id ?? "";
    need(this.#deeds.mayAbort(id, "user") || this.#deeds.mayAbort(id, "disposed"), "nobody stopped the Turn");
    need(this.#closing !== "interrupted", "the Turn ends in two ways");
    this.#closing = "stopped";
  }

  #assertStep({ turn, step }: { readonly turn: number; readonly step: number }): void {
    need(this.#stepOpen && turn === this.turn && step === this.#steps, "that Step is not open");
  }

  #count(): void {
    this.usage.inputTokens += this.#reported?.inputTokens ?? 0;
    this.usage.outputTokens += this.#reported?.outputTokens ?? 0;
  }
}
