import { InvalidEventError, type Place } from "./errors.ts";
import { type EventDraft, findEventFault, isMessageType, type SessionEvent } from "./events.ts";
import { copyJson } from "./json.ts";
import { modernise } from "./legacy.ts";
import type { SessionRecord } from "./records.ts";
import {
  type Delta,
  type DeltaRun,
  deltaEvent,
  encodeRun,
  exactDelta,
  isNatural,
  MAX_RUN,
  MIN_RUN,
  RUN_TYPE_OF,
  sameRun,
} from "./runs.ts";

/* The way of events into storage: checked, given their text, and packed into records. */

/** An event that passed every check, on its way into storage. */
export interface EncodedEvent {
  readonly seq: number;
  readonly time: number;
  /** A private copy, not frozen; made on demand for deltas. */
  readonly event: SessionEvent;
  /** Set when the event may be packed into a run. */
  readonly delta?: Delta;
  /** JSON text; made on demand for deltas, most of which are only ever written as part of a run. */
  readonly text: () => string;
  /** Rough size in bytes, for bounding queues. */
  readonly size: number;
}

/** Gives a draft its place in the log. @throws NotSerialisableError, InvalidEventError. */
export function encodeDraft(draft: EventDraft, seq: number, now: number): EncodedEvent {
  const { type, data, ignorable, sourceEventSeqs, surfaceOp } = draft;
  const time = draft.time ?? now;
  if (sourceEventSeqs === undefined && surfaceOp === undefined && ignorable === undefined) {
    return encodeEvent({ type, seq, time, data });
  }
  // Key order of the format: type, seq, time, data, sourceEventSeqs, surfaceOp, ignorable.
  return encodeEvent({
    type,
    seq,
    time,
    data,
    ...(sourceEventSeqs === undefined ? {} : { sourceEventSeqs }),
    ...(surfaceOp === undefined ? {} : { surfaceOp }),
    ...(ignorable === undefined ? {} : { ignorable }),
  });
}

/** Checks an event and fixes its text; keys stay in the order given. @throws NotSerialisableError, InvalidEventError. */
export function encodeEvent(input: SessionEvent): EncodedEvent {
  const fast = encodeDelta(input);
  if (fast !== undefined) return fast;
  const eventType = String(input.type);
  const place: Place = Number.isSafeInteger(input.seq) ? { eventType, seq: input.seq } : { eventType };
  const event: unknown = copyJson(input, place, "event");
  if (!eventType.isWellFormed()) {
    throw new InvalidEventError("The event type holds half a character", { ...place, field: "type" });
  }
  if (modernise(event as Readonly<Record<string, unknown>>) !== event) {
    throw new InvalidEventError("The event has a shape of older logs, which is only read", place);
  }
  const nameless = namelessMessage(input);
  if (nameless !== undefined) {
    throw new InvalidEventError("The message has no id", { ...place, field: nameless });
  }
  const fault = findEventFault(event);
  if (fault?.kind === "malformed") {
    const message = `The event is malformed: expected ${fault.expected}, found ${fault.found}`;
    throw new InvalidEventError(message, { ...place, field: fault.field });
  }
  if (fault?.kind === "unknown-type") {
    throw new InvalidEventError("No event type of this name is known, and the event is not ignorable", place);
  }
  const text = JSON.stringify(event);
  return encoded(event as SessionEvent, text);
}

/** Where a new message should have its id and has none. Older logs hold such messages; they are only read. */
function namelessMessage({ type, data }: SessionEvent): string | undefined {
  if (!isMessageType(type) || typeof data !== "object" || data === null) return undefined;
  const message: unknown = type === "user/message" ? data : Reflect.get(data, "message");
  if (typeof message !== "object" || message === null) return undefined;
  const id: unknown = Reflect.get(message, "id");
  if (id !== undefined && id !== "") return undefined;
  return type === "user/message" ? "data.id" : "data.message.id";
}

function encoded(event: SessionEvent, text: string): EncodedEvent {
  return { seq: event.seq, time: event.time, event, text: () => text, size: text.length };
}

/** A delta: most are only ever looked at as part of a run, so neither event nor text is made before somebody asks. */
class EncodedDelta implements EncodedEvent {
  readonly delta: Delta;
  readonly seq: number;
  readonly time: number;

  constructor(delta: Delta, seq: number, time: number) {
    this.delta = delta;
    this.seq = seq;
    this.time = time;
  }

  get event(): SessionEvent {
    return deltaEvent(this.delta, this.seq, this.time);
  }

  get size(): number {
    const { text, id = "", name = "" } = this.delta;
    return text.length + id.length + name.length + 16;
  }

  text(): string {
    return JSON.stringify(this.event);
  }
}

const EVENT_KEYS = 4;

function encodeDelta(input: SessionEvent): EncodedEvent | undefined {
  if (input.type !== "assistant/chunk") return undefined;
  const keys = Reflect.ownKeys(input);
  if (keys.length !== EVENT_KEYS || keys[0] !== "type" || keys[1] !== "seq" || keys[2] !== "time")
    return undefined;
  const { seq, time } = input;
  if (!isNatural(seq) || !isNatural(time)) return undefined;
  const delta = exactDelta(input.data);
  return delta === undefined ? undefined : new EncodedDelta(delta, seq, time);
}

/** Packs one batch: runs of at least {@link MIN_RUN} deltas become one record. Packing never crosses a batch. */
export function packBatch(events: readonly EncodedEvent[]): SessionRecord[] {
  const records: SessionRecord[] = [];
  let from = 0;
  while (from < events.length) {
    const to = runEnd(events, from);
    if (to - from >= MIN_RUN) records.push(packRun(events, from, to));
    else for (let index = from; index < to; index += 1) pushSingle(records, events[index]);
    from = to;
  }
  return records;
}

function runEnd(events: readonly EncodedEvent[], from: number): number {
  const first = events[from]?.delta;
  let to = from + 1;
  if (first === undefined) return to;
  for (; to < events.length; to += 1) {
    const next = events[to];
    const contiguous = next?.seq === (events[to - 1]?.seq ?? 0) + 1;
    if (next?.delta === undefined || !contiguous || !sameRun(first, next.delta)) break;
    if (to - from >= MAX_RUN) break;
  }
  return to;
}

function pushSingle(records: SessionRecord[], event: EncodedEvent | undefined): void {
  if (event === undefined) return;
  const { seq, time } = event;
  const type = event.delta === undefined ? event.event.type : "assistant/chunk";
  records.push({ seq, count: 1, type, time, text: event.text() });
}

function packRun(events: readonly EncodedEvent[], from: number, to: number): SessionRecord {
  const members = events.slice(from, to);
  const first = members[0];
  const key = first?.delta;
  if (first === undefined || key === undefined) throw new RangeError("a run needs a delta to start with");
  const dt = members.slice(1).map((member, k) => member.time - (members[k]?.time ?? 0));
  const texts = members.map((member) => member.delta?.text ?? "");
  const run: DeltaRun = { ...key, seq0: first.seq, time0: first.time, dt, texts };
  const text = encodeRun(run);
  return { seq: run.seq0, count: texts.length, type: RUN_TYPE_OF[run.kind], time: run.time0, text };
}
