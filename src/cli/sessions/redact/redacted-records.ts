import { recordTexts, type SessionRecord } from "../../../session/records.ts";
import { MASK, type Redactor, type Span } from "./redactor.ts";

/** Streamed text that is held until its block is whole, in UTF-16 units. Beyond that what is held is let go. */
const MOST_HELD = 16 * 1024 * 1024;

/** A delta that is held: an event, and where in it the text stands. */
interface Held {
  readonly event: Readonly<Record<string, unknown>>;
  readonly data: Readonly<Record<string, unknown>>;
  readonly chunk: Readonly<Record<string, unknown>>;
  readonly member: "text" | "argumentsDelta";
  /** Which text it is a piece of. */
  readonly stream: string;
  readonly text: string;
}

/**
 * The events of a log, one a record, with their secrets masked. What an answer was streamed in is looked at as a whole:
 * a secret is spread over many deltas, and its mask stands in the one where it begins. So events wait until their Step has
 * no more deltas; their order stays.
 */
export class RedactedRecords {
  readonly #redactor: Redactor;
  #waiting: Array<{ readonly record: SessionRecord; readonly held?: Held }> = [];
  #length = 0;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** Takes a record; returns what can be shown now. */
  *take(record: SessionRecord): Generator<SessionRecord> {
    for (const [k, text] of recordTexts(record).entries()) {
      const isChunk = record.count > 1 || record.type === "assistant/chunk";
      const type = isChunk ? "assistant/chunk" : record.type;
      const single = { seq: record.seq + k, count: 1, type, time: record.time, text };
      const event: unknown = JSON.parse(text);
      const held = isRecord(event) ? heldDelta(event) : undefined;
      if (held !== undefined || (isChunk && this.#waiting.length > 0)) {
        this.#waiting.push(
          held === undefined ? { record: this.#masked(single, event) } : { record: single, held },
        );
        this.#length += text.length;
        if (this.#length > MOST_HELD) yield* this.end();
      } else {
        yield* this.end();
        yield this.#masked(single, event);
      }
    }
  }

  /** What waits, when no more deltas will come. */
  *end(): Generator<SessionRecord> {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#length = 0;
    const streams = new Map<string, Held[]>();
    for (const { held } of waiting) {
      if (held === undefined) continue;
      const pieces = streams.get(held.stream);
      if (pieces === undefined) streams.set(held.stream, [held]);
      else pieces.push(held);
    }
    const texts = new Map<Held, string>();
    for (const pieces of streams.values()) this.#maskPieces(pieces, texts);
    for (const { record, held } of waiting) {
      yield held === undefined ? record : this.#maskedDelta(record, held, texts.get(held));
    }
  }

  #masked(record: SessionRecord, event: unknown): SessionRecord {
    const shown = this.#redactor.value(event);
    return shown === event ? record : { ...record, text: JSON.stringify(shown) };
  }

  /** `text` is what stands in the place of its text; nothing where that stays. */
  #maskedDelta(record: SessionRecord, held: Held, text: string | undefined): SessionRecord {
    // Its text was looked at with the others of its block.
    const rest = withText(held, "");
    const shown = this.#redactor.value(rest);
    if (shown === rest && text === undefined) return record;
    const masked = isRecord(shown) ? heldDelta(shown) : undefined;
    return { ...record, text: JSON.stringify(withText(masked ?? held, text ?? held.text)) };
  }

  /** Notes the new text of each piece that changes. */
  #maskPieces(pieces: readonly Held[], texts: Map<Held, string>): void {
    const spans = this.#redactor.find(pieces.map(({ text }) => text).join(""));
    this.#redactor.count(spans.length);
    let next = 0;
    let at = 0;
    for (const piece of pieces) {
      const end = at + piece.text.length;
      while ((spans[next]?.end ?? Number.POSITIVE_INFINITY) <= at) next += 1;
      let shown = "";
      let from = at;
      for (let k = next; k < spans.length; k += 1) {
        const span: Span | undefined = spans[k];
        if (span === undefined || span.start >= end) break;
        if (span.start >= at) shown += piece.text.slice(from - at, span.start - at) + MASK;
        from = Math.min(span.end, end);
      }
      if (from > at || shown !== "") texts.set(piece, shown + piece.text.slice(from - at));
      at = end;
    }
  }
}

function heldDelta(event: Readonly<Record<string, unknown>>): Held | undefined {
  const { type, data } = event;
  if (type !== "assistant/chunk" || !isRecord(data) || !isRecord(data["chunk"])) return undefined;
  const chunk = data["chunk"];
  const member = chunk["type"] === "tool-call-delta" ? "argumentsDelta" : "text";
  const text = chunk[member];
  if (typeof text !== "string") return undefined;
  const stream = JSON.stringify([data["turn"], data["step"], chunk["type"], chunk["index"], chunk["id"]]);
  return { event, data, chunk, member, stream, text };
}

function withText({ event, data, chunk, member }: Held, text: string): object {
  return { ...event, data: { ...data, chunk: { ...chunk, [member]: text } } };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
