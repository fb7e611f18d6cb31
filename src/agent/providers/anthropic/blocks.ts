import type { Chunk } from "../../../session/events.ts";
import { findJsonFault, isJsonObject, type JsonObject } from "../../../session/json.ts";
import { checkCall } from "../http/call-names.ts";
import { badResponse } from "../http/errors.ts";
import type { ReplayParts } from "./replay.ts";
import { textStart, thinkingStart, toolUseStart, type WireBlockStart, type WireDelta } from "./wire.ts";

/** What the blocks of one answer have in common. */
export interface Answer {
  readonly replay: ReplayParts;
  readonly callIds: Set<string>;
  /** How many blocks of content began. */
  blocks: number;
}

/** One block of the stream. Each method gives the chunks that it comes to. */
export interface StreamBlock {
  start(): Chunk[];
  add(delta: WireDelta): Chunk[];
  end(): Chunk[];
}

/** @throws ProviderError when the beginning of the block makes no sense */
export function openBlock(start: WireBlockStart, answer: Answer): StreamBlock {
  switch (start.type) {
    case "text":
      return new ProseBlock("text", textStart.safeParse(start).data?.text ?? "", "", answer);
    case "thinking": {
      const { thinking, signature } = thinkingStart.safeParse(start).data ?? {};
      return new ProseBlock("reasoning", thinking ?? "", signature ?? "", answer);
    }
    case "tool_use":
      return new ToolUseBlock(start, answer);
    default:
      return new HiddenBlock(start, answer);
  }
}

/** Text, or thinking with its signature. Without a word it is no content: the API sends thinking without its text. */
class ProseBlock implements StreamBlock {
  readonly #type: "text" | "reasoning";
  readonly #first: string;
  readonly #answer: Answer;
  #signature: string;
  #isWhole = true;
  #index: number | undefined;
  readonly #before: number;
  #text = "";

  constructor(type: "text" | "reasoning", first: string, signature: string, answer: Answer) {
    this.#type = type;
    this.#first = first;
    this.#signature = signature;
    this.#answer = answer;
    this.#before = answer.blocks;
  }

  start(): Chunk[] {
    return this.#say(this.#first);
  }

  add(delta: WireDelta): Chunk[] {
    const isText = this.#type === "text";
    switch (delta.type) {
      case "text_delta":
        if (!isText) throw misplaced(delta.type);
        return this.#say(delta.text ?? "");
      case "thinking_delta":
        if (isText) throw misplaced(delta.type);
        return this.#say(delta.thinking ?? "");
      case "signature_delta":
        if (isText) throw misplaced(delta.type);
        this.#signature += delta.signature ?? "";
        return [];
      case "input_json_delta":
        throw misplaced(delta.type);
      default:
        this.#isWhole = false;
        return [];
    }
  }

  end(): Chunk[] {
    const signature = this.#isWhole ? this.#signature : "";
    if (!signature.isWellFormed()) throw badResponse("The provider sent a signature that is no text");
    const { replay } = this.#answer;
    if (this.#index === undefined) {
      const block = { type: "thinking", thinking: "", signature };
      if (signature !== "") replay.hidden.push({ before: this.#before, block });
      return [];
    }
    if (signature !== "") replay.signatures.push({ block: this.#index, signature });
    return [{ type: "block-end", index: this.#index, block: { type: this.#type, text: this.#text } }];
  }

  #say(text: string): Chunk[] {
    if (text === "") return [];
    this.#text += text;
    const chunks: Chunk[] = [];
    if (this.#index === undefined) {
      this.#index = this.#answer.blocks;
      this.#answer.blocks += 1;
      chunks.push({ type: "block-start", index: this.#index, blockType: this.#type });
    }
    const type = this.#type === "text" ? "text-delta" : "reasoning-delta";
    chunks.push({ type, index: this.#index, text });
    return chunks;
  }
}

class ToolUseBlock implements StreamBlock {
  readonly #index: number;
  readonly #id: string;
  readonly #name: string;
  /** Arguments that came with the beginning of the block, as some servers send them. */
  readonly #input: unknown;
  #arguments = "";

  constructor(start: WireBlockStart, answer: Answer) {
    const parsed = toolUseStart.safeParse(start);
    if (!parsed.success) throw badResponse("The provider sent a tool call of an unknown shape");
    this.#id = parsed.data.id ?? "";
    this.#name = parsed.data.name ?? "";
    this.#input = parsed.data.input;
    checkCall(this.#id, this.#name, answer.callIds);
    this.#index = answer.blocks;
    answer.blocks += 1;
  }

  start(): Chunk[] {
    return [{ type: "block-start", index: this.#index, blockType: "tool-call" }];
  }

  add(delta: WireDelta): Chunk[] {
    if (delta.type !== "input_json_delta") {
      if (isKnown(delta)) throw misplaced(delta.type);
      return [];
    }
    return this.#say(delta.partial_json ?? "");
  }

  end(): Chunk[] {
    const whole = this.#arguments === "" ? this.#say(this.#wholeInput()) : [];
    const args = this.#arguments.trim() === "" ? "{}" : this.#arguments;
    const block = { type: "tool-call" as const, id: this.#id, name: this.#name, arguments: args };
    return [...whole, { type: "block-end", index: this.#index, block }];
  }

  #wholeInput(): string {
    const input = this.#input;
    if (typeof input !== "object" || input === null || Object.keys(input).length === 0) return "";
    if (findJsonFault(input) !== undefined) throw badResponse("The provider sent arguments that are no JSON");
    return JSON.stringify(input);
  }

  #say(argumentsDelta: string): Chunk[] {
    if (argumentsDelta === "") return [];
    const name = this.#arguments === "" ? { name: this.#name } : {};
    this.#arguments += argumentsDelta;
    return [{ type: "tool-call-delta", index: this.#index, id: this.#id, ...name, argumentsDelta }];
  }
}

/**
 * A block that is no content of the format: redacted thinking, and whatever the API makes of tools of its own. It is kept
 * as it came, for requests to come, unless deltas brought more than can be put together.
 */
class HiddenBlock implements StreamBlock {
  readonly #start: WireBlockStart;
  readonly #answer: Answer;
  readonly #before: number;
  #input = "";
  #isWhole = true;

  constructor(start: WireBlockStart, answer: Answer) {
    this.#start = start;
    this.#answer = answer;
    this.#before = answer.blocks;
  }

  start(): Chunk[] {
    return [];
  }

  add(delta: WireDelta): Chunk[] {
    if (delta.type === "input_json_delta") this.#input += delta.partial_json ?? "";
    else this.#isWhole = false;
    return [];
  }

  end(): Chunk[] {
    const block = this.#whole();
    if (block !== undefined) this.#answer.replay.hidden.push({ before: this.#before, block });
    return [];
  }

  #whole(): JsonObject | undefined {
    if (!this.#isWhole) return undefined;
    const block: unknown =
      this.#input.trim() === "" ? this.#start : { ...this.#start, input: parse(this.#input) };
    return isJsonObject(block) && findJsonFault(block) === undefined ? block : undefined;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badResponse("The provider sent a block whose input is no JSON");
  }
}

const DELTAS: ReadonlySet<string> = new Set([
  "text_delta",
  "thinking_delta",
  "signature_delta",
  "input_json_delta",
]);

function isKnown(delta: WireDelta): boolean {
  return DELTAS.has(delta.type);
}

function misplaced(type: string) {
  return badResponse(`The provider sent a ${type} in a block of another type`);
}
