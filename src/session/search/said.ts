import { isEvent, type SessionEvent } from "../events.ts";
import { CutOffAnswer, isPiece } from "../projections/cut-off.ts";
import { joinText } from "../projections/transcript.ts";
import { type DecodedRecord, parseEvent } from "../records.ts";

/** Whose text it is. `tool` is what a tool was given and what it gave back. */
export const SPEAKERS = ["user", "assistant", "reasoning", "tool"] as const;
export type Speaker = (typeof SPEAKERS)[number];

/** One text of a session. A message may have several: reasoning, answer, and what it gives to each tool. */
export interface Said {
  /** Of the message; of an answer that was cut off without one, of the event that ends it. */
  readonly seq: number;
  /** 0 outside of any Turn. */
  readonly turn: number;
  readonly who: Speaker;
  /** Not empty. */
  readonly text: string;
  /** Name of the tool; empty where the log does not tell it. Only of a tool. */
  readonly tool?: string;
  readonly part?: "arguments" | "result";
}

/**
 * Finds all that was said, record by record, as a transcript shows it: messages that were appended, whatever compaction
 * put in their place. Deltas stand in their message again, and count only where there is none. A log can be read from any
 * record on that {@link isBorder}, or from where it {@link isOutside}, and what is found does not differ.
 */
export class SaidFinder {
  #turn = 0;
  readonly #tools = new Map<string, string>();
  readonly #answer = new CutOffAnswer();
  #hasPieces = false;

  /** Whether no Turn is open. Then it does not matter for what follows which records came before. */
  get isOutside(): boolean {
    return this.#turn === 0 && this.#tools.size === 0 && !this.#hasPieces;
  }

  /** Takes the record that comes next. What it gives back at a border was said before that. */
  fold({ record, event }: DecodedRecord): readonly Said[] {
    if (isPiece(record)) this.#hasPieces = true;
    this.#answer.take(record);
    switch (record.type) {
      case "turn/start":
      case "step/start":
        return this.#begin(event);
      case "step/end":
        return this.finish(record.seq);
      case "turn/end": {
        const said = this.finish(record.seq);
        this.#turn = 0;
        this.#tools.clear();
        return said;
      }
      case "tool/call":
        if (event !== undefined && isEvent(event, "tool/call"))
          this.#tools.set(event.data.callId, event.data.name);
        return [];
      case "user/message":
      case "assistant/message":
      case "tool/result":
        // Not the event that was read: what is quoted is empty there.
        return event?.surfaceOp === "append" ? this.#saidIn(parseEvent(record)) : [];
      default:
        return [];
    }
  }

  /** No message comes any more for the pieces of an answer: the event `seq` ends it. */
  finish(seq: number): readonly Said[] {
    const entry = this.#hasPieces ? this.#answer.entry(seq) : undefined;
    this.#forgetPieces();
    if (entry === undefined) return [];
    const { turn, text, reasoning = "" } = entry;
    return texts({ seq, turn, who: "reasoning", text: reasoning }, { seq, turn, who: "assistant", text });
  }

  #begin(event: SessionEvent | undefined): readonly Said[] {
    const said = event === undefined ? [] : this.finish(event.seq);
    if (event !== undefined && (isEvent(event, "turn/start") || isEvent(event, "step/start")))
      this.#turn = event.data.turn;
    this.#tools.clear();
    return said;
  }

  #saidIn(event: SessionEvent): readonly Said[] {
    const { seq } = event;
    if (isEvent(event, "user/message")) {
      return texts({ seq, turn: this.#turn, who: "user", text: joinText(event.data.content) });
    }
    if (isEvent(event, "tool/result")) {
      const { turn, message } = event.data;
      const text = joinText(message.content[0].content);
      const tool = this.#tools.get(message.source.callId) ?? "";
      return texts({ seq, turn, who: "tool", text, tool, part: "result" });
    }
    if (!isEvent(event, "assistant/message")) return [];
    this.#forgetPieces();
    const { turn, message } = event.data;
    const said: Said[] = [
      { seq, turn, who: "reasoning", text: joinText(message.content, "reasoning") },
      { seq, turn, who: "assistant", text: joinText(message.content) },
    ];
    for (const block of message.content) {
      if (block.type !== "tool-call") continue;
      this.#tools.set(block.id, block.name);
      said.push({ seq, turn, who: "tool", text: block.arguments, tool: block.name, part: "arguments" });
    }
    return texts(...said);
  }

  #forgetPieces(): void {
    if (this.#hasPieces) this.#answer.clear();
    this.#hasPieces = false;
  }
}

/** Whether a log can be read from this record on as well as from its beginning. */
export function isBorder({ type }: { readonly type: string }): boolean {
  return type === "turn/start" || type === "step/start";
}

function texts(...said: readonly Said[]): readonly Said[] {
  return said.filter(({ text }) => text !== "");
}
