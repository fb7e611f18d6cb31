/*
 * How what a command printed is held against what the documentation shows. `…` stands for what differs from run to run:
 * alone on a line for any lines, inside a line for any characters; in JSON as a value for any value, and as the last
 * element of an array for any more of them.
 */

const ANY = "…";

/** Why `actual` is not what is shown; nothing when it is. */
export function textDifference(shown: string, actual: string): string | undefined {
  const lines = shown.trim().split("\n");
  const pattern = lines
    .map((line, k) => {
      const end = k < lines.length - 1 ? "\n" : "";
      if (line.trim() === ANY) return end === "" ? "[\\s\\S]*" : "(?:.*\n)*?";
      return line.split(ANY).map(escapePattern).join(".*") + end;
    })
    .join("");
  if (new RegExp(`^${pattern}$`).test(actual.trim())) return undefined;
  return `shown:\n${shown.trim()}\nactual:\n${actual.trim()}`;
}

/** The first place where `actual` is not what is shown; nothing when it is. */
export function jsonDifference(shown: unknown, actual: unknown, path = "$"): string | undefined {
  if (shown === ANY) return undefined;
  if (Array.isArray(shown)) return arrayDifference(shown, actual, path);
  if (!isObject(shown) || !isObject(actual)) {
    return Object.is(shown, actual)
      ? undefined
      : `${path}: ${show(shown)} is shown, actual is ${show(actual)}`;
  }
  const keys = new Set([...Object.keys(shown), ...Object.keys(actual)]);
  for (const key of keys) {
    if (!(key in shown)) return `${path}.${key}: not shown, actual is ${show(actual[key])}`;
    if (!(key in actual)) return `${path}.${key}: shown, and not there`;
    const difference = jsonDifference(shown[key], actual[key], `${path}.${key}`);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function arrayDifference(shown: readonly unknown[], actual: unknown, path: string): string | undefined {
  if (!Array.isArray(actual)) return `${path}: an array is shown, actual is ${show(actual)}`;
  const more = shown.at(-1) === ANY;
  const items = more ? shown.slice(0, -1) : shown;
  if (more ? actual.length < items.length : actual.length !== items.length) {
    return `${path}: ${items.length} elements are shown, actual are ${actual.length}`;
  }
  for (const [index, item] of items.entries()) {
    const difference = jsonDifference(item, actual[index], `${path}[${index}]`);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 200) ?? String(value);
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}
