import { NotSerialisableError, type Place } from "./errors.ts";

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** Whether a value is an object; only for what JSON.parse returned, whose objects hold JSON and nothing else. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Deepest nesting that an event may have, counted in arrays and objects. */
export const MAX_JSON_DEPTH = 512;

/** Why a value is not lossless JSON, and where in it. */
export interface JsonFault {
  readonly path: string;
  readonly problem: string;
}

type Segment = string | number;

class FaultSignal {
  readonly problem: string;
  constructor(problem: string) {
    this.problem = problem;
  }
}

/** `["data", "items", 3]` as `data.items[3]`; keys that are no identifiers are quoted. */
export function formatPath(path: readonly Segment[]): string {
  let out = "";
  for (const segment of path) {
    if (typeof segment === "number") out += `[${segment}]`;
    else if (/^[A-Za-z_$][\w$]*$/.test(segment)) out += out === "" ? segment : `.${segment}`;
    else out += `[${JSON.stringify(segment)}]`;
  }
  return out;
}

function describe(value: object): string {
  const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
  return typeof name === "string" && name !== "" ? `a ${name}` : "an object with an exotic prototype";
}

/** What {@link copyJson} gives, deeply frozen. @throws NotSerialisableError */
export function snapshotJson(value: unknown, place: Place, root = "data"): JsonValue {
  return freezeJson(copyJson(value, place, root));
}

/**
 * A copy of `value` that JSON can hold without loss.
 *
 * Refuses NaN, ±Infinity, -0, undefined, functions, symbols, BigInt, every prototype but Object's, Array's and null,
 * sparse arrays, arrays with extra keys, symbol keys, cycles, and nesting beyond {@link MAX_JSON_DEPTH}. Accessors are
 * read once, so that what was checked is what is stored. Lone surrogates are kept.
 *
 * @throws NotSerialisableError with `place.field` set below `place` (the field starts at `root`).
 */
export function copyJson(value: unknown, place: Place, root = "data"): JsonValue {
  const walk: Walk = { path: [root], parents: [] };
  try {
    return copy(value, walk);
  } catch (error) {
    if (!(error instanceof FaultSignal)) throw error;
    const field = formatPath(walk.path.slice(0, 20));
    throw new NotSerialisableError(`The event holds ${error.problem}, which JSON cannot keep`, {
      ...place,
      field,
    });
  }
}

/** Where the copying stands: the path to the value, and the arrays and objects that it is inside of. */
interface Walk {
  readonly path: Segment[];
  readonly parents: object[];
}

function copy(value: unknown, walk: Walk): JsonValue {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw new FaultSignal(String(value));
      if (Object.is(value, -0)) throw new FaultSignal("-0");
      return value;
    case "object":
      if (value === null) return null;
      return copyInside(value, walk);
    case "undefined":
      throw new FaultSignal("undefined");
    default:
      throw new FaultSignal(typeof value === "bigint" ? "a BigInt" : `a ${typeof value}`);
  }
}

function copyInside(value: object, walk: Walk): JsonValue {
  if (walk.parents.includes(value)) throw new FaultSignal("a cycle");
  if (walk.parents.length >= MAX_JSON_DEPTH)
    throw new FaultSignal(`nesting deeper than ${MAX_JSON_DEPTH} levels`);
  walk.parents.push(value);
  const out = Array.isArray(value) ? copyArray(value, walk) : copyObject(value, walk);
  walk.parents.pop();
  return out;
}

/** Whether a value is itself its copy. Most are, and need no path to be told where they stand. */
function isPlain(value: unknown): value is string | number | boolean {
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  return typeof value === "string" || typeof value === "boolean";
}

