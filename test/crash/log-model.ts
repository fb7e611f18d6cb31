import {
  type EventData,
  isStrict,
  type RequestHeader,
  type SessionEvent,
  type StrictEvent,
} from "../../src/session/events.ts";
import { decodeRecord, recordEvents } from "../../src/session/records.ts";
import {
  type AnswerInHistory,
  assistantMessage,
  type ChatMessageText,
  requestBody,
  toolMessage,
  userMessage,
} from "./chat-request.ts";
import { closersOf } from "./closers.ts";
import type { Deeds } from "./deeds.ts";
import { readRetry } from "./failures.ts";
import { need } from "./need.ts";
import { OpenTurn } from "./open-turn.ts";
import type { Workspace } from "./workspace.ts";

/** A Turn that is closed. */
export interface ClosedTurn {
  readonly turn: number;
  readonly steps: number;
  readonly message: string;
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
  readonly reason: EventData<"turn/end">["reason"];
}

/** What a request was made from: the messages before it, and the envelope. */
interface AskedStep {
  readonly messages: number;
  header: RequestHeader | undefined;
  /** Further attempts that are noted. */
  retries: number;
}

/**
 * What a log says, event by event, held against what was done: nothing may stand in it that nobody sent, and all of it
 * in the order of docs/format.md. Written from the documents, not from the code that is checked with it.
 */
export class LogModel {
  /** Closed Turns by the invocation that asked for them. */
  readonly turns = new Map<string, ClosedTurn>();
  /** Whether a Host was started since the last event that was taken: only then was a Turn closed as interrupted. */
  recovering = false;
  readonly #deeds: Deeds;
  readonly #workspace: Workspace;
  readonly #inputs = new Set<string>();
  readonly #messageIds = new Set<string>();
  readonly #messages: Array<ChatMessageText | AnswerInHistory> = [];
  readonly #asked = new Map<string, AskedStep>();
  #seq = 0;
  #time = 0;
  #lastTurn = 0;
  #open: OpenTurn | undefined;
  #header: RequestHeader | undefined;
  #usage = { inputTokens: 0, outputTokens: 0 };
  #interrupted = 0;
  #retries = 0;

  constructor(deeds: Deeds, workspace: Workspace) {
    this.#deeds = deeds;
    this.#workspace = workspace;
  }

  /** Events taken so far. */
  get length(): number {
    return this.#seq;
  }

  /** Turns that recovery has closed. */
  get interrupted(): number {
    return this.#interrupted;
  }

  /** Requests that were tried again. */
  get retries(): number {
    return this.#retries;
  }

  /** Tokens of the whole log. Those of a Step count when its answer stands there, or when it ends without one. */
  get usage(): { readonly inputTokens: number; readonly outputTokens: number } {
    const open = this.#open?.usage ?? { inputTokens: 0, outputTokens: 0 };
    return {
      inputTokens: this.#usage.inputTokens + open.inputTokens,
      outputTokens: this.#usage.outputTokens + open.outputTokens,
    };
  }

  /** Whether a call was made that has no result. */
  get hasRunningCall(): boolean {
    return this.#open?.hasRunningCall === true;
  }

  hasInput(id: string): boolean {
    return this.#inputs.has(id);
  }

