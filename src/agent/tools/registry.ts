import { HoldfastError } from "../../session/errors.ts";
import { findJsonFault, type JsonObject, snapshotJson } from "../../session/json.ts";
import { clip } from "../../session/text.ts";
import { waitFor } from "../../session/wait-for.ts";
import type { ToolDescriptor } from "../provider.ts";
import { type Tool, ToolError, type ToolOutcome, type ToolOutput } from "../tool.ts";
import { type ArgumentsCheck, compileCheck } from "./arguments.ts";

/** A tool that cannot be offered: a mistake in the program, found when it is registered. */
export class ToolRegistrationError extends HoldfastError {
  readonly code = "tool-registration";

  constructor(message: string) {
    super(message, { hint: "Register each tool once, with a JSON Schema of type object." });
  }
}

interface Entry {
  readonly tool: Tool;
  /** Compiled by the first call: that takes milliseconds which a start does not have. */
  check?: ArgumentsCheck;
}

/** The tools of an agent. Whatever goes wrong with a call becomes an outcome that the model can read. */
export class ToolRegistry {
  readonly #entries = new Map<string, Entry>();

  constructor(tools: Iterable<Tool> = []) {
    for (const tool of tools) this.register(tool);
  }

  /** @throws ToolRegistrationError when the name is taken or the parameters are no schema of an object. */
  register(tool: Tool): void {
    if (this.#entries.has(tool.name)) {
      throw new ToolRegistrationError(`The tool "${tool.name}" is registered already`);
    }
    if (tool.parameters["type"] !== "object") {
      throw new ToolRegistrationError(`The parameters of the tool "${tool.name}" are not of type object`);
    }
    this.#entries.set(tool.name, { tool });
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
   * Resolves with an error outcome for an unknown tool, for bad arguments, for a handler that throws, and for output that
   * the log cannot keep. @throws the signal's reason, and nothing else.
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
    try {
      const run = Promise.try(() => entry.tool.run(args, signal));
      // Nobody may be left to hear of its failure: it is not waited for once the signal has fired.
      run.catch(() => undefined);
      const output = await waitFor(run, signal);
      return toOutcome(name, output);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      return thrown(name, error);
    }
  }

  #unknown(name: string): ToolOutcome {
    const names = this.descriptors().map((tool) => tool.name);
    const offer = names.length === 0 ? "No tools are available." : `Available tools: ${names.join(", ")}.`;
    return failed("UnknownToolError", "TOOL_UNKNOWN", `There is no tool "${clip(name, 80)}". ${offer}`);
  }
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

// Only for what JSON.parse returned: its objects hold JSON and nothing else.
function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function toOutcome(name: string, output: ToolOutput): ToolOutcome {
  const { text, meta }: { text?: unknown; meta?: unknown } = output;
  if (typeof text !== "string") return badOutput(name, "a text that is not a string");
  if (meta === undefined) return { text };
  try {
    return { text, meta: snapshotJson(meta, {}, "meta") };
  } catch {
    return badOutput(name, "metadata that JSON cannot keep");
  }
}

function badOutput(name: string, what: string): ToolOutcome {
  const text = `The tool "${name}" ran, but returned ${what}, so its result is lost. Do not call it again the same way.`;
  return failed("ToolOutputError", "TOOL_OUTPUT_INVALID", text);
}

function thrown(name: string, error: unknown): ToolOutcome {
  if (error instanceof ToolError) return failed(error.name, error.code, error.message);
  const detail = error instanceof Error && error.message !== "" ? `: ${clip(error.message, 300)}` : "";
  const text = `The tool "${name}" failed${detail}. Whether it took effect is unknown; check before you call it again.`;
  return failed("ToolFailedError", "TOOL_FAILED", text);
}

function failed(name: string, code: string, text: string): ToolOutcome {
  return { text, error: { name, code } };
}
