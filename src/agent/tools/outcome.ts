import { type JsonValue, MAX_JSON_DEPTH, snapshotJson } from "../../session/json.ts";
import { clip } from "../../session/text.ts";
import { ToolError, type ToolOutcome } from "../tool.ts";
import { cutBytes } from "./text.ts";

/** A failed call, as the log keeps it. */
export function failed(name: string, code: string, text: string): ToolOutcome {
  return { text, error: { name, code } };
}

/**
 * What a handler returned, as an outcome. The types promise an output, but handlers need not keep the promise: whatever
 * the value is, and whatever its getters do, this does not throw.
 */
export function toOutcome(tool: string, output: unknown, maxBytes: number): ToolOutcome {
  try {
    if (typeof output !== "object" || output === null) return badOutput(tool, "no object");
    const text: unknown = Reflect.get(output, "text");
    if (typeof text !== "string") return badOutput(tool, "a text that is not a string");
    const meta = boundedMeta(Reflect.get(output, "meta"), maxBytes);
    if (meta === "unsound") return badOutput(tool, "metadata that JSON cannot keep");
    const kept = meta.value === undefined ? {} : { meta: meta.value };
    const size = Buffer.byteLength(text);
    if (size <= maxBytes) return { text, ...kept };
    const begins = `The tool "${tool}" ran, but its result is larger than a result may be, which is ${maxBytes} bytes.`;
    const cut = withBeginning(begins, text, size, maxBytes);
    return { ...failed("ToolOutputError", "TOOL_OUTPUT_TOO_LARGE", cut), ...kept };
  } catch {
    return badOutput(tool, "what cannot be read");
  }
}

/** What a handler threw, as an outcome, whatever it is. */
export function thrown(tool: string, error: unknown, maxBytes: number): ToolOutcome {
  const message = readText(error, "message");
  if (isToolError(error)) {
    const name = clip(readText(error, "name") || "ToolFailedError", 100);
    const code = clip(readText(error, "code") || "TOOL_FAILED", 100);
    const size = Buffer.byteLength(message);
    if (size <= maxBytes) return failed(name, code, message);
    return failed(name, code, withBeginning(`The tool "${tool}" failed.`, message, size, maxBytes));
  }
  const told = typeof error === "string" ? error : Error.isError(error) ? message : "";
  const detail = told === "" ? "" : `: ${clip(told, 300)}`;
  const text = `The tool "${tool}" failed${detail}. Whether it took effect is unknown; check before you call it again.`;
  return failed("ToolFailedError", "TOOL_FAILED", text);
}

function badOutput(tool: string, what: string): ToolOutcome {
  const text = `The tool "${tool}" ran, but returned ${what}, so its result is lost. Do not call it again the same way.`;
  return failed("ToolOutputError", "TOOL_OUTPUT_INVALID", text);
}

function withBeginning(what: string, text: string, size: number, maxBytes: number): string {
  const beginning = cutBytes(text, maxBytes);
  const left = size - Buffer.byteLength(beginning);
  return `${what} It begins as below; the last ${left} of its ${size} bytes are left out.\n\n${beginning}`;
}

/** Metadata as the log keeps it. What is too large is left out, and how large it is stands in its place. */
function boundedMeta(meta: unknown, maxBytes: number): { readonly value?: JsonValue } | "unsound" {
  if (meta === undefined) return {};
  const fit = judge(meta, maxBytes);
  if (fit === "unsound") return "unsound";
  if (fit === "large") return { value: { leftOut: `more than ${maxBytes} bytes of metadata` } };
  try {
    const value = snapshotJson(meta, {}, "meta");
    if (Buffer.byteLength(JSON.stringify(value)) <= maxBytes) return { value };
    return { value: { leftOut: `more than ${maxBytes} bytes of metadata` } };
  } catch {
    return "unsound";
  }
}

/**
 * Looks before the leap of copying: a value that is small in memory can be huge as JSON, when its parts are shared. Counts
 * no more than JSON would need, and stops at the bound.
 */
function judge(value: unknown, maxBytes: number): "fits" | "large" | "unsound" {
  const stack: Array<{ readonly value: unknown; readonly depth: number }> = [{ value, depth: 0 }];
  let bytes = 0;
  for (let item = stack.pop(); item !== undefined; item = stack.pop()) {
    bytes += typeof item.value === "string" ? item.value.length + 2 : 1;
    if (bytes > maxBytes) return "large";
    if (typeof item.value !== "object" || item.value === null) continue;
    if (item.depth > MAX_JSON_DEPTH) return "unsound";
    const keys = Object.keys(item.value);
    if (bytes + keys.length > maxBytes) return "large";
    const isArray = Array.isArray(item.value);
    for (const key of keys) {
      if (!isArray) bytes += key.length + 3;
      stack.push({ value: Reflect.get(item.value, key), depth: item.depth + 1 });
    }
  }
  return "fits";
}

function isToolError(error: unknown): boolean {
  try {
    return error instanceof ToolError;
  } catch {
    return false;
  }
}

/** A text among the members of anything; empty when there is none, or when it defends itself. */
function readText(value: unknown, key: string): string {
  try {
    const text: unknown = typeof value === "object" && value !== null ? Reflect.get(value, key) : "";
    return typeof text === "string" ? text : "";
  } catch {
    return "";
  }
}