function copyArray(value: readonly unknown[], walk: Walk): JsonValue {
  if (Object.getPrototypeOf(value) !== Array.prototype) throw new FaultSignal(describe(value));
  const keys = Reflect.ownKeys(value).length - 1;
  if (keys !== value.length) {
    throw new FaultSignal(keys < value.length ? "a sparse array" : "an array with extra properties");
  }
  const out: JsonValue[] = new Array(value.length);
  for (let index = 0; index < value.length; index += 1) {
    const item: unknown = value[index];
    if (isPlain(item)) out[index] = item;
    else {
      walk.path.push(index);
      out[index] = copy(item, walk);
      walk.path.pop();
    }
  }
  return out;
}

function copyObject(value: object, walk: Walk): JsonValue {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw new FaultSignal(describe(value));
  const out: Record<string, JsonValue> = {};
  for (const key of Reflect.ownKeys(value)) {
    if (typeof key === "symbol") throw new FaultSignal("a symbol key");
    walk.path.push(key);
    const member = copy(Reflect.get(value, key), walk);
    walk.path.pop();
    if (key === "__proto__") {
      Object.defineProperty(out, key, {
        value: member,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    } else out[key] = member;
  }
  return out;
}

/** Freezes parsed JSON in place, all levels. Depth is bounded by {@link findJsonFault}, which runs first. */
export function freezeJson<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    if (Array.isArray(value)) for (let index = 0; index < value.length; index += 1) freezeJson(value[index]);
    else for (const key in value) freezeJson(value[key]);
    Object.freeze(value);
  }
  return value;
}

/**
 * Looks for what `JSON.parse` lets through although it is not lossless JSON: a number that became infinite (`1e999`),
 * and nesting beyond {@link MAX_JSON_DEPTH}. Iterative, so that depth cannot overflow the stack.
 */
export function findJsonFault(value: unknown): JsonFault | undefined {
  // Level by level and without paths: nearly every value is sound, and only a faulty one needs to say where.
  let level: unknown[] = isSuspect(value) ? [value] : [];
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const item of level) {
      if (depth >= MAX_JSON_DEPTH || typeof item !== "object" || item === null) return locateFault(value);
      if (Array.isArray(item)) {
        for (let index = 0; index < item.length; index += 1)
          if (isSuspect(item[index])) next.push(item[index]);
      } else {
        for (const key in item) {
          const member: unknown = Reflect.get(item, key);
          if (isSuspect(member)) next.push(member);
        }
      }
    }
    level = next;
  }
  return undefined;
}

/** What may hold a fault or is one: arrays, objects, numbers that are not finite. */
function isSuspect(value: unknown): boolean {
  return typeof value === "number" ? !Number.isFinite(value) : typeof value === "object" && value !== null;
}

interface Link {
  readonly segment: Segment;
  readonly parent: Link | undefined;
}

/** The first fault and its path, in a value that has one. */
function locateFault(value: unknown): JsonFault | undefined {
  const stack: Array<{ readonly value: unknown; readonly path: Link | undefined; readonly depth: number }> = [
    { value, path: undefined, depth: 0 },
  ];
  for (let item = stack.pop(); item !== undefined; item = stack.pop()) {
    if (typeof item.value !== "object" || item.value === null) {
      const problem = "a number too large for JSON readers (it parses as Infinity)";
      return { path: linkPath(item.path), problem };
    }
    if (item.depth >= MAX_JSON_DEPTH) {
      return { path: linkPath(item.path), problem: `nesting deeper than ${MAX_JSON_DEPTH} levels` };
    }
    const isArray = Array.isArray(item.value);
    for (const [key, member] of Object.entries(item.value)) {
      if (!isSuspect(member)) continue;
      const segment = isArray ? Number(key) : key;
      stack.push({ value: member, path: { segment, parent: item.path }, depth: item.depth + 1 });
    }
  }
  return undefined;
}

function linkPath(link: Link | undefined): string {
  const path: Segment[] = [];
  for (let at = link; at !== undefined; at = at.parent) path.push(at.segment);
  return formatPath(path.reverse().slice(0, 20));
}
