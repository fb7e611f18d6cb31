import type { JsonObject, JsonValue } from "../session/json.ts";
import type { ToolDescriptor } from "./provider.ts";

/** What a tool gives back. `text` is what the model reads; `meta` is kept in the log and never sent to a model. */
export interface ToolOutput {
  readonly text: string;
  readonly meta?: JsonValue;
}

/** A tool that an agent may call. `run` gets arguments that fit `parameters`; what it throws becomes an error result. */
export interface Tool extends ToolDescriptor {
  /** Most milliseconds of one call; the registry's limit when absent. */
  readonly timeoutMs?: number;
  /** `signal` fires when the Turn is stopped or the time is over. One that ignores it is left behind. */
  run(args: JsonObject, signal: AbortSignal): Promise<ToolOutput>;
}

/** What one call may take. */
export interface ToolLimits {
  /** Milliseconds; 120,000 when absent. Of no effect on a handler that never lets the event loop go on. */
  readonly timeoutMs?: number;
  /** Bytes of UTF-8 that a result's text may have, and its metadata as JSON; 256 KiB when absent. */
  readonly maxResultBytes?: number;
  /** Takes out of a result what no log may hold, such as an API key that lies in a file. */
  readonly hide?: (text: string) => string;
}

/** A failure that the model should read and can act on, with the stable code that the log keeps. */
export class ToolError extends Error {
  readonly code: string;

  /** `name` is the class of failure in the log, such as `WorkspaceError`. */
  constructor(name: string, code: string, message: string) {
    super(message);
    this.name = name;
    this.code = code;
  }
}

/** Outcome of one call, ready for the log. `error` is set when the call failed. */
export interface ToolOutcome {
  readonly text: string;
  readonly error?: { readonly name: string; readonly code: string };
  readonly meta?: JsonValue;
}
