import { findJsonFault, isJsonObject, type JsonObject, type JsonValue } from "../../../session/json.ts";

/*
 * What the bodies of all providers have in common. Strings are made well-formed, because many servers refuse a body with
 * a lone surrogate.
 */

/**
 * `body` with further members. They win over members of the same name, and null takes one away; but for `keep`: those stay
 * what they are, or absent.
 */
export function withExtraBody<T extends object>(
  body: T,
  extra: JsonObject | undefined,
  keep: readonly string[],
): T {
  if (extra === undefined) return body;
  const members = Object.entries(wellFormedObject(extra)).filter(([name]) => !keep.includes(name));
  const whole = { ...body, ...Object.fromEntries(members) };
  for (const [name, value] of members) {
    if (value === null && Object.hasOwn(body, name)) Reflect.deleteProperty(whole, name);
  }
  return whole;
}

/** The object that a text of arguments stands for; undefined when it is no JSON object. */
export function parseArguments(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return findJsonFault(value) === undefined && isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The same for a body that takes the object itself: numbers keep their digits, and nothing at all stands for no arguments.
 */
export function exactArguments(text: string): object | undefined {
  if (text.trim() === "") return {};
  const plain = text.toWellFormed();
  const value = parseArguments(plain);
  if (value === undefined) return undefined;
  if (hidesSurrogate(value)) return wellFormedObject(value);
  const exact = JSON.parse(plain, exactNumber);
  return typeof exact === "object" && exact !== null ? exact : undefined;
}

function exactNumber(_: string, value: unknown, { source }: { readonly source?: string }): unknown {
  const isInexact = typeof value === "number" && source !== undefined && JSON.stringify(value) !== source;
  return isInexact ? JSON.rawJSON(source) : value;
}

/** Whether there is a lone surrogate behind an escape. JSON.stringify writes those, and no others, as escapes. */
export function hidesSurrogate(value: JsonObject): boolean {
  return JSON.stringify(value).includes("\\ud");
}

/** What is sent in place of arguments that are no JSON object. */
export function malformedArguments(text: string): JsonObject {
  return { malformed_arguments: text.toWellFormed() };
}

export function wellFormedObject(value: JsonObject): Record<string, JsonValue> {
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key.toWellFormed(), wellFormed(member)]),
  );
}

function wellFormed(value: JsonValue): JsonValue {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (isArray(value)) return value.map(wellFormed);
  return wellFormedObject(value);
}

// Array.isArray does not narrow readonly arrays.
function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
