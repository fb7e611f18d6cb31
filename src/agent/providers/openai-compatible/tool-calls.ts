import type { Chunk } from "../../../session/events.ts";
import type { JsonObject } from "../../../session/json.ts";
import { checkCall, checkCallLength } from "../http/call-names.ts";
import { badResponse } from "../http/errors.ts";
import { isExtra } from "./replay.ts";
import type { ToolCallFragment } from "./wire.ts";

/**
 * One tool call that arrives in fragments.
 *
 * Its id and name may come in pieces, repeated, or after the first arguments. They count as complete once a fragment
 * brings nothing new to them; until then arguments are held back, because every delta names the id.
 */
class ToolCallBlock {
  readonly index: number;
  id = "";
  name = "";
  arguments = "";
  /** What the provider wants back with the call. */
  extra: JsonObject | undefined;
  #pending = "";
  #announced = false;

  constructor(index: number) {
    this.index = index;
  }

  add(fragment: ToolCallFragment): Chunk[] {
    const id = joinPiece(this.id, fragment.id);
    const name = joinPiece(this.name, fragment.function?.name);
    const isNew = id !== this.id || name !== this.name;
    if (isNew && this.#announced)
      throw badResponse("The provider changed the id or name of a tool call midway");
    checkCallLength(id, name);
    this.id = id;
    this.name = name;
    if (isExtra(fragment.extra_content)) this.extra = fragment.extra_content;
    const text = fragment.function?.arguments ?? "";
    this.arguments += text;
    this.#pending += text;
    return isNew || id === "" || name === "" ? [] : this.flush();
  }

  /** The arguments that were held back. The first delta carries the name. */
  flush(): Chunk[] {
    if (this.#pending === "") return [];
    const argumentsDelta = this.#pending;
    this.#pending = "";
    const name = this.#announced ? {} : { name: this.name };
    this.#announced = true;
    return [{ type: "tool-call-delta", index: this.index, id: this.id, ...name, argumentsDelta }];
  }

  end(): Chunk {
    return {
      type: "block-end",
      index: this.index,
      block: {
        type: "tool-call",
        id: this.id,
        name: this.name,
        arguments: this.arguments.trim() === "" ? "{}" : this.arguments,
      },
    };
  }
}

/** The tool calls of one answer, told apart by the provider's `index`. */
export class ToolCallAssembler {
  readonly #byIndex = new Map<number, ToolCallBlock>();
  readonly #calls: ToolCallBlock[] = [];

  get size(): number {
    return this.#calls.length;
  }

  /** @param nextIndex gives the block index of a call that begins here. */
  add(fragment: ToolCallFragment, nextIndex: () => number): Chunk[] {
    const known = fragment.index == null ? this.#calls.at(-1) : this.#byIndex.get(fragment.index);
    if (known !== undefined && !startsAnother(known, fragment)) return known.add(fragment);
    const call = new ToolCallBlock(nextIndex());
    this.#calls.push(call);
    if (fragment.index != null) this.#byIndex.set(fragment.index, call);
    return [{ type: "block-start", index: call.index, blockType: "tool-call" }, ...call.add(fragment)];
  }

  /** What was held back, once the answer is over. @throws ProviderError when a call has no id or name, or ids repeat. */
  close(): Chunk[] {
    const ids = new Set<string>();
    for (const { id, name } of this.#calls) checkCall(id, name, ids);
    return this.#calls.flatMap((call) => call.flush());
  }

  /** What the provider wants back with its calls, by their block indexes. */
  extras(): Array<{ readonly block: number; readonly extra: JsonObject }> {
    return this.#calls.flatMap(({ index, extra }) => (extra === undefined ? [] : [{ block: index, extra }]));
  }

  /** The complete blocks, in the order in which they began. */
  ends(): Array<{ readonly index: number; end(): Chunk }> {
    return [...this.#calls];
  }
}

function joinPiece(current: string, piece: string | null | undefined): string {
  if (piece == null || piece === current) return current;
  return current + piece;
}

// Some servers send whole calls that all have index 0, or none at all; a second id together with a name gives them away.
function startsAnother(call: ToolCallBlock, fragment: ToolCallFragment): boolean {
  if (!fragment.id || !fragment.function?.name || call.id === "" || call.name === "") return false;
  return fragment.id !== call.id && (fragment.index == null || call.arguments !== "");
}
