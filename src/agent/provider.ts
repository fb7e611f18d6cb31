import { HoldfastError } from "../session/errors.ts";
import type { Chunk, ModelMessage } from "../session/events.ts";
import type { JsonObject } from "../session/json.ts";
import type { Route } from "./providers/registry.ts";

/** What a model is told about a tool. `parameters` is a JSON Schema of type `object`. */
export interface ToolDescriptor {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
}

/** How a model is asked, apart from what is said. What is absent is left to the provider. */
export interface CallSettings {
  /** As the provider names its levels, such as `low`, `medium`, `high`. */
  readonly reasoningEffort?: string;
  readonly temperature?: number;
  /** Most tokens of one answer. */
  readonly maxTokens?: number;
  /** Texts that end the answer. */
  readonly stop?: readonly string[];
  /** Further members of the request's body, as the provider names them; they win over what the provider makes. */
  readonly extraBody?: JsonObject;
}

/** One model request. Everything in it is reconstructible from the log: the latest `request/header` and the surface. */
export interface ModelRequest {
  readonly config: Route & CallSettings;
  readonly system?: string;
  readonly tools: readonly ToolDescriptor[];
  /** A valid history: every tool call is followed by exactly one result. */
  readonly messages: readonly ModelMessage[];
}

/**
 * A source of model answers.
 *
 * `stream` yields chunks in the order of the format: for each block `block-start`, its deltas, `block-end` with the
 * complete block; `usage` where the provider reports it; exactly one `finish`, last. Block indexes count from 0.
 *
 * It throws {@link ProviderError} for whatever goes wrong, and the signal's reason when it was aborted. It never retries.
 */
export interface Provider {
  readonly name: string;
  /** Settings that it needs and fills in where nobody gave them; they stand in `request/header` like given ones. */
  readonly defaults?: CallSettings;
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<Chunk>;
}

/** Stable codes of what can go wrong with a provider. */
export type ProviderErrorCode =
  | "provider-auth"
  | "provider-rate-limited"
  | "provider-rejected"
  | "provider-unavailable"
  | "provider-unreachable"
  | "provider-timeout"
  | "provider-bad-response";

/** A model request that failed at the provider. `status` is the provider's HTTP status. */
export class ProviderError extends HoldfastError {
  readonly code: ProviderErrorCode;
  readonly retryable: boolean;
  readonly status?: number;
  readonly retryAfterMs?: number;
  readonly requestId?: string;

  constructor(
    code: ProviderErrorCode,
    message: string,
    options: {
      hint: string;
      retryable: boolean;
      status?: number;
      retryAfterMs?: number;
      requestId?: string;
      cause?: unknown;
    },
  ) {
    super(
      message,
      options.cause === undefined ? { hint: options.hint } : { hint: options.hint, cause: options.cause },
    );
    this.code = code;
    this.retryable = options.retryable;
    if (options.status !== undefined) this.status = options.status;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
    if (options.requestId !== undefined) this.requestId = options.requestId;
  }
}
