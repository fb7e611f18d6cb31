import { type Chunk, isEvent, type SessionEvent, type Usage } from "../events.ts";
import { parseEvent, recordRun, type SessionRecord } from "../records.ts";
import { isRunType } from "../runs.ts";
import type { TranscriptEntry } from "./transcript.ts";

/** Text that waits for being read, in UTF-16 units: of nearly every answer the message comes, and nobody reads its pieces. */
const MOST_HELD = 256 * 1024;

interface SpokenBlock {
  readonly type: "text" | "reasoning";
  text: string;
}

/** Whether a record is of an answer while it streams. */
export function isPiece({ type }: Pick<SessionRecord, "type">): boolean {
  return type === "assistant/chunk" || isRunType(type);
}

function concerns({ type }: Pick<SessionRecord, "type">): boolean {
  return isPiece({ type }) || type === "llm/retry";
}

/**
 * What was said of an answer that was cut off, put together from its pieces: a provider that fails, or a process that is
 * killed, leaves no message. Its tool calls count for nothing, since none was made.
 */
export class CutOffAnswer {
  readonly #blocks = new Map<number, SpokenBlock>();
  #place: { readonly turn: number; readonly step: number } | undefined;
  #usage: Usage | undefined;
  #isRetried = false;
  #held: SessionRecord[] = [];
  #length = 0;
  readonly #told: (text: string) => string;

  /** @param told what stands for the whole text of a block; the text itself when absent */
  constructor(told: (text: string) => string = (text) => text) {
    this.#told = told;
  }

  /** Takes the next piece, or what announces another attempt at the same answer; passes over anything else. */
  take(record: SessionRecord): void {
    if (!concerns(record)) return;
    this.#held.push(record);
    this.#length += record.text.length;
    if (this.#length >= MOST_HELD) this.#readHeld();
  }

  /** The same for an event that was read before. */
  takeEvent(event: SessionEvent): void {
    if (!concerns(event)) return;
    this.#readHeld();
    this.#readEvent(event);
  }

  clear(): void {
    this.#blocks.clear();
    this.#place = undefined;
    this.#usage = undefined;
    this.#isRetried = false;
    this.#held = [];
    this.#length = 0;
  }

  /** The entry of what was said, as of the event `seq`; nothing where that is not a word. */
  entry(seq: number): Extract<TranscriptEntry, { kind: "assistant" }> | undefined {
    this.#readHeld();
    const reasoning = this.#joined("reasoning");
    const text = this.#joined("text");
    if (this.#place === undefined || (text === "" && reasoning === "")) return undefined;
    return {
      kind: "assistant",
      seq,
      ...this.#place,
      text,
      ...(reasoning === "" ? {} : { reasoning }),
      toolCalls: [],
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
      interrupted: true,
    };
  }

  #readHeld(): void {
    for (const record of this.#held) this.#read(record);
    this.#held = [];
    this.#length = 0;
  }

  #read(record: SessionRecord): void {
    if (isRunType(record.type)) {
      const { kind, turn, step, index, texts } = recordRun(record);
      if (kind !== "tool-call-delta") this.#say(kind, { turn, step }, index, texts.join(""));
      return;
    }
    this.#readEvent(parseEvent(record));
  }

  #readEvent(event: SessionEvent): void {
    if (event.type === "llm/retry") this.#isRetried = true;
    if (!isEvent(event, "assistant/chunk")) return;
    const { turn, step, chunk } = event.data;
    this.#readChunk({ turn, step }, chunk);
  }

  #readChunk(place: { readonly turn: number; readonly step: number }, chunk: Chunk): void {
    switch (chunk.type) {
      case "text-delta":
      case "reasoning-delta":
        this.#say(chunk.type, place, chunk.index, chunk.text);
        break;
      case "block-end": {
        const { index, block } = chunk;
        // The whole block, whether its deltas came or not.
        if (block.type !== "text" && block.type !== "reasoning") break;
        this.#begin(place);
        this.#blocks.set(index, { type: block.type, text: block.text });
        break;
      }
      case "usage":
        this.#usage = chunk.usage;
        break;
      default:
    }
  }

  #say(
    kind: "text-delta" | "reasoning-delta",
    place: { readonly turn: number; readonly step: number },
    index: number,
    text: string,
  ): void {
    this.#begin(place);
    const block = this.#blocks.get(index) ?? { type: kind === "text-delta" ? "text" : "reasoning", text: "" };
    block.text += text;
    this.#blocks.set(index, block);
  }

  /** Another attempt takes the place of the one before it, once it says something. */
  #begin(place: { readonly turn: number; readonly step: number }): void {
    if (this.#isRetried) this.#blocks.clear();
    this.#isRetried = false;
    this.#place = place;
  }

  #joined(type: SpokenBlock["type"]): string {
    return [...this.#blocks]
      .sort(([a], [b]) => a - b)
      .flatMap(([, block]) => (block.type === type && block.text !== "" ? [this.#told(block.text)] : []))
      .join("\n");
  }
}
