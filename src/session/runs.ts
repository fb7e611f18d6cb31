/*
 * Runs of consecutive streaming deltas, as one storage record keeps them:
 *
 *   {"type":"text-chunks"|"reasoning-chunks","seq0":n,"time0":ms,"data":{"turn","step","index","dt":[…],"texts":[…]}}
 *   {"type":"tool-call-chunks","seq0":n,"time0":ms,"data":{"turn","step","index","dt":[…],"id","name"?,"args":[…]}}
 *
 * Member k has seq `seq0 + k` and time `time0` plus the first k gaps of `dt`. Source: docs/format.md, "Packed runs".
 */

export const RUN_TYPE_OF = {
  "text-delta": "text-chunks",
  "reasoning-delta": "reasoning-chunks",
  "tool-call-delta": "tool-call-chunks",
} as const;

export type DeltaKind = keyof typeof RUN_TYPE_OF;
export type RunType = (typeof RUN_TYPE_OF)[DeltaKind];

/** Fewest members that are written as a run. Runs of one or two are read all the same. */
export const MIN_RUN = 3;

/** Most members that are written as one run: one event of a run costs the parsing of all of it. */
export const MAX_RUN = 512;

/** What the members of a run have in common. `id` and `name` belong to tool calls only. */
export interface RunKey {
  readonly kind: DeltaKind;
  readonly turn: number;
  readonly step: number;
  readonly index: number;
  readonly id?: string;
  readonly name?: string;
}

/** One streaming delta of the exact shape that packs. */
export interface Delta extends RunKey {
  /** The text, or the arguments' piece of a tool call. */
  readonly text: string;
}

/** A decoded run. `dt` has one entry less than `texts`. */
export interface DeltaRun extends RunKey {
  readonly seq0: number;
  readonly time0: number;
  readonly dt: readonly number[];
  readonly texts: readonly string[];
}

/** A delta as an `assistant/chunk` event with its keys in the order of the format. */
export type DeltaEvent = ReturnType<typeof deltaEvent>;

export function isRunType(type: string): type is RunType {
  return type === "text-chunks" || type === "reasoning-chunks" || type === "tool-call-chunks";
}

/** Whether `value` is a non-negative safe integer, and not -0. */
export function isNatural(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0);
}

function hasKeys(value: object, keys: readonly string[]): boolean {
  const own = Reflect.ownKeys(value);
  if (own.length !== keys.length) return false;
  for (let index = 0; index < keys.length; index += 1) if (own[index] !== keys[index]) return false;
  return true;
}

const DATA_KEYS = ["turn", "step", "chunk"];
const TEXT_KEYS = ["type", "index", "text"];
const CALL_KEYS = ["type", "index", "id", "argumentsDelta"];
const NAMED_CALL_KEYS = ["type", "index", "id", "name", "argumentsDelta"];

/** The delta in the `data` of an `assistant/chunk`, if it has exactly the shape that packs without loss. */
export function exactDelta(data: unknown): Delta | undefined {
  if (typeof data !== "object" || data === null || Object.getPrototypeOf(data) !== Object.prototype)
    return undefined;
  if (!hasKeys(data, DATA_KEYS)) return undefined;
  const { turn, step, chunk } = data as Readonly<Record<string, unknown>>;
  if (!isNatural(turn) || !isNatural(step) || typeof chunk !== "object" || chunk === null) return undefined;
  if (Object.getPrototypeOf(chunk) !== Object.prototype) return undefined;
  const { type, index, text, id, name, argumentsDelta } = chunk as Readonly<Record<string, unknown>>;
  if (!isNatural(index)) return undefined;
  if (type === "text-delta" || type === "reasoning-delta") {
    if (typeof text !== "string" || !hasKeys(chunk, TEXT_KEYS)) return undefined;
    return { kind: type, turn, step, index, text };
  }
  if (
    type !== "tool-call-delta" ||
    typeof argumentsDelta !== "string" ||
    typeof id !== "string" ||
    id === ""
  ) {
    return undefined;
  }
  if (name === undefined) {
    return hasKeys(chunk, CALL_KEYS)
      ? { kind: type, turn, step, index, id, text: argumentsDelta }
      : undefined;
  }
  if (typeof name !== "string" || !hasKeys(chunk, NAMED_CALL_KEYS)) return undefined;
  return { kind: type, turn, step, index, id, name, text: argumentsDelta };
}

/** Whether two deltas may stand in one run. */
export function sameRun(a: RunKey, b: RunKey): boolean {
  return (
    a.kind === b.kind &&
    a.index === b.index &&
    a.step === b.step &&
    a.turn === b.turn &&
    a.id === b.id &&
    a.name === b.name
  );
}

/** The frozen event of one delta. */
export function deltaEvent(delta: Delta, seq: number, time: number) {
  const { turn, step, index, text } = delta;
  const chunk =
    delta.kind !== "tool-call-delta"
      ? Object.freeze({ type: delta.kind, index, text })
      : Object.freeze(
          delta.name === undefined
            ? { type: delta.kind, index, id: delta.id ?? "", argumentsDelta: text }
            : { type: delta.kind, index, id: delta.id ?? "", name: delta.name, argumentsDelta: text },
        );
  return Object.freeze({
    type: "assistant/chunk" as const,
    seq,
    time,
    data: Object.freeze({ turn, step, chunk }),
  });
}

