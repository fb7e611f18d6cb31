import type { ContentBlock, SessionEvent, SurfaceOp } from "../../src/session/events.ts";
import { atQuantile, type Random, spread } from "../random.ts";
import type { BlockPlan, StepPlan } from "./plan.ts";
import { DELTA_GAP, RESULT_BYTES, TURNS } from "./shape.ts";
import { Speech } from "./words.ts";

export const CREATED_AT = 1_786_901_809_409;

const ROUTE = { provider: "demo-provider", model: "demo-model" };
const UUID = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
const TOOLS = ["bash", "read", "edit", "grep", "write"];
/** Bytes of a `tool/result` around its text. */
const RESULT_FRAME = 395;

interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

interface Block extends BlockPlan {
  readonly call?: Omit<Call, "arguments">;
  readonly deltas: readonly string[];
}

/** Turns plans into events, batch by batch. */
export class WorkloadWriter {
  readonly #random: Random;
  readonly #prose: Speech;
  readonly #code: Speech;
  readonly #system: string;
  readonly #tools: readonly unknown[];
  #batch: SessionEvent[] = [];
  #seq = 0;
  #time = CREATED_AT;
  #resultBytes: number[] = [];
  #steering: unknown;

  constructor(random: Random) {
    this.#random = random;
    this.#prose = Speech.prose(random);
    this.#code = Speech.code(random);
    this.#system = this.#code.text(6200);
    this.#tools = Array.from({ length: 25 }, (_, k) => ({
      name: `${TOOLS[k % TOOLS.length]}_${k}`,
      description: this.#code.text(300),
      parameters: {
        type: "object",
        properties: { path: { type: "string", description: this.#code.text(620) } },
      },
    }));
  }

  /** What stands before the first Turn. */
  *opening(): Generator<SessionEvent[]> {
    this.#policies("workspace-write", "ask");
    yield* this.#flush();
    const commandId = this.#random.id("cmd-xxxxxxxx-x");
    this.#add("command/run", {
      commandId,
      name: "permissions",
      args: " danger-full-access",
      source: { kind: "user" },
    });
    this.#policies("danger-full-access", "never");
    this.#steering = this.#message(12, { kind: "plugin", plugin: "user-approval" });
    this.#spliced("next-step", this.#steering);
    this.#add("command/done", { commandId, kind: "success", text: "preset danger-full-access" });
    yield* this.#flush();
  }

  /** The Turns of a plan. With `open` it breaks off in the first tool call of the last Step. */
  *stretch(plans: readonly StepPlan[], open: boolean): Generator<SessionEvent[]> {
    const calls = plans.flatMap(({ blocks }) => blocks).filter(({ kind }) => kind === "tool-call").length;
    this.#resultBytes = spread(this.#random, RESULT_BYTES, calls);
    for (const [k, plan] of plans.entries()) yield* this.#step(plan, open && k === plans.length - 1);
  }

  *#step(plan: StepPlan, open: boolean): Generator<SessionEvent[]> {
    yield* this.#stepStart(plan);
    if (plan.extra === "steering") {
      this.#steering = this.#message(15);
      this.#spliced("next-step", this.#steering);
      yield* this.#flush();
    }
    const calls = yield* this.#answer(plan);
    if (calls.length === 0) this.#add("step/end", at(plan));
    if (plan.last && calls.length === 0)
      this.#add("turn/end", { turn: plan.turn, reason: { kind: "completed" } });
    const [first, ...others] = calls;
    if (first === undefined) return yield* this.#flush();
    let callSeq = this.#call(plan, first);
    yield* this.#flush();
    if (open) return;
    if (plan.extra === "todo" || plan.extra === "goal") {
      const note = {
        items: Array.from({ length: 4 }, () => ({ content: this.#code.text(130), status: "pending" })),
      };
      this.#add(plan.extra === "todo" ? "todo/write" : "goal/change", note);
      yield* this.#flush();
    }
    let answered = first;
    for (const next of others) {
      this.#result(plan, answered, callSeq);
      callSeq = this.#call(plan, next);
      answered = next;
      yield* this.#flush();
    }
    this.#result(plan, answered, callSeq);
    this.#add("step/end", at(plan));
    yield* this.#flush();
  }

  *#stepStart({ turn, step }: StepPlan): Generator<SessionEvent[]> {
    const first = step === 1;
    const resumed = first && turn === TURNS - 1;
    const input = this.#message(40);
    if (resumed) {
      this.#add("session/end-seed", {});
      yield* this.#flush();
    }
    if (first) {
      this.#spliced("next-turn", input);
      this.#add("turn/start", { turn });
      if (this.#steering !== undefined) this.#spliced("next-step");
      this.#spliced("next-turn");
      yield* this.#flush();
    } else if (this.#steering !== undefined) {
      this.#spliced("next-step");
      yield* this.#flush();
    }
    this.#add("step/start", { turn, step }, 12);
    if (this.#steering !== undefined) this.#add("user/message", this.#steering, 0, {});
    this.#steering = undefined;
    if (first) this.#add("user/message", input, 0, {});
    if (turn === 1 && first) yield* this.#firstRequest();
    else if (turn === 1 && step === 2) this.#requestHeader("change");
    else if (resumed) this.#requestHeader("resume");
    yield* this.#flush();
  }

  /** What the first request of a session adds: context, the envelope, and a title made from the first message. */
  *#firstRequest(): Generator<SessionEvent[]> {
    const messageSeqs = [this.#seq - 1];
    this.#add("user/message", this.#message(200, { kind: "plugin", plugin: "workspace-context" }), 0, {});
    const title = this.#code.text(24);
    this.#add("session/title", { title, messageSeqs, source: { kind: "fallback" } });
    this.#requestHeader("initial");
    this.#add("request/context", { ...ROUTE, contextWindow: 1_000_000 });
    yield* this.#flush();
    const titling = {
      titleProvider: "session-title",
      messageSeqs,
      route: ROUTE,
      system: this.#code.text(600),
    };
    this.#add("session/title-llm-request", titling);
    yield* this.#flush();
    this.#add("session/title", {
      title,
      messageSeqs,
      source: { kind: "provider", provider: "title", model: ROUTE },
    });
  }

  /** Streams an answer and adds its message; the batch that ends it is not flushed. Gives the calls it asks for. */
  *#answer(plan: StepPlan): Generator<SessionEvent[], Call[]> {
    const from = this.#seq;
    const blocks = plan.blocks.map((block) => this.#block(block));
    this.#time += 700;
    for (const [index, block] of blocks.entries()) {
      if (!block.joined) yield* this.#flush();
      this.#chunk(plan, { type: "block-start", index, blockType: block.kind });
      let sent = 0;
      for (const piece of block.pieces) {
        if (sent > 0) yield* this.#flush();
        for (const text of block.deltas.slice(sent, sent + piece))
          this.#chunk(plan, delta(block, index, text), this.#gap());
        sent += piece;
      }
    }
    const content = blocks.map(contentOf);
    for (const [index, block] of content.entries()) this.#chunk(plan, { type: "block-end", index, block });
    const outputTokens = blocks.reduce((sum, { deltas }) => sum + deltas.length, 0);
    const usage = {
      inputTokens: 154,
      outputTokens,
      cacheReadTokens: from + 8000,
      reasoningTokens: outputTokens >> 1,
    };
    this.#chunk(plan, { type: "usage", usage });
    const calls = content.filter((block) => block.type === "tool-call");
    this.#chunk(plan, { type: "finish", reason: { kind: calls.length > 0 ? "tool-calls" : "stop" } });
    const sources = Array.from({ length: this.#seq - from }, (_, k) => from + k);
    const source = { kind: "model", ...ROUTE };
    const message = {
      role: "assistant",
      content,
      source,
      id: this.#random.id(UUID),
    };
    this.#add("assistant/message", { ...at(plan), message, usage }, 1, { sources });
    return calls;
  }

  #block(plan: BlockPlan): Block {
    const count = plan.pieces.reduce((sum, piece) => sum + piece, 0);
    if (plan.kind !== "tool-call") return { ...plan, deltas: this.#prose.tokens(count) };
    const call = { id: this.#random.id("call_00_xxxxxxxxxxxxxxxxxxxxxxxx"), name: this.#random.pick(TOOLS) };
    const head = ["", "{", '"', "command", '"', ": ", '"'];
    const body = this.#code.tokens(Math.max(1, count - head.length - 2));
    const pieces = [...head, ...body, '"', "}"];
    // Too short for a piece each: the last delta takes the rest.
    return { ...plan, call, deltas: [...pieces.slice(0, count - 1), pieces.slice(count - 1).join("")] };
  }

  #call(plan: StepPlan, { id: callId, name, arguments: args }: Call): number {
    return this.#add("tool/call", { ...at(plan), callId, name, arguments: args }, 1);
  }

  #result(plan: StepPlan, { id: callId }: Call, callSeq: number): void {
    const bytes = Math.max(20, (this.#resultBytes.pop() ?? 800) - RESULT_FRAME);
    const content = [
      {
        type: "tool-result",
        toolCallId: callId,
        content: [{ type: "text", text: this.#code.text(bytes) }],
        isError: false,
      },
    ];
    const id = this.#random.id(UUID);
    const message = { source: { kind: "tool", callId }, content, role: "user", id };
    this.#add("tool/result", { ...at(plan), message }, this.#random.between(5, 900), { sources: [callSeq] });
  }

  #requestHeader(reason: string): void {
    const config = { ...ROUTE, reasoningEffort: "high", maxTokens: 256_000 };
    const header = { config, adapterDefaults: { maxTokens: true }, system: this.#system, tools: this.#tools };
    this.#add("request/header", { header, reason }, 1);
  }

  #policies(preset: string, policy: string): void {
    this.#add("permission/preset", { preset });
    this.#add("sandbox/mode", { mode: preset });
    this.#add("approval/policy", { policy });
  }

  #message(tokens: number, source: object = { kind: "user", rpcId: this.#random.id(UUID) }): unknown {
    const text = this.#prose.tokens(tokens).join("");
    const id = this.#random.id(UUID);
    return { content: [{ type: "text", text }], source, role: "user", id };
  }

  /** The inbox takes a message in, or gives one out. */
  #spliced(target: string, message?: unknown): void {
    const change = message === undefined ? { removedCount: 1, inserted: [] } : { inserted: [message] };
    this.#add("agent/inbox/spliced", { target, start: 0, ...change });
  }

  #gap(): number {
    return Math.round(atQuantile(DELTA_GAP, this.#random.next()));
  }

  #chunk(plan: StepPlan, chunk: object, gap = 0): void {
    this.#add("assistant/chunk", { ...at(plan), chunk }, gap);
  }

  /** Adds an event to the batch, `gap` milliseconds after the last one; `message` makes it an appended message. */
  #add(type: string, data: unknown, gap = 1, message?: { readonly sources?: readonly number[] }): number {
    this.#time += gap;
    const seq = this.#seq;
    const surfaceOp: SurfaceOp = "append";
    const { sources } = message ?? {};
    this.#batch.push({
      type,
      seq,
      time: this.#time,
      data,
      ...(sources === undefined ? {} : { sourceEventSeqs: sources }),
      ...(message === undefined ? {} : { surfaceOp }),
    });
    this.#seq += 1;
    return seq;
  }

  *#flush(): Generator<SessionEvent[]> {
    const batch = this.#batch;
    this.#batch = [];
    if (batch.length > 0) yield batch;
  }
}

function at({ turn, step }: StepPlan) {
  return { turn, step };
}

function delta({ kind, call }: Block, index: number, text: string): object {
  if (call === undefined) return { type: `${kind}-delta`, index, text };
  return { type: "tool-call-delta", index, id: call.id, name: call.name, argumentsDelta: text };
}

function contentOf({ kind, call, deltas }: Block): ContentBlock {
  const text = deltas.join("");
  if (call !== undefined) return { type: "tool-call", ...call, arguments: text };
  return kind === "text" ? { type: "text", text } : { type: "reasoning", text };
}