  /** What recovery adds at this point. */
  closers(): readonly object[] {
    return this.#open === undefined
      ? []
      : closersOf(this.#open.openEnd({ seq: this.#seq, time: this.#time }));
  }

  /** The request for an answer, as the log before it has it; nothing when no such request is noted there. */
  requestFor(id: string, answer: number): string | undefined {
    const asked = this.#asked.get(`${id}/${answer}`);
    if (asked?.header === undefined) return undefined;
    return requestBody(this.#messages.slice(0, asked.messages), asked.header);
  }

  /** How often it is noted that an answer was asked for again. */
  retriesFor(id: string, answer: number): number {
    return this.#asked.get(`${id}/${answer}`)?.retries ?? 0;
  }

  /** Takes the next event. @throws Error when it must not stand there */
  take(text: string): void {
    try {
      const { record } = decodeRecord(text, {});
      const [event] = recordEvents(record);
      if (event === undefined || record.count !== 1) throw new Error("it is no single event");
      this.#take(event);
      this.#seq += 1;
      this.#time = event.time;
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error);
      throw new Error(`event ${this.#seq} must not stand there: ${what}: ${text.slice(0, 400)}`);
    }
  }

  #take(event: SessionEvent): void {
    need(event.seq === this.#seq, `its seq is ${event.seq}`);
    if (event.type === "llm/retry") this.#takeRetry(event.data);
    else if (!isStrict(event)) throw new Error("nobody writes such a type");
    else if (event.type === "turn/start") this.#startTurn(event.data.turn);
    else if (this.#open === undefined) throw new Error("no Turn is open");
    else this.#takeInTurn(this.#open, event);
  }

  #takeRetry(data: unknown): void {
    if (this.#open === undefined) throw new Error("no Turn is open");
    this.#open.takeRetry(readRetry(data));
    const asked = this.#asked.get(`${this.#open.invocation?.id ?? ""}/${this.#open.steps - 1}`);
    if (asked !== undefined) asked.retries += 1;
    this.#retries += 1;
  }

  #startTurn(turn: number): void {
    need(this.#open === undefined, "the Turn before it is open");
    need(turn === this.#lastTurn + 1, `it follows Turn ${this.#lastTurn}`);
    this.#lastTurn = turn;
    this.#open = new OpenTurn(turn, this.#deeds, this.#workspace);
  }

  #takeInTurn(open: OpenTurn, event: StrictEvent): void {
    const position = { seq: this.#seq, time: this.#time };
    switch (event.type) {
      case "user/message": {
        const { id } = open.takeInput(event.data);
        need(!this.#inputs.has(id), "it was sent once and stands there twice");
        this.#inputs.add(id);
        this.#addMessage(event.data.id, userMessage(event.data));
        break;
      }
      case "step/start": {
        const { id } = open.startStep(event);
        const asked = { messages: this.#messages.length, header: this.#header, retries: 0 };
        this.#asked.set(`${id}/${open.steps - 1}`, asked);
        break;
      }
      case "request/header":
        this.#takeHeader(open, event.data);
        break;
      case "assistant/chunk":
        open.takeChunk(event);
        break;
      case "assistant/message":
        open.takeAnswer(event, this.#header?.config.model);
        this.#addMessage(event.data.message.id, assistantMessage(event.data.message));
        break;
      case "tool/call":
        open.takeCall(event);
        break;
      case "tool/result":
        open.takeResult(event, position);
        this.#addMessage(event.data.message.id, toolMessage(event.data.message));
        break;
      case "step/end":
        open.endStep(event);
        break;
      case "turn/end":
        open.end(event, position, this.recovering);
        this.#endTurn(open, event.data.reason);
        break;
      default:
        throw new Error("nobody writes such a type");
    }
  }

  #takeHeader(open: OpenTurn, { header, reason }: EventData<"request/header">): void {
    need(open.isAsking, "no request is made here");
    need(!Bun.deepEquals(header, this.#header), "the envelope did not change");
    need(reason === (this.#header === undefined ? "initial" : "resume"), `its reason is ${reason}`);
    const id = open.invocation?.id ?? "";
    const model = this.#deeds.modelFor(id);
    need(header.config.model === model, `the model is ${model}`);
    this.#header = header;
    const asked = this.#asked.get(`${id}/${open.steps - 1}`);
    if (asked !== undefined) asked.header = header;
  }

  #endTurn(open: OpenTurn, reason: ClosedTurn["reason"]): void {
    const { turn, steps, message, usage, invocation } = open;
    if (invocation !== undefined) this.turns.set(invocation.id, { turn, steps, message, usage, reason });
    if (reason.kind === "interrupted") this.#interrupted += 1;
    this.#usage = this.usage;
    this.#open = undefined;
  }

  #addMessage(id: string | undefined, message: ChatMessageText | AnswerInHistory): void {
    need(id !== undefined && !this.#messageIds.has(id), "its message has no id of its own");
    this.#messageIds.add(id);
    this.#messages.push(message);
  }
}
