import { CorruptError, InvalidEventError, type Place } from "./errors.ts";
import { type EventDraft, findEventFault, isMessageType, type SessionEvent } from "./events.ts";
import { copyJson, findJsonFault, freezeJson, MAX_JSON_DEPTH } from "./json.ts";
import { modernise } from "./legacy.ts";
import { recogniseChunk } from "./recognise.ts";
import {
  type Delta,
  type DeltaRun,
  decodeRun,
  deltaEvent,
  encodeRun,
  exactDelta,
  expandRun,
  isNatural,
  isRunType,
  MAX_RUN,
  MIN_RUN,
  memberTexts,
  RUN_TYPE_OF,
  sameRun,
} from "./runs.ts";
import { clip } from "./text.ts";

/**
 * How events lie in storage and in memory: the JSON text of one event, or of one run of streaming deltas
 * (docs/format.md). The text is what was received, byte for byte; nothing is written again from a parsed value.
 */
export interface SessionRecord {
  /** Seq of the first event. */
  readonly seq: number;
  /** Number of events, at least 1. */
  readonly count: number;
  /** Event type, or the run's own type. */
  readonly type: string;
  /** Time of the first event in epoch milliseconds. */
  readonly time: number;
  readonly text: string;
}

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

/** A record as it was read and checked. */
export interface DecodedRecord {
  readonly record: SessionRecord;
  /** The event, unless the record holds nothing but deltas or a block's start, which no projection looks into. */
  readonly event?: SessionEvent;
  /** The run, where the record is a packed one. */
  readonly run?: DeltaRun;
  /** Whether the type is one that nobody here knows. */
  readonly unknownType: boolean;
}

/**
 * Reads the text of one record and checks all that one record can show.
 * @throws CorruptError with `expected` and `found`. An unknown event type is no error here.
 */
export function decodeRecord(text: string, place: Place): DecodedRecord {
  const chunk = recogniseChunk(text);
  if (chunk === undefined) return parseRecord(text, place);
  const { seq, time } = chunk;
  return { record: { seq, count: 1, type: "assistant/chunk", time, text }, unknownType: false };
}

function parseRecord(text: string, place: Place): DecodedRecord {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new CorruptError("A record is not JSON", {
      expected: "one JSON object",
      found: JSON.stringify(clip(text, 40)),
      place,
      cause,
    });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new CorruptError("A record is not an object", {
      expected: "one JSON object",
      found: clip(text, 40),
      place,
    });
  }
  const row = value as Readonly<Record<string, unknown>>;
  const { type } = row;
  if (typeof type === "string" && isRunType(type)) {
    const run = decodeRun(type, row);
    if (typeof run === "string") {
      throw new CorruptError("A packed record is malformed", {
        expected: `a valid ${run}`,
        found: "another shape",
        place: { ...place, eventType: type, field: run },
      });
    }
    return {
      record: { seq: run.seq0, count: run.texts.length, type, time: run.time0, text },
      run,
      unknownType: false,
    };
  }
  return decodeSingle(row, text, place);
}

function decodeSingle(row: Readonly<Record<string, unknown>>, text: string, place: Place): DecodedRecord {
  const loss = mayLose(text) ? findJsonFault(row) : undefined;
  if (loss !== undefined) {
    const at = { ...eventPlace(row, place), field: loss.path };
    const details = { expected: "lossless JSON", found: loss.problem, place: at };
    throw new CorruptError("An event cannot be read without loss", details);
  }
  const modern = modernise(row);
  const fault = findEventFault(modern);
  if (fault?.kind === "malformed") {
    const { expected, found, field } = fault;
    const at = { ...eventPlace(row, place), field };
    throw new CorruptError("An event is malformed", { expected, found, place: at });
  }
  // Checked above: the envelope is complete, and `data` fits the type where the type is strict.
  const event = modern as unknown as SessionEvent;
  return {
    record: { seq: event.seq, count: 1, type: event.type, time: event.time, text },
    event,
    unknownType: fault !== undefined,
  };
}

/**
 * Whether a text could hold what {@link findJsonFault} looks for: nesting that deep takes two brackets a level, and a
 * number becomes infinite by an exponent of three digits or by hundreds of digits.
 */
function mayLose(text: string): boolean {
  return text.length > 2 * MAX_JSON_DEPTH || /\d[eE]\+?0*\d{3}|\d{200}/.test(text);
}

function eventPlace({ seq, type }: Readonly<Record<string, unknown>>, place: Place): Place {
  return {
    ...place,
    ...(typeof seq === "number" ? { seq } : {}),
    ...(typeof type === "string" ? { eventType: type } : {}),
  };
}

/** The events of a record that was checked before, frozen. */
export function recordEvents(record: SessionRecord): readonly SessionEvent[] {
  return isRunType(record.type) ? expandRun(recordRun(record)) : [freezeJson(parseEvent(record))];
}

/** The event of a record that was checked before and is no run. Not frozen, which costs several times the parsing. */
export function parseEvent(record: SessionRecord): SessionEvent {
  const row: Readonly<Record<string, unknown>> = JSON.parse(record.text);
  // Checked when the record was read or written.
  return modernise(row) as unknown as SessionEvent;
}

/** The run in a record of a run type that was checked before. */
export function recordRun(record: SessionRecord): DeltaRun {
  const run = isRunType(record.type) ? decodeRun(record.type, JSON.parse(record.text)) : "type";
  if (typeof run === "string")
    throw new RangeError(`record ${record.seq} was not checked before use: ${run}`);
  return run;
}

/** JSON texts of a record's events: the stored text itself, or one text for each member of a run. */
export function recordTexts(record: SessionRecord): readonly string[] {
  return isRunType(record.type) ? memberTexts(recordRun(record)) : [record.text];
}
