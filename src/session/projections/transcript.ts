import {
  type ContentBlock,
  isEvent,
  isStrict,
  type SessionEvent,
  type TurnEndReason,
  type Usage,
} from "../events.ts";
import type { LogView } from "../log-view.ts";
import { parseEvent } from "../records.ts";

/** One line of a conversation as a person reads it, in seq order. `text` joins the text blocks. */
export type TranscriptEntry =
  | { readonly kind: "user"; readonly seq: number; readonly turn: number; readonly text: string }
  | {
      readonly kind: "assistant";
      readonly seq: number;
      readonly turn: number;
      readonly step: number;
      readonly text: string;
      readonly reasoning?: string;
      readonly toolCalls: ReadonlyArray<{
        readonly id: string;
        readonly name: string;
        readonly arguments: string;
      }>;
      readonly usage?: Usage;
      readonly interrupted?: boolean;
    }
  | {
      readonly kind: "tool";
      readonly seq: number;
      readonly turn: number;
      readonly step: number;
      readonly callId: string;
      readonly name: string;
      readonly ok: boolean;
      readonly text: string;
      readonly error?: { readonly name: string; readonly code: string };
    }
  | {
      readonly kind: "turn-end";
      readonly seq: number;
      readonly turn: number;
      readonly reason: TurnEndReason;
    };

interface EntryRef {
  readonly seq: number;
  readonly turn: number;
  /** Name of the tool, for results: they carry only the call's id. */
  readonly toolName?: string;
}

/**
 * The conversation for people: it walks the events that were appended, so that compaction hides nothing. Keeps where
 * the entries are, and reads them from the log when asked.
 */
export class Transcript {
  #refs: EntryRef[] = [];
  #toolNames = new Map<string, string>();
  #turn = 0;

  get length(): number {
    return this.#refs.length;
  }

  clone(): Transcript {
    const copy = new Transcript();
    copy.#refs = [...this.#refs];
    copy.#toolNames = new Map(this.#toolNames);
    copy.#turn = this.#turn;
    return copy;
  }

  fold(event: SessionEvent): void {
    if (!isStrict(event)) return;
    switch (event.type) {
      case "turn/start":
        this.#turn = event.data.turn;
        this.#toolNames.clear();
        break;
      case "tool/call":
        this.#toolNames.set(event.data.callId, event.data.name);
        break;
      case "user/message":
        if (event.surfaceOp === "append") this.#refs.push({ seq: event.seq, turn: this.#turn });
        break;
      case "assistant/message":
        if (event.surfaceOp !== "append") break;
        for (const block of event.data.message.content) {
          if (block.type === "tool-call") this.#toolNames.set(block.id, block.name);
        }
        this.#refs.push({ seq: event.seq, turn: event.data.turn });
        break;
      case "tool/result": {
        if (event.surfaceOp !== "append") break;
        const toolName = this.#toolNames.get(event.data.message.source.callId) ?? "";
        this.#refs.push({ seq: event.seq, turn: event.data.turn, toolName });
        break;
      }
      case "turn/end":
        if (event.data.reason.kind !== "completed")
          this.#refs.push({ seq: event.seq, turn: event.data.turn });
        break;
      default:
    }
  }

  /** The entries from seq `from` to the end of `log`, which must be the log that was folded or an earlier view of it. */
  *entries(log: LogView, from = 0): Generator<TranscriptEntry> {
    const first = from === 0 ? 0 : this.#refs.findIndex(({ seq }) => seq >= from);
    for (let index = first < 0 ? this.#refs.length : first; index < this.#refs.length; index += 1) {
      const ref = this.#refs[index];
      if (ref === undefined || ref.seq >= log.length) return;
      const record = log.recordAt(ref.seq);
      const entry = record === undefined ? undefined : toEntry(parseEvent(record), ref);
      if (entry !== undefined) yield entry;
    }
  }
}

function toEntry(event: SessionEvent, { seq, turn, toolName = "" }: EntryRef): TranscriptEntry | undefined {
  if (isEvent(event, "user/message")) return { kind: "user", seq, turn, text: joinText(event.data.content) };
  if (isEvent(event, "turn/end")) return { kind: "turn-end", seq, turn, reason: event.data.reason };
  if (isEvent(event, "tool/result")) {
    const { message, step, error } = event.data;
    const [block] = message.content;
    return {
      kind: "tool",
      seq,
      turn,
      step,
      callId: message.source.callId,
      name: toolName,
      ok: block.isError !== true,
      text: joinText(block.content),
      ...(error === undefined ? {} : { error }),
    };
  }
  if (!isEvent(event, "assistant/message")) return undefined;
  const { message, step, usage, interrupted } = event.data;
  const reasoning = joinText(message.content, "reasoning");
  return {
    kind: "assistant",
    seq,
    turn,
    step,
    text: joinText(message.content),
    ...(reasoning === "" ? {} : { reasoning }),
    toolCalls: message.content.flatMap((block) =>
      block.type === "tool-call" ? [{ id: block.id, name: block.name, arguments: block.arguments }] : [],
    ),
    ...(usage === undefined ? {} : { usage }),
    ...(interrupted === undefined ? {} : { interrupted }),
  };
}

/** The text of the blocks of one kind, joined by line breaks. */
export function joinText(content: readonly ContentBlock[], kind: "text" | "reasoning" = "text"): string {
  return content.flatMap((block) => (block.type === kind ? [block.text] : [])).join("\n");
}
