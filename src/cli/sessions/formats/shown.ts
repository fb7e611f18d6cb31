import { isMessageType, type SessionEvent } from "../../../session/events.ts";
import { LiveTranscript, type TranscriptEntry } from "../../../session/projections/index.ts";
import { UsageProjection } from "../../../session/projections/usage.ts";
import { parseEvent, type SessionRecord } from "../../../session/records.ts";

/** What a person is shown of an event, with its time in epoch milliseconds. */
export type ShownEvent =
  | { readonly kind: "entry"; readonly time: number; readonly entry: TranscriptEntry }
  | { readonly kind: "title"; readonly time: number; readonly title: string };

const SHAPING: ReadonlySet<string> = new Set([
  "turn/start",
  "turn/end",
  "step/start",
  "step/end",
  "tool/call",
  "session/title",
]);

/** Whether a record has a part in what is shown. Streamed pieces have none: their text stands in the messages again. */
export function isShown({ type, text }: SessionRecord): boolean {
  // Of the pieces only token counts matter; the name of that member stands in no text as it is.
  if (type === "assistant/chunk") return text.includes('"usage"');
  return SHAPING.has(type) || isMessageType(type);
}

/** Reads events forwards, as formats for people show them. Memory does not follow the log. */
export class ShownEvents {
  readonly #transcript = new LiveTranscript();
  readonly #usage = new UsageProjection();

  /** Token counts, as far as they were read. */
  get tokens(): { readonly input: number; readonly output: number } {
    const { inputTokens, outputTokens } = this.#usage.total;
    return { input: inputTokens, output: outputTokens };
  }

  take(record: SessionRecord): ShownEvent | undefined {
    if (!isShown(record)) return undefined;
    const event = parseEvent(record);
    this.#usage.fold(event);
    const { time } = event;
    const title = titleOf(event);
    if (title !== undefined) return { kind: "title", time, title };
    const entry = this.#transcript.fold(event);
    return entry === undefined ? undefined : { kind: "entry", time, entry };
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

/** Who speaks in an entry, and where. */
export function headingOf(entry: TranscriptEntry): string {
  switch (entry.kind) {
    case "user":
      return `Turn ${entry.turn}, user`;
    case "assistant":
      return `Turn ${entry.turn}, step ${entry.step}, assistant${entry.interrupted === true ? ", interrupted" : ""}`;
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
