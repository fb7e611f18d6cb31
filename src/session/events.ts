import type { z } from "zod";
import { eventSchemas, STRICT_TYPES } from "./event-schemas.ts";
import { formatPath } from "./json.ts";
import { isOpaqueType } from "./opaque-types.ts";
import { exactDelta, isRunType } from "./runs.ts";
import { type Checker, compileChecker } from "./schema-checker.ts";
import { clip } from "./text.ts";

/** The event types with a schema of their own. */
export type StrictType = (typeof STRICT_TYPES)[number];
type Schemas = ReturnType<typeof eventSchemas>;
export type EventData<T extends StrictType> = z.infer<Schemas["data"][T]>;

export type ContentBlock = z.infer<Schemas["contentBlock"]>;
export type Usage = z.infer<Schemas["usage"]>;
export type RequestHeader = z.infer<Schemas["requestHeader"]>;
export type Chunk = EventData<"assistant/chunk">["chunk"];
export type TurnEndReason = EventData<"turn/end">["reason"];
export type UserMessage = EventData<"user/message">;
export type AssistantMessage = EventData<"assistant/message">["message"];
export type ToolMessage = EventData<"tool/result">["message"];
/** A message as the model sees it. */
export type ModelMessage = UserMessage | AssistantMessage | ToolMessage;

/** Message types: the only ones on the surface, and the only ones with `surfaceOp` and `sourceEventSeqs`. */
export type MessageType = "user/message" | "assistant/message" | "tool/result";

/** How a message enters the surface: at its end, or in place of the inclusive range of surface seqs. */
export type SurfaceOp = "append" | Readonly<{ op: "replace"; start: number; end: number }>;

interface Envelope<T extends string, D> {
  readonly type: T;
  /** Position in the log, from 0, without gaps. */
  readonly seq: number;
  /** Epoch milliseconds. Order is `seq`, never `time`. */
  readonly time: number;
  readonly data: D;
  readonly ignorable?: boolean;
  readonly sourceEventSeqs?: readonly number[];
  readonly surfaceOp?: SurfaceOp;
}

/** An event of one of the strict types, discriminated by `type`. */
export type StrictEvent = { [T in StrictType]: Envelope<T, EventData<T>> }[StrictType];
/** The one persisted unit. Frozen, all levels. */
export type SessionEvent = StrictEvent | Envelope<string, unknown>;

type Draft<T extends string, D> = Pick<
  Envelope<T, D>,
  "type" | "data" | "ignorable" | "sourceEventSeqs" | "surfaceOp"
> & {
  /** Epoch milliseconds; the log's clock when absent. */
  readonly time?: number;
};
/** An event before the log gave it a seq. */
export type EventDraft =
  | { [T in StrictType]: Draft<T, EventData<T>> }[StrictType]
  | Draft<`${string}/${string}` & {}, unknown>;

const strictTypes: ReadonlySet<string> = new Set(STRICT_TYPES);

/** Whether `type` has a schema of its own. */
export function isStrictType(type: string): type is StrictType {
  return strictTypes.has(type);
}

/** Narrows an event to the strict types, so that `switch (event.type)` knows its `data`. */
export function isStrict(event: SessionEvent): event is StrictEvent {
  return isStrictType(event.type);
}

/** Narrows an event to one strict type. */
export function isEvent<T extends StrictType>(
  event: SessionEvent,
  type: T,
): event is Extract<StrictEvent, { type: T }> {
  return event.type === type;
}

/** Whether events of this type stand on the surface. */
export function isMessageType(type: string): type is MessageType {
  return type === "user/message" || type === "assistant/message" || type === "tool/result";
}

/** What is wrong with an event: a broken rule, or a type that nobody here knows. */
export type EventFault =
  | { readonly kind: "malformed"; readonly field: string; readonly expected: string; readonly found: string }
  | { readonly kind: "unknown-type" };

/**
 * Checks one event against the vocabulary: envelope, the `data` of a strict type, sources (unique, earlier), and that
 * just the message types have a `surfaceOp`. What a replacement covers needs the log and is checked by the surface.
 *
 * An unknown type is a fault unless the event says `ignorable: true`.
 */
export function findEventFault(event: unknown): EventFault | undefined {
  return isSoundEvent(event) ? undefined : explainFault(event);
}

