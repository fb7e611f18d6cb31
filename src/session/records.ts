import { CorruptError, type Place } from "./errors.ts";
import { findEventFault, type SessionEvent } from "./events.ts";
import { findJsonFault, freezeJson, MAX_JSON_DEPTH } from "./json.ts";
import { modernise } from "./legacy.ts";
import { recogniseChunk } from "./recognise.ts";
import { type DeltaRun, decodeRun, expandRun, isRunType, memberTexts } from "./runs.ts";
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
