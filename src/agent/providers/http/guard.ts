import type { Chunk, ContentBlock } from "../../../session/events.ts";
import { badResponse } from "./errors.ts";
import { SecretFilter } from "./mask.ts";

/**
 * Looks after what a model says, block by block, before anyone sees it:
 *
 * - A character that the provider cut between two deltas is put together, so that each delta is well-formed text. Half a
 *   character that stays alone is an error.
 * - The API key is hidden, should the provider echo it. A call is not made by such a name, nor is the key kept to be replayed.
 */
export class DeltaGuard {
  readonly #secret: string | undefined;
  readonly #blocks = new Map<number, GuardedText>();

  constructor(secret: string | undefined) {
    this.#secret = secret;
  }

  /** What may be told now. @throws ProviderError when the text is not well-formed. */
  add(chunk: Chunk): Chunk[] {
    switch (chunk.type) {
      case "text-delta":
      case "reasoning-delta": {
        const text = this.#text(chunk.index).add(chunk.text);
        return text === "" ? [] : [{ ...chunk, text }];
      }
      case "tool-call-delta": {
        this.#checkName(chunk.id);
        this.#checkName(chunk.name ?? "");
        const block = this.#text(chunk.index);
        if (chunk.name !== undefined) block.name = chunk.name;
        block.id = chunk.id;
        return block.callDelta(chunk.index, block.add(chunk.argumentsDelta));
      }
      case "block-end":
        return this.#end(chunk.index, chunk.block);
      case "finish":
        return [this.#holdsKey(JSON.stringify(chunk)) ? { type: "finish", reason: chunk.reason } : chunk];
      default:
        return [chunk];
    }
  }

  #checkName(name: string): void {
    checkWellFormed(name);
    if (this.#holdsKey(name))
      throw badResponse("The provider sent the API key back as the id or name of a call");
  }

  #holdsKey(text: string): boolean {
    return this.#secret !== undefined && text.includes(this.#secret);
  }

  #text(index: number): GuardedText {
    const known = this.#blocks.get(index);
    if (known !== undefined) return known;
    const made = new GuardedText(this.#secret);
    this.#blocks.set(index, made);
    return made;
  }

  #end(index: number, block: ContentBlock): Chunk[] {
    const guarded = this.#text(index);
    this.#blocks.delete(index);
    const rest = guarded.end();
    if (block.type === "text" || block.type === "reasoning") {
      const text = guarded.isChanged ? guarded.text : block.text;
      const type = block.type === "text" ? ("text-delta" as const) : ("reasoning-delta" as const);
      const deltas: Chunk[] = rest === "" ? [] : [{ type, index, text: rest }];
      return [...deltas, { type: "block-end", index, block: { ...block, text } }];
    }
    if (block.type === "tool-call") {
      this.#checkName(block.id);
      this.#checkName(block.name);
      const args = guarded.isChanged ? guarded.text : block.arguments;
      const end: Chunk = { type: "block-end", index, block: { ...block, arguments: args } };
      return [...guarded.callDelta(index, rest), end];
    }
    return [{ type: "block-end", index, block }];
  }
}

/** The text of one block as it comes in. */
class GuardedText {
  /** Of a tool call. The name is told with the first delta. */
  id = "";
  name: string | undefined;
  /** What was let through. */
  text = "";
  readonly #filter: SecretFilter;
  #half = "";

  constructor(secret: string | undefined) {
    this.#filter = new SecretFilter(secret);
  }

  /** Whether something was hidden in it. */
  get isChanged(): boolean {
    return this.#filter.found;
  }

  add(piece: string): string {
    const all = this.#half + piece;
    const border = /[\ud800-\udbff]$/.test(all) ? all.length - 1 : all.length;
    this.#half = all.slice(border);
    const whole = all.slice(0, border);
    checkWellFormed(whole);
    return this.#let(this.#filter.add(whole));
  }

  end(): string {
    checkWellFormed(this.#half);
    return this.#let(this.#filter.end());
  }

  callDelta(index: number, argumentsDelta: string): Chunk[] {
    if (argumentsDelta === "") return [];
    const name = this.name === undefined ? {} : { name: this.name };
    this.name = undefined;
    return [{ type: "tool-call-delta", index, id: this.id, ...name, argumentsDelta }];
  }

  #let(text: string): string {
    this.text += text;
    return text;
  }
}

function checkWellFormed(text: string): void {
  if (!text.isWellFormed()) {
    throw badResponse("The provider sent half a character (a lone surrogate)");
  }
}