/** Which rule a faulty event breaks; nothing when it is sound after all. */
function explainFault(event: unknown): EventFault | undefined {
  const envelope = eventSchemas().envelope.safeParse(event);
  if (!envelope.success) return malformed(event, envelope.error);
  const { type, seq, data, sourceEventSeqs, surfaceOp, ignorable } = envelope.data;
  const isMessage = isMessageType(type);
  if (isMessage && surfaceOp === undefined) {
    return { kind: "malformed", field: "surfaceOp", expected: "a surfaceOp on a message", found: "none" };
  }
  if (!isMessage && (surfaceOp !== undefined || sourceEventSeqs !== undefined)) {
    const field = surfaceOp === undefined ? "sourceEventSeqs" : "surfaceOp";
    return { kind: "malformed", field, expected: "it on message events only", found: `it on ${type}` };
  }
  if (sourceEventSeqs !== undefined) {
    const fault = findSourceFault(sourceEventSeqs, seq);
    if (fault !== undefined) return fault;
  }
  if (isStrictType(type)) {
    const result = eventSchemas().data[type].safeParse(data);
    return result.success ? undefined : malformed(data, result.error, "data");
  }
  if (isRunType(type) || type === "session") {
    return {
      kind: "malformed",
      field: "type",
      expected: "an event type",
      found: `${type}, a storage record's name`,
    };
  }
  return isOpaqueType(type) || ignorable === true ? undefined : { kind: "unknown-type" };
}

/** Makes all checks now, which takes some ten milliseconds, instead of when the first event of each type comes. */
export function prepareChecks(): void {
  for (const type of STRICT_TYPES) checkerOf(type);
}

const checkers = new Map<StrictType, Checker>();

function checkerOf(type: StrictType): Checker {
  const known = checkers.get(type);
  if (known !== undefined) return known;
  const made = compileChecker(eventSchemas().data[type]);
  checkers.set(type, made);
  return made;
}

/** The quick way through: true only for what breaks no rule. */
function isSoundEvent(event: unknown): boolean {
  if (typeof event !== "object" || event === null) return false;
  const { type, seq, time, data, ignorable, sourceEventSeqs, surfaceOp } = event as Readonly<
    Record<string, unknown>
  >;
  if (typeof type !== "string" || !isNatural(seq) || !isNatural(time) || ignorable !== undefined)
    return false;
  if (
    isMessageType(type) ? surfaceOp !== "append" : surfaceOp !== undefined || sourceEventSeqs !== undefined
  ) {
    return false;
  }
  if (sourceEventSeqs !== undefined && !areAscendingBefore(sourceEventSeqs, seq)) return false;
  if (type === "assistant/chunk" && exactDelta(data) !== undefined) return true;
  return isStrictType(type) ? checkerOf(type)(data) : data !== undefined && isOpaqueType(type);
}

function isNatural(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function areAscendingBefore(seqs: unknown, end: number): boolean {
  if (!Array.isArray(seqs)) return false;
  let last = -1;
  for (let index = 0; index < seqs.length; index += 1) {
    const seq: unknown = seqs[index];
    if (!isNatural(seq) || seq <= last || seq >= end) return false;
    last = seq;
  }
  return true;
}

function findSourceFault(seqs: readonly number[], seq: number): EventFault | undefined {
  let ascending = true;
  for (let index = 0; index < seqs.length; index += 1) {
    const source = seqs[index] ?? 0;
    if (source >= seq) {
      const field = `sourceEventSeqs[${index}]`;
      return { kind: "malformed", field, expected: `a seq before ${seq}`, found: String(source) };
    }
    if (index > 0 && source <= (seqs[index - 1] ?? 0)) ascending = false;
  }
  if (ascending || new Set(seqs).size === seqs.length) return undefined;
  return { kind: "malformed", field: "sourceEventSeqs", expected: "unique seqs", found: "a repeated seq" };
}

function malformed(value: unknown, error: z.ZodError, root?: string): EventFault {
  const issue = error.issues[0];
  const path = issue?.path ?? [];
  let found: unknown = value;
  for (const key of path) {
    found = typeof found === "object" && found !== null ? Reflect.get(found, key) : undefined;
  }
  const segments = path.map((key) => (typeof key === "symbol" ? String(key) : key));
  const field = formatPath(root === undefined ? segments : [root, ...segments]);
  return {
    kind: "malformed",
    field: field === "" ? "event" : field,
    expected: expectation(issue?.message ?? ""),
    found: summarise(found),
  };
}

/** What a schema's message asks for: "string" of "Invalid input: expected string, received number". */
function expectation(message: string): string {
  const asked = /\bexpected (.*?)(?:, received .*)?$/i.exec(message)?.[1];
  return asked ?? (message === "" || message === "Invalid input" ? "another shape" : message);
}

function summarise(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value) ?? typeof value;
  return clip(text, 60);
}
