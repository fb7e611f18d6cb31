import { isMessageType, type SessionEvent } from "../../../../session/events.ts";
import { isPiece } from "../../../../session/projections/cut-off.ts";
import { LiveTranscript, type TranscriptEntry } from "../../../../session/projections/index.ts";
import { UsageProjection } from "../../../../session/projections/usage.ts";
import { parseEvent, recordEvents, type SessionRecord } from "../../../../session/records.ts";
import { howCutOff } from "../../show/told.ts";
import type { Mask } from "./format.ts";

/** What a person is shown of an event, with its time in epoch milliseconds. */
export type ShownEvent =
  | {
      readonly kind: "entry";
      readonly time: number;
      readonly entry: TranscriptEntry;
      /** In what way an answer is not whole; empty where it is. */
      readonly how: string;
    }
  | { readonly kind: "title"; readonly time: number; readonly title: string };

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
  /** The last of the pieces of an answer. */
  #piece: SessionRecord | undefined;

  /** @param mask gives what stands for a text of an answer that was cut off */
  constructor(mask: Mask) {
    this.#transcript = new LiveTranscript(mask);
  }

  /** Token counts, as far as they were read. */
  get tokens(): { readonly input: number; readonly output: number } {
    const { inputTokens, outputTokens } = this.#usage.total;
    return { input: inputTokens, output: outputTokens };
  }

  /** Takes the next record, which is not shown by itself. */
  pass(record: SessionRecord): void {
    this.#transcript.pass(record);
    if (!isPiece(record)) return;
    this.#piece = record;
    // The name of that member stands in no text as it is.
    if (record.type === "assistant/chunk" && record.text.includes('"usage"'))
      this.#usage.fold(parseEvent(record));
  }

  /** Takes the next event, which is shown by itself. */
  take(record: SessionRecord): ShownEvent | undefined {
    const event = parseEvent(record);
    this.#usage.fold(event);
    const { time } = event;
    const title = titleOf(event);
    if (title !== undefined) return { kind: "title", time, title };
    const entry = this.#transcript.fold(event);
    if (entry === undefined) return undefined;
    const how = entry.kind === "assistant" ? howCutOff(entry, event) : "";
    return { kind: "entry", time, entry, how };
  }

  /** An answer that the log does not end, with the time of its last piece: it goes on, or nobody closed its Turn. */
  rest(): ShownEvent | undefined {
    const piece = this.#piece;
    if (piece === undefined) return undefined;
    const entry = this.#transcript.openAnswer(piece.seq + piece.count);
    if (entry === undefined) return undefined;
    return { kind: "entry", time: recordEvents(piece).at(-1)?.time ?? piece.time, entry, how: "so far" };
  }
}

function titleOf({ type, data }: SessionEvent): string | undefined {
  if (type !== "session/title" || typeof data !== "object" || data === null) return undefined;
  const title: unknown = Reflect.get(data, "title");
  return typeof title === "string" ? title : undefined;
}

/** How a Turn ended that did not complete. */
export function describeEnd({ reason }: Extract<TranscriptEntry, { kind: "turn-end" }>): string {
  if (reason.kind === "error") return `error, ${reason.error.message} (${reason.error.code})`;
  return reason.kind === "aborted" ? `aborted by ${reason.reason.kind}` : reason.kind;
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
    case "turn-end":
      return `Turn ${entry.turn} ended`;
  }
}

/** `3 events`. */
export function countedEvents(events: number): string {
  return `${events} ${events === 1 ? "event" : "events"}`;
}
