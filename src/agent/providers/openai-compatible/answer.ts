import type { Chunk } from "../../../session/events.ts";
import { fromStream } from "../http/errors.ts";
import { parseData, type ServerEvent } from "../http/events.ts";
import type { AnswerReader } from "../http/provider.ts";
import { ChunkAssembler } from "./chunks.ts";

/** Reads the events of one Chat Completions answer: chunks, errors among them, and the mark at the end. */
export class ChatAnswerReader implements AnswerReader {
  readonly #mask: (text: string) => string;
  readonly #assembler: ChunkAssembler;
  #isOver = false;

  constructor(mask: (text: string) => string) {
    this.#mask = mask;
    this.#assembler = new ChunkAssembler(mask);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  add(event: ServerEvent): Chunk[] {
    if (event.data.trim() === "[DONE]") {
      this.#isOver = true;
      this.#assembler.markEnd();
      return [];
    }
    const item = parseData(event);
    if (event.event === "error" || hasError(item)) throw fromStream(item, this.#mask);
    return this.#assembler.add(item);
  }

  close(): Chunk[] {
    return this.#assembler.close();
  }
}

/** Also as Gemini says it, in an array, and vLLM, which names the object itself one. */
function hasError(item: unknown): boolean {
  if (Array.isArray(item)) return item.length === 1 && hasError(item[0]);
  if (typeof item !== "object" || item === null) return false;
  return ("error" in item && Boolean(item.error)) || ("object" in item && item.object === "error");
}
