import { isEvent, isMessageType, type TurnEndReason } from "../../../../session/events.ts";
import { isPiece } from "../../../../session/projections/cut-off.ts";
import { LiveTranscript, type TranscriptEntry } from "../../../../session/projections/index.ts";
import { givenTitle, titleOf } from "../../../../session/projections/outline.ts";
import { UsageProjection } from "../../../../session/projections/usage.ts";
import { parseEvent, recordEvents, type SessionRecord } from "../../../../session/records.ts";
import { TORN_END } from "../../../../store/finding.ts";
import { counted } from "../../../counted.ts";
import { formatTime } from "../../list/table.ts";
import { describeEnd, formatDuration, howCutOff, modelText, tokensText } from "../../show/told.ts";
import type { ExportedTail, HeadFacts, Mask } from "./format.ts";

type Told = Exclude<TranscriptEntry, { kind: "turn-end" }>;

/** What a person is shown of an event. Times are epoch milliseconds. */
export type ShownEvent =
  | {
      readonly kind: "entry";
      readonly time: number;
      readonly entry: Told;
      /** In what way an answer is not whole; empty where it is. */
      readonly how: string;
      /** Milliseconds from a call to its result. */
      readonly took?: number;
    }
  | {
      readonly kind: "turn-end";
      readonly time: number;
      readonly turn: number;
      /** How the Turn ended, if it did not complete. */
      readonly failure?: string;
      /** How long it took, and what it used; empty where nobody knows. */
      readonly facts: string;
    }
  /** What the head of the session does not tell, or tells of a later time. */
  | { readonly kind: "change"; readonly name: "Title" | "Model"; readonly text: string };

const SHAPING: ReadonlySet<string> = new Set([
  "turn/start",
  "turn/end",
  "step/start",
  "step/end",
  "tool/call",
  "session/title",
]);

/** Whether a record is shown by itself. Pieces are not: what they say stands in a message again, or is put together. */
export function isShown({ type }: SessionRecord): boolean {
  return SHAPING.has(type) || isMessageType(type);
}

/** Reads events forwards, as formats for people show them. Memory follows one answer, not the log. */
export class ShownEvents {
  readonly #transcript: LiveTranscript;
  readonly #usage = new UsageProjection();
  readonly #mask: Mask;
  readonly #head: HeadFacts;
  /** When the calls of the Turn were made that have no result yet. */
  readonly #calls = new Map<string, number>();
  readonly #told = new Map<string, string>();
  #turnStart: number | undefined;
  #model: string | undefined;
  /** The last of the pieces of an answer. */
  #piece: SessionRecord | undefined;

  /**
   * @param mask gives what stands for a text of an answer that was cut off
   * @param head what the head of the session tells
   */
  constructor(mask: Mask, head: HeadFacts = {}) {
    this.#transcript = new LiveTranscript(mask);
    this.#mask = mask;
    this.#head = head;
  }

  /** Token counts as far as they were read, in words; empty where there are none. */
  get tokens(): string {
    return tokensText(this.#usage.total);
  }

  /** Takes the next record, which is not shown by itself. */
  pass(record: SessionRecord): void {
    this.#transcript.pass(record);
    if (record.type === "request/header") {
      const event = parseEvent(record);
      if (isEvent(event, "request/header")) this.#model = modelText(event.data.header.config);
    }
    if (!isPiece(record)) return;
    this.#piece = record;
    // The name of that member stands in no text as it is.
    if (record.type === "assistant/chunk" && record.text.includes('"usage"'))
      this.#usage.fold(parseEvent(record));
  }

  /** Takes the next event, which is shown by itself. */
  take(record: SessionRecord): ShownEvent[] {
    const event = parseEvent(record);
    this.#usage.fold(event);
    const title = givenTitle(event);
    if (title !== undefined) return this.#change("Title", titleOf(title, undefined) ?? "", this.#head.title);
    const entry = this.#transcript.fold(event);
    const shown = entry === undefined || entry.kind === "turn-end" ? [] : this.#entry(entry, event.time);
    if (isEvent(event, "tool/call")) this.#calls.set(event.data.callId, event.time);
    if (isEvent(event, "turn/start")) {
      this.#turnStart = event.time;
      this.#calls.clear();
    }
    return isEvent(event, "turn/end") ? [...shown, this.#end(event.data, event.time)] : shown;
  }

  /** An answer that the log does not end, with the time of its last piece: it goes on, or nobody closed its Turn. */
  rest(): ShownEvent[] {
    const piece = this.#piece;
    if (piece === undefined) return [];
    const entry = this.#transcript.openAnswer(piece.seq + piece.count);
    if (entry === undefined || entry.kind === "turn-end") return [];
    return this.#entry(entry, recordEvents(piece).at(-1)?.time ?? piece.time, "so far");
  }

  #entry(entry: Told, time: number, open?: string): ShownEvent[] {
    switch (entry.kind) {
      case "user":
        return [{ kind: "entry", time, entry, how: "" }];
      case "assistant": {
        const model =
          this.#model === undefined ? [] : this.#change("Model", this.#mask(this.#model), this.#head.model);
        return [...model, { kind: "entry", time, entry, how: open ?? howCutOff(entry) }];
      }
      case "tool": {
        const began = this.#calls.get(entry.callId);
        this.#calls.delete(entry.callId);
        return [
          { kind: "entry", time, entry, how: "", ...(began === undefined ? {} : { took: time - began }) },
        ];
      }
    }
  }

  #change(name: "Title" | "Model", text: string, inHead: string | undefined): ShownEvent[] {
    const before = this.#told.get(name);
    this.#told.set(name, text);
    return text === before || (before === undefined && text === inHead)
      ? []
      : [{ kind: "change", name, text }];
  }

  #end(
    { turn, reason }: { readonly turn: number; readonly reason: TurnEndReason },
    time: number,
  ): ShownEvent {
    const took = this.#turnStart === undefined ? [] : [`after ${formatDuration(time - this.#turnStart)}`];
    const tokens = tokensText(this.#usage.ofTurn(turn));
    const facts = [...took, ...(tokens === "" ? [] : [tokens])].join("; ");
    this.#turnStart = undefined;
    const failure = reason.kind === "completed" ? {} : { failure: describeEnd(reason) };
    return { kind: "turn-end", time, turn, ...failure, facts };
  }
}

/** Who speaks in an entry, where, and how it is not whole. */
export function headingOf({ entry, how }: Extract<ShownEvent, { kind: "entry" }>): string {
  switch (entry.kind) {
    case "user":
      return `Turn ${entry.turn}, user`;
    case "assistant":
      return `Turn ${entry.turn}, step ${entry.step}, assistant${how === "" ? "" : `, ${how}`}`;
    case "tool":
      return `Turn ${entry.turn}, step ${entry.step}, tool${entry.ok ? "" : " failed"}`;
  }
}

/** When an entry was made, and how long that took. */
export function timeOf({ time, took }: Extract<ShownEvent, { kind: "entry" }>): string {
  return took === undefined ? formatTime(time) : `${formatTime(time)}, after ${formatDuration(took)}`;
}

/** What is told of a session below its last event. */
export function tailFacts({ events, digest, torn, masked }: ExportedTail, tokens: string): string[] {
  return [
    `${counted(events, "event")}, sha256 ${digest}`,
    ...(tokens === "" ? [] : [tokens]),
    ...(torn ? [`the ${TORN_END}; that piece is left out`] : []),
    ...(masked === undefined ? [] : [`places masked: ${masked}`]),
  ];
}
