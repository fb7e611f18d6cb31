import {
  type ContentBlock,
  isEvent,
  isStrict,
  type SessionEvent,
  type TurnEndReason,
  type Usage,
} from "../events.ts";
import type { LogView } from "../log-view.ts";
import { parseEvent, type SessionRecord } from "../records.ts";
import { CutOffAnswer, isPiece } from "./cut-off.ts";

/**
 * One line of a conversation as a person reads it, in seq order. `text` joins the text blocks. `seq` is that of the event
 * that makes the entry: of an answer that was cut off without a message, of the one that ends its Step.
 */
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
  /** Seq from which on the pieces lie of an answer that has no message. */
  readonly pieces?: number;
}

/**
 * Finds the entries of a log, event by event. Keeps what the open Turn called its tools, and where the pieces of an answer
 * begin that has no message yet.
 */
class EntryFinder {
  #toolNames = new Map<string, string>();
  #turn = 0;
  #pieces: number | undefined;

  /** Whether there are pieces of an answer that has no message yet. */
  get hasPieces(): boolean {
    return this.#pieces !== undefined;
  }

  clone(): EntryFinder {
    const copy = new EntryFinder();
    copy.#toolNames = new Map(this.#toolNames);
    copy.#turn = this.#turn;
    copy.#pieces = this.#pieces;
    return copy;
  }

  /** Passes over pieces of an answer, of which the first has this seq. */
  pass(seq: number): void {
    this.#pieces ??= seq;
  }

  /** Where the entry of this event is, if it has one. */
  fold(event: SessionEvent): EntryRef | undefined {
    if (!isStrict(event)) return undefined;
    switch (event.type) {
      case "turn/start": {
        const cutOff = this.#cutOff(event.seq);
        this.#turn = event.data.turn;
        this.#toolNames.clear();
        return cutOff;
      }
      case "step/start":
      case "step/end":
        return this.#cutOff(event.seq);
      case "assistant/chunk":
        this.pass(event.seq);
        return undefined;
      case "tool/call":
        this.#toolNames.set(event.data.callId, event.data.name);
        return undefined;
      case "user/message":
        return event.surfaceOp === "append" ? { seq: event.seq, turn: this.#turn } : undefined;
      case "assistant/message":
        if (event.surfaceOp !== "append") return undefined;
        this.#pieces = undefined;
        for (const block of event.data.message.content) {
          if (block.type === "tool-call") this.#toolNames.set(block.id, block.name);
        }
        return { seq: event.seq, turn: event.data.turn };
      case "tool/result": {
        if (event.surfaceOp !== "append") return undefined;
        const toolName = this.#toolNames.get(event.data.message.source.callId) ?? "";
        return { seq: event.seq, turn: event.data.turn, toolName };
      }
      case "turn/end": {
        const cutOff = this.#cutOff(event.seq);
        // An event makes one entry; nobody writes the end of a Turn before that of its Step.
        return event.data.reason.kind === "completed" ? cutOff : { seq: event.seq, turn: event.data.turn };
      }
      default:
        return undefined;
    }
  }

  /** No message will come for the pieces any more. */
  #cutOff(seq: number): EntryRef | undefined {
    const pieces = this.#pieces;
    this.#pieces = undefined;
    return pieces === undefined ? undefined : { seq, turn: this.#turn, pieces };
  }
}

/** The entries of a log that is read forwards, each as its event comes. Memory follows one answer, not the log. */
export class LiveTranscript {
  readonly #finder = new EntryFinder();
  readonly #answer: CutOffAnswer;

  /** @param told what stands for a text of an answer that was cut off, put together; the text itself when absent */
  constructor(told?: (text: string) => string) {
    this.#answer = new CutOffAnswer(told);
  }

  /** Passes over a record that comes next and is not folded: what is a piece of an answer is kept until its message. */
  pass(record: SessionRecord): void {
    if (isPiece(record)) this.#finder.pass(record.seq);
    this.#answer.take(record);
  }

  /** The entry of the event that comes next, if it has one. */
  fold(event: SessionEvent): TranscriptEntry | undefined {
    const ref = this.#finder.fold(event);
    this.#answer.takeEvent(event);
    const entry = ref?.pieces === undefined ? ref && toEntry(event, ref) : this.#answer.entry(event.seq);
    if (!this.#finder.hasPieces) this.#answer.clear();
    return entry;
  }

  /** What was said so far of an answer that the log does not end, as an entry of the event `seq` that would end it. */
  openAnswer(seq: number): TranscriptEntry | undefined {
    return this.#finder.hasPieces ? this.#answer.entry(seq) : undefined;
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

  /** Passes over a record of pieces of an answer. */
  pass({ seq }: SessionRecord): void {
    this.#finder.pass(seq);
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
      if (record === undefined) continue;
      const { pieces } = ref;
      const entry =
        pieces === undefined ? toEntry(parseEvent(record), ref) : cutOffEntry(log, pieces, ref.seq);
      if (entry !== undefined) yield entry;
    }
  }
}

function cutOffEntry(log: LogView, from: number, seq: number): TranscriptEntry | undefined {
  const answer = new CutOffAnswer();
  for (const record of log.records(from, seq)) answer.take(record);
  return answer.entry(seq);
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
