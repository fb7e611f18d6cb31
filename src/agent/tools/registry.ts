import { HoldfastError } from "../../session/errors.ts";
import { findJsonFault, isJsonObject, type JsonObject, type JsonValue } from "../../session/json.ts";
import { clip } from "../../session/text.ts";
import { waitFor } from "../../session/wait-for.ts";
import type { ToolDescriptor } from "../provider.ts";
import type { Tool, ToolLimits, ToolOutcome, ToolOutput } from "../tool.ts";
import { type ArgumentsCheck, compileCheck } from "./arguments.ts";
import { failed, thrown, toOutcome } from "./outcome.ts";
import { quote } from "./text.ts";

const DEFAULT_LIMITS = { timeoutMs: 120_000, maxResultBytes: 256 * 1024 };

// What a timer can wait at most, some 24 days: a longer time would end at once.
const LONGEST_MS = 2 ** 31 - 1;

/** A tool that cannot be offered: a mistake in the program, found when it is registered. */
export class ToolRegistrationError extends HoldfastError {
  readonly code = "tool-registration";

  constructor(message: string) {
    super(message, {
      hint: "Register each tool once, with a JSON Schema of type object, and limits above 0.",
    });
  }
}

interface Entry {
  readonly tool: Tool;
  readonly timeoutMs: number;
  /** Compiled by the first call: that takes milliseconds which a start does not have. */
  check?: ArgumentsCheck;
}

/** The tools of an agent. Whatever goes wrong with a call becomes an outcome that the model can read. */
export class ToolRegistry {
  readonly #entries = new Map<string, Entry>();

  readonly #timeoutMs: number;
  readonly #maxResultBytes: number;
  readonly #hide: (text: string) => string;

  /** @throws ToolRegistrationError, as {@link register} does, and when a limit is not above 0. */
  constructor(tools: Iterable<Tool> = [], limits: ToolLimits = {}) {
    const { timeoutMs = DEFAULT_LIMITS.timeoutMs, maxResultBytes = DEFAULT_LIMITS.maxResultBytes } = limits;
    this.#hide = limits.hide ?? ((text) => text);
    this.#timeoutMs = checkLimit(timeoutMs, "The time limit of tools");
    this.#maxResultBytes = checkLimit(maxResultBytes, "The size limit of tool results");
    for (const tool of tools) this.register(tool);
  }

  /** @throws ToolRegistrationError: the name is taken, the parameters are no schema of an object, the limit is none. */
  register(tool: Tool): void {
    if (this.#entries.has(tool.name)) {
      throw new ToolRegistrationError(`The tool "${tool.name}" is registered already`);
    }
    if (tool.parameters["type"] !== "object") {
      throw new ToolRegistrationError(`The parameters of the tool "${tool.name}" are not of type object`);
    }
    const timeoutMs = checkLimit(
      tool.timeoutMs ?? this.#timeoutMs,
      `The time limit of the tool "${tool.name}"`,
    );
    this.#entries.set(tool.name, { tool, timeoutMs });
  }

  /** What a model is told, sorted by name: the same tools give the same request. */
  descriptors(): ToolDescriptor[] {
    const descriptors = [...this.#entries.values()].map(({ tool: { name, description, parameters } }) => ({
      name,
      description,
      parameters,
    }));
    return descriptors.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /**
   * Runs one call. `argumentsText` is the JSON that the model wrote; an empty text means no arguments.
   *
   * Resolves with an error outcome for an unknown tool, for bad arguments, for a handler that throws or takes too long, and
   * for output that is too large or that the log cannot keep. @throws the signal's reason, and nothing else.
   */
  async call(name: string, argumentsText: string, signal: AbortSignal): Promise<ToolOutcome> {
    signal.throwIfAborted();
    const entry = this.#entries.get(name);
    if (entry === undefined) return this.#unknown(name);
    const args = parseArguments(argumentsText);
    if (typeof args === "string") return failed("ToolArgumentsError", "TOOL_ARGUMENTS_NOT_JSON", args);
    entry.check ??= compileCheck(entry.tool.parameters);
    const fault = entry.check(args);
    if (fault !== undefined) {
      const text = `The arguments do not fit the tool "${name}": ${fault}. Correct them and call it again.`;
      return failed("ToolArgumentsError", "TOOL_ARGUMENTS_INVALID", text);
    }
    return this.#hidden(await this.#run(entry, args, signal));
  }

  async #run({ tool, timeoutMs }: Entry, args: JsonObject, signal: AbortSignal): Promise<ToolOutcome> {
    const maxBytes = this.#maxResultBytes;
    const time = new AbortController();
    const timer = setTimeout(() => time.abort(timeoutReason(timeoutMs)), timeoutMs);
    const either = AbortSignal.any([signal, time.signal]);
    let output: ToolOutput;
    try {
      const run = Promise.try(() => tool.run(args, either));
      // Nobody may be left to hear of its failure: it is not waited for once a signal has fired.
      run.catch(() => undefined);
      output = await waitFor(run, either);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      return time.signal.aborted ? timedOut(tool.name, timeoutMs) : thrown(tool.name, error, maxBytes);
    } finally {
      clearTimeout(timer);
    }
    return toOutcome(tool.name, output, maxBytes);
  }

  #hidden(outcome: ToolOutcome): ToolOutcome {
    const { text, meta } = outcome;
    const kept = meta === undefined ? {} : { meta: hideIn(meta, this.#hide) };
    return { ...outcome, text: this.#hide(text), ...kept };
  }

  #unknown(name: string): ToolOutcome {
    const names = this.descriptors().map((tool) => tool.name);
    const offer =
      names.length === 0 ? "No tools are available." : `Available tools: ${clip(names.join(", "), 4000)}.`;
    return failed("UnknownToolError", "TOOL_UNKNOWN", `There is no tool ${quote(clip(name, 80))}. ${offer}`);
  }
}

function hideIn(meta: JsonValue, hide: (text: string) => string): JsonValue {
  const json = JSON.stringify(meta);
  const hidden = hide(json);
  return hidden === json ? meta : { hidden };
}

/** The arguments, or what is wrong with their text. */
function parseArguments(text: string): JsonObject | string {
  if (text.trim() === "") return {};
  const again = "Write the arguments as one JSON object and call the tool again.";
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return `The arguments are not valid JSON. ${again}`;
  }
  const fault = findJsonFault(value);
  if (fault !== undefined) return `The arguments hold ${fault.problem}. ${again}`;
  return isJsonObject(value) ? value : `The arguments are not a JSON object. ${again}`;
}

function checkLimit(limit: number, what: string): number {
  if (!(limit > 0)) throw new ToolRegistrationError(`${what} is ${limit}`);
  return Math.min(Math.ceil(limit), LONGEST_MS);
}

/** What a handler finds as the reason of its signal. */
function timeoutReason(timeoutMs: number): DOMException {
  return new DOMException(`The tool has had its ${timeoutMs / 1000} s`, "TimeoutError");
}

function timedOut(name: string, timeoutMs: number): ToolOutcome {
  const text =
    `The tool "${name}" gave no result within ${timeoutMs / 1000} s and was stopped. Whether it took effect is unknown; ` +
    "check before you call it again.";
  return failed("ToolTimeoutError", "TOOL_TIMEOUT", text);
}
