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

/** Finds the entries of a log, event by event. Keeps what the open Turn called its tools, and nothing else. */
class EntryFinder {
  #toolNames = new Map<string, string>();
  #turn = 0;

  clone(): EntryFinder {
    const copy = new EntryFinder();
    copy.#toolNames = new Map(this.#toolNames);
    copy.#turn = this.#turn;
    return copy;
  }

  /** Where the entry of this event is, if it has one. */
  fold(event: SessionEvent): EntryRef | undefined {
    if (!isStrict(event)) return undefined;
    switch (event.type) {
      case "turn/start":
        this.#turn = event.data.turn;
        this.#toolNames.clear();
        return undefined;
      case "tool/call":
        this.#toolNames.set(event.data.callId, event.data.name);
        return undefined;
      case "user/message":
        return event.surfaceOp === "append" ? { seq: event.seq, turn: this.#turn } : undefined;
      case "assistant/message":
        if (event.surfaceOp !== "append") return undefined;
        for (const block of event.data.message.content) {
          if (block.type === "tool-call") this.#toolNames.set(block.id, block.name);
        }
        return { seq: event.seq, turn: event.data.turn };
      case "tool/result": {
        if (event.surfaceOp !== "append") return undefined;
        const toolName = this.#toolNames.get(event.data.message.source.callId) ?? "";
        return { seq: event.seq, turn: event.data.turn, toolName };
      }
      case "turn/end":
        if (event.data.reason.kind === "completed") return undefined;
        return { seq: event.seq, turn: event.data.turn };
      default:
        return undefined;
    }
  }
}

/** The entries of a log that is read forwards, each as its event comes. Memory does not follow the log. */
export class LiveTranscript {
  readonly #finder = new EntryFinder();

  /** The entry of the event that comes next, if it has one. */
  fold(event: SessionEvent): TranscriptEntry | undefined {
    const ref = this.#finder.fold(event);
    return ref === undefined ? undefined : toEntry(event, ref);
  }
}

/**
 * The conversation for people: it walks the events that were appended, so that compaction hides nothing. Keeps where
 * the entries are, and reads them from the log when asked.
 */
export class Transcript {
  #refs: EntryRef[] = [];
  #finder = new EntryFinder();

  get length(): number {
    return this.#refs.length;
  }

  clone(): Transcript {
    const copy = new Transcript();
    copy.#refs = [...this.#refs];
    copy.#finder = this.#finder.clone();
    return copy;
  }

  fold(event: SessionEvent): void {
    const ref = this.#finder.fold(event);
    if (ref !== undefined) this.#refs.push(ref);
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