/** The events of a run, in order. */
export function expandRun(run: DeltaRun): DeltaEvent[] {
  let time = run.time0;
  return run.texts.map((text, k) => {
    if (k > 0) time += run.dt[k - 1] ?? 0;
    return deltaEvent({ ...run, text }, run.seq0 + k, time);
  });
}

/**
 * The text of a member that stands alone, apart from its seq, its time and its own text: what is before the seq, before
 * the time, before the text (which differs from run to run), and at the end.
 */
export const MEMBER_PARTS = {
  seq: '{"type":"assistant/chunk","seq":',
  time: ',"time":',
  end: "}}}",
} as const;

/** What stands before the text of each member of this run. */
export function memberPrefix({ kind, turn, step, index, id = "", name }: RunKey): string {
  const place = `,"data":{"turn":${turn},"step":${step},"chunk":{"type":"${kind}","index":${index},`;
  if (kind !== "tool-call-delta") return `${place}"text":`;
  const tool = name === undefined ? "" : `"name":${JSON.stringify(name)},`;
  return `${place}"id":${JSON.stringify(id)},${tool}"argumentsDelta":`;
}

/** The JSON texts of the members, each as it would stand alone. */
export function memberTexts(run: DeltaRun): string[] {
  const { seq, time, end } = MEMBER_PARTS;
  const prefix = memberPrefix(run);
  let now = run.time0;
  return run.texts.map((text, k) => {
    if (k > 0) now += run.dt[k - 1] ?? 0;
    return seq + (run.seq0 + k) + time + now + prefix + JSON.stringify(text) + end;
  });
}

/** Time of the last member. */
export function lastTime(run: DeltaRun): number {
  return run.dt.reduce((time, gap) => time + gap, run.time0);
}

/** The storage text of a run. */
export function encodeRun(run: DeltaRun): string {
  const { turn, step, index, dt, texts, id, name, seq0, time0 } = run;
  const data =
    run.kind === "tool-call-delta"
      ? { turn, step, index, dt, id, ...(name === undefined ? {} : { name }), args: texts }
      : { turn, step, index, dt, texts };
  return JSON.stringify({ type: RUN_TYPE_OF[run.kind], seq0, time0, data });
}

const RUN_DATA_KEYS = new Set(["turn", "step", "index", "dt", "texts", "id", "name", "args"]);

const KIND_OF: Readonly<Record<RunType, DeltaKind>> = {
  "text-chunks": "text-delta",
  "reasoning-chunks": "reasoning-delta",
  "tool-call-chunks": "tool-call-delta",
};

/** Reads a parsed run record. Returns the name of the first member that breaks the shape, else the run. */
export function decodeRun(type: RunType, row: Readonly<Record<string, unknown>>): DeltaRun | string {
  const { seq0, time0, data } = row;
  for (const key in row)
    if (key !== "type" && key !== "seq0" && key !== "time0" && key !== "data") return key;
  if (!isNatural(seq0)) return "seq0";
  if (!isNatural(time0)) return "time0";
  if (typeof data !== "object" || data === null || Array.isArray(data)) return "data";
  const { turn, step, index, dt, texts, id, name, args } = data as Readonly<Record<string, unknown>>;
  for (const key in data) if (!RUN_DATA_KEYS.has(key)) return `data.${key}`;
  if (!isNatural(turn)) return "data.turn";
  if (!isNatural(step)) return "data.step";
  if (!isNatural(index)) return "data.index";
  const isCall = type === "tool-call-chunks";
  const members: unknown = isCall ? args : texts;
  if (!isStrings(members) || members.length === 0) return isCall ? "data.args" : "data.texts";
  if (!isGaps(dt, members.length - 1, time0)) return "data.dt";
  if (!Number.isSafeInteger(seq0 + members.length)) return "seq0";
  const run = { kind: KIND_OF[type], turn, step, index, seq0, time0, dt, texts: members };
  if (!isCall) return id === undefined && name === undefined && args === undefined ? run : "data.id";
  if (texts !== undefined) return "data.texts";
  if (typeof id !== "string" || id === "") return "data.id";
  if (name === undefined) return { ...run, id };
  return typeof name === "string" ? { ...run, id, name } : "data.name";
}

function isStrings(value: unknown): value is readonly string[] {
  if (!Array.isArray(value)) return false;
  for (let index = 0; index < value.length; index += 1) if (typeof value[index] !== "string") return false;
  return true;
}

function isGaps(value: unknown, length: number, time0: number): value is readonly number[] {
  if (!Array.isArray(value) || value.length !== length) return false;
  let time = time0;
  for (let index = 0; index < value.length; index += 1) {
    const gap: unknown = value[index];
    if (!Number.isSafeInteger(gap)) return false;
    time += Number(gap);
    if (time < 0 || time > Number.MAX_SAFE_INTEGER) return false;
  }
  return true;
}
