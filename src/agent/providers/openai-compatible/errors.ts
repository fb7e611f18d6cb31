import type OpenAI from "openai";
import type { APIError } from "openai";
import { z } from "zod";
import { clip } from "../../../session/text.ts";
import { ProviderError } from "../../provider.ts";
import { parseRetryAfter } from "./retry-after.ts";

/** What the mapping needs besides the error. `sdk` is the loaded client class, whose errors are recognised. */
export interface ErrorContext {
  readonly sdk: typeof OpenAI;
  /** Hides the API key in text that the provider wrote. */
  readonly mask: (text: string) => string;
  /** Epoch milliseconds, for a Retry-After that is a date. */
  readonly clock: () => number;
}

/** An answer that breaks the protocol. By default worth a retry: most often it was cut short. */
export function badResponse(
  message: string,
  options: { retryable?: boolean; hint?: string } = {},
): ProviderError {
  return new ProviderError("provider-bad-response", message, {
    retryable: options.retryable ?? true,
    hint: options.hint ?? "Try again. If it stays, the server does not speak Chat Completions as expected.",
  });
}

/** The provider's content filter stopped the answer. */
export function contentFiltered(): ProviderError {
  return new ProviderError("provider-rejected", "The provider's content filter stopped the answer", {
    retryable: false,
    hint: "Change the input; the same request will be stopped again.",
  });
}

/** The provider gave up after it had begun to answer. */
export function failedMidway(detail: string): ProviderError {
  return new ProviderError(
    "provider-unavailable",
    `The provider gave up in the middle of its answer${colon(detail)}`,
    {
      retryable: true,
      hint: "Try again in a moment.",
    },
  );
}

/** The whole answer did not arrive within the time allowed, in milliseconds. */
export function timedOut(ms: number): ProviderError {
  return new ProviderError(
    "provider-timeout",
    `The provider did not finish its answer within ${ms / 1000} s`,
    {
      retryable: true,
      hint: "Try again, or allow more time for a request.",
    },
  );
}

/** Maps whatever a request ended with to a ProviderError. Nothing of the original is attached: it may hold headers. */
export function toProviderError(error: unknown, context: ErrorContext): ProviderError {
  const { sdk } = context;
  if (error instanceof ProviderError) return error;
  if (error instanceof sdk.APIConnectionTimeoutError) return connectTimedOut();
  if (error instanceof sdk.APIConnectionError) {
    // The transport's own findings arrive wrapped.
    return error.cause instanceof ProviderError ? error.cause : unreachable(error.cause);
  }
  if (error instanceof sdk.APIError) {
    const detail = context.mask(describe(error));
    return typeof error.status === "number"
      ? fromStatus(error, error.status, detail, context)
      : fromStream(error, detail);
  }
  if (error instanceof SyntaxError) return badResponse("The provider sent a chunk that is not JSON");
  return codeOf(error) === undefined
    ? badResponse("The provider's answer could not be read")
    : unreachable(error);
}

function connectTimedOut(): ProviderError {
  return new ProviderError("provider-timeout", "The provider did not answer in time", {
    retryable: true,
    hint: "Check that the provider is up, or allow more time for a request.",
  });
}

function unreachable(cause: unknown): ProviderError {
  const code = codeOf(cause);
  const suffix = code === undefined ? "" : ` (${code})`;
  return new ProviderError("provider-unreachable", `The connection to the provider failed${suffix}`, {
    retryable: true,
    hint: "Check the base URL, the network, and that the provider is running.",
  });
}

function fromStatus(error: APIError, status: number, detail: string, context: ErrorContext): ProviderError {
  const retryAfterMs = parseRetryAfter(error.headers, context.clock());
  const facts = {
    status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(error.requestID ? { requestId: clip(context.mask(error.requestID), 100) } : {}),
  };
  if (status === 401 || status === 403) {
    return new ProviderError(
      "provider-auth",
      `The provider refused the API key (${status})${colon(detail)}`,
      {
        ...facts,
        retryable: false,
        hint: "Check the provider's API key, and that it may use this model.",
      },
    );
  }
  if (status === 429) {
    return new ProviderError(
      "provider-rate-limited",
      `The provider limits the rate of requests${colon(detail)}`,
      {
        ...facts,
        // A used-up quota comes with the same status, and waiting does not help.
        retryable: error.code !== "insufficient_quota",
        hint: "Wait before the next request, or check the account's limits.",
      },
    );
  }
  if (status === 408) {
    return new ProviderError("provider-timeout", `The provider gave up waiting (408)${colon(detail)}`, {
      ...facts,
      retryable: true,
      hint: "Try again.",
    });
  }
  if (status >= 500 || status === 409 || status === 425) {
    return new ProviderError(
      "provider-unavailable",
      `The provider is unavailable (${status})${colon(detail)}`,
      {
        ...facts,
        retryable: true,
        hint: "Try again in a moment.",
      },
    );
  }
  if (status < 400) {
    return new ProviderError("provider-bad-response", `The provider answered with a redirect (${status})`, {
      ...facts,
      retryable: false,
      hint: "Set the base URL to the final address; redirects are not followed.",
    });
  }
  return new ProviderError(
    "provider-rejected",
    `The provider rejected the request (${status})${colon(detail)}`,
    {
      ...facts,
      retryable: false,
      hint:
        status === 404
          ? "Check the base URL and the model's name."
          : "Check the model's name and the call settings.",
    },
  );
}

/** An error that arrived inside the stream, after status 200. */
function fromStream(error: APIError, detail: string): ProviderError {
  const kind = `${error.code ?? ""} ${error.type ?? ""}`;
  if (/\b429\b|rate.?limit/i.test(kind)) {
    return new ProviderError(
      "provider-rate-limited",
      `The provider limits the rate of requests${colon(detail)}`,
      {
        retryable: true,
        hint: "Wait before the next request.",
      },
    );
  }
  if (/\b4\d\d\b|invalid.?request|context.?length/i.test(kind)) {
    return new ProviderError("provider-rejected", `The provider rejected the request${colon(detail)}`, {
      retryable: false,
      hint: "Check the model's name and the call settings.",
    });
  }
  return failedMidway(detail);
}

const detailSchema = z.union([
  z.string(),
  z.object({ message: z.string() }).transform((body) => body.message),
  z.object({ detail: z.string() }).transform((body) => body.detail),
  z.object({ error: z.string() }).transform((body) => body.error),
]);

/** What the provider says went wrong, without pages of HTML. */
function describe(error: APIError): string {
  const parsed = detailSchema.safeParse(error.error);
  const text = parsed.success ? parsed.data : error.message.replace(/^\d+ /, "");
  return /^\s*</.test(text) || text === "status code (no body)" ? "" : text;
}

/** A detail as the tail of a message: masked before, on one line, and clipped. */
function colon(detail: string): string {
  const line = detail.replace(/\s+/g, " ").trim();
  return line === "" ? "" : `: ${clip(line, 200)}`;
}

const codeSchema = z.object({ code: z.string().regex(/^[A-Za-z0-9_]{1,60}$/) });

function codeOf(error: unknown): string | undefined {
  const parsed = codeSchema.safeParse(error);
  return parsed.success ? parsed.data.code : undefined;
}
