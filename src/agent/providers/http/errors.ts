import { z } from "zod";
import { clip } from "../../../session/text.ts";
import { ProviderError, type ProviderErrorCode } from "../../provider.ts";
import { parseRetryAfter } from "./retry-after.ts";

/** An answer that breaks the protocol. By default worth a retry: most often it was cut short. */
export function badResponse(
  message: string,
  options: { retryable?: boolean; hint?: string } = {},
): ProviderError {
  return new ProviderError("provider-bad-response", message, {
    retryable: options.retryable ?? true,
    hint:
      options.hint ??
      "Try again. If it stays, the server does not speak this provider's protocol as expected.",
  });
}

/** The provider's filter or the model itself refused to answer. */
export function refused(message: string): ProviderError {
  return new ProviderError("provider-rejected", message, {
    retryable: false,
    hint: "Change the input; the same request will be stopped again.",
  });
}

/** The provider gave up after it had begun to answer. `detail` is masked. */
export function failedMidway(detail: string): ProviderError {
  return new ProviderError(
    "provider-unavailable",
    `The provider gave up in the middle of its answer${colon(detail)}`,
    { retryable: true, hint: "Try again in a moment." },
  );
}

const TIMEOUTS = {
  connect: [
    "did not begin its answer within",
    "Check that the provider is up, or allow more time with --connect-timeout.",
  ],
  idle: [
    "fell silent in the middle of its answer for",
    "Try again, or allow longer silence with --idle-timeout.",
  ],
  total: ["did not finish its answer within", "Try again, or allow more time with --request-timeout."],
} as const;

/** One of the times allowed ran out; `ms` is the time that was allowed. */
export function timedOut(kind: keyof typeof TIMEOUTS, ms: number): ProviderError {
  const [what, hint] = TIMEOUTS[kind];
  return new ProviderError("provider-timeout", `The provider ${what} ${ms / 1000} s`, {
    retryable: true,
    hint,
  });
}

/** The client library stopped before anything was sent, or in a way of its own. Its words may hold headers. */
export function notSent(): ProviderError {
  return new ProviderError("provider-rejected", "The request to the provider could not be made", {
    retryable: false,
    hint: "Check the base URL and the call settings.",
  });
}

/** An answer with status 200 that is no event stream. `body` is the beginning of it where it is JSON. */
export function notAStream(type: string, body: string, mask: (text: string) => string): ProviderError {
  const value = parse(body);
  if (answerSchema.safeParse(value).data?.error) return fromStream(value, mask);
  return badResponse(`The provider answered with ${mask(type).slice(0, 60)} instead of an event stream`, {
    retryable: false,
    hint: "Check the base URL: it should end where the provider's own path begins.",
  });
}

/** The client library cannot be set up, because of the one variable that it reads whatever it is told. */
export function variableInTheWay(name: string): ProviderError {
  return new ProviderError("provider-rejected", "The client library for the provider could not be set up", {
    retryable: false,
    hint: `Unset the environment variable ${name}.`,
  });
}

/** The connection failed, before the answer or in it. Nothing of the cause is attached: it may hold headers. */
export function unreachable(cause: unknown): ProviderError {
  const code = codeOf(cause);
  const suffix = code === undefined ? "" : ` (${code})`;
  const isCertificate = code !== undefined && /CERT|SIGNATURE|ISSUER|CRL/.test(code);
  if (isCertificate) {
    return new ProviderError(
      "provider-unreachable",
      `The provider's TLS certificate cannot be trusted${suffix}`,
      {
        retryable: false,
        hint: "Check the name in the base URL. Name a certificate authority of your own in NODE_EXTRA_CA_CERTS.",
      },
    );
  }
  if (code !== undefined && /PROXY/i.test(code)) {
    return new ProviderError(
      "provider-unreachable",
      `The proxy did not let the connection to the provider through${suffix}`,
      {
        retryable: true,
        hint: "Check HTTPS_PROXY and HTTP_PROXY, or name the provider's host in NO_PROXY.",
      },
    );
  }
  const isTls = code !== undefined && /^EPROTO$|SSL|TLS/.test(code);
  return new ProviderError(
    "provider-unreachable",
    isTls
      ? `No TLS connection to the provider came about${suffix}`
      : `The connection to the provider failed${suffix}`,
    {
      retryable: true,
      hint: isTls
        ? "Check that the server speaks TLS on this port; if it does not, begin the base URL with http://."
        : "Check the base URL, the network, and that the provider is running.",
    },
  );
}

/** An answer with a status that is no success. */
export interface FailedAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The beginning of its body. */
  readonly text: string;
}

interface StatusRule {
  readonly code: ProviderErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly hint: string;
}

/** @param now epoch milliseconds, for a Retry-After that is a date */
export function fromStatus(answer: FailedAnswer, mask: (text: string) => string, now: number): ProviderError {
  const { status, headers } = answer;
  const body = readFailure(parse(answer.text));
  const rule = ruleOf(status, body.kind);
  const words = status < 400 ? "" : mask(body.message || quotable(answer.text));
  const retryAfterMs = parseRetryAfter(headers, now);
  const requestId = headers.get("x-request-id") ?? headers.get("request-id") ?? body.requestId;
  return new ProviderError(rule.code, `${rule.message}${colon(words)}`, {
    status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(requestId === undefined || requestId === "" ? {} : { requestId: clip(mask(requestId), 100) }),
    // The header of some providers that knows better than the status.
    retryable: rule.retryable && headers.get("x-should-retry") !== "false",
    hint: rule.hint,
  });
}

function ruleOf(status: number, kind: string): StatusRule {
  if (status === 401 || status === 403) {
    return {
      code: "provider-auth",
      message: `The provider refused the API key (${status})`,
      retryable: false,
      hint: "Check the provider's API key, and that it may use this model.",
    };
  }
  if (status === 429) {
    return {
      code: "provider-rate-limited",
      message: "The provider limits the rate of requests",
      // A used-up quota comes with the same status, and waiting does not help.
      retryable: !kind.includes("insufficient_quota"),
      hint: "Wait before the next request, or check the account's limits.",
    };
  }
  if (status === 402) {
    return {
      code: "provider-rejected",
      message: "The provider wants to be paid (402)",
      retryable: false,
      hint: "Check the balance and the limits of the account.",
    };
  }
  if (status === 408) {
    return {
      code: "provider-timeout",
      message: "The provider gave up waiting (408)",
      retryable: true,
      hint: "Try again.",
    };
  }
  if (status >= 500 || status === 409 || status === 425) {
    return {
      code: "provider-unavailable",
      message: `The provider is unavailable (${status})`,
      retryable: true,
      hint: "Try again in a moment.",
    };
  }
  if (status < 400) {
    return {
      code: "provider-bad-response",
      message: `The provider answered with a redirect (${status})`,
      retryable: false,
      hint: "Set the base URL to the final address; redirects are not followed.",
    };
  }
  return {
    code: "provider-rejected",
    message: `The provider rejected the request (${status})`,
    retryable: false,
    hint:
      status === 404
        ? "Check the base URL and the model's name."
        : "Check the model's name and the call settings.",
  };
}

/** An error that arrived inside the stream, after status 200: an object with a member `error`, or the error itself. */
export function fromStream(value: unknown, mask: (text: string) => string): ProviderError {
  const { message, kind, requestId } = readFailure(value);
  const words = colon(mask(message));
  const id = requestId === undefined ? {} : { requestId: clip(mask(requestId), 100) };
  if (/\b429\b|rate.?limit/i.test(kind)) {
    return new ProviderError("provider-rate-limited", `The provider limits the rate of requests${words}`, {
      ...id,
      retryable: true,
      hint: "Wait before the next request.",
    });
  }
  if (/\b40[13]\b|authentication|permission|invalid.?api.?key/i.test(kind)) {
    return new ProviderError("provider-auth", `The provider refused the API key${words}`, {
      ...id,
      retryable: false,
      hint: "Check the provider's API key, and that it may use this model.",
    });
  }
  if (/\b4\d\d\b|invalid.?request|context.?length|not.?found|too.?large|billing/i.test(kind)) {
    return new ProviderError("provider-rejected", `The provider rejected the request${words}`, {
      ...id,
      retryable: false,
      hint: "Check the model's name and the call settings.",
    });
  }
  return new ProviderError(
    "provider-unavailable",
    `The provider gave up in the middle of its answer${words}`,
    { ...id, retryable: true, hint: "Try again in a moment." },
  );
}

const textMember = z.string().optional().catch(undefined);
const failureSchema = z.object({
  message: textMember,
  detail: textMember,
  type: textMember,
  code: z.union([z.string(), z.number()]).optional().catch(undefined),
});
const answerSchema = z.object({ error: z.unknown().optional(), request_id: textMember });

/** What a provider says went wrong, in whichever of the usual shapes. `kind` is its type and code, for machines. */
function readFailure(answer: unknown): { message: string; kind: string; requestId?: string } {
  const value: unknown = Array.isArray(answer) && answer.length === 1 ? answer[0] : answer;
  const outer = answerSchema.safeParse(value).data;
  const inner = outer?.error ?? value;
  if (typeof inner === "string") return { message: inner, kind: "" };
  const { message, detail, type = "", code = "" } = failureSchema.safeParse(inner).data ?? {};
  return {
    message: message ?? detail ?? "",
    kind: `${code} ${type}`,
    ...(outer?.request_id === undefined ? {} : { requestId: outer.request_id }),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A text as it is, unless it is a page of HTML. */
function quotable(text: string): string {
  return /^\s*</.test(text) ? "" : text;
}

/** A detail as the tail of a message: masked before, on one line, and clipped. */
function colon(detail: string): string {
  const line = detail.replace(/\s+/g, " ").trim();
  return line === "" ? "" : `: ${clip(line, 200)}`;
}

const codeSchema = z.object({ code: z.string().regex(/^[A-Za-z0-9_]{1,60}$/) });

function codeOf(error: unknown): string | undefined {
  return codeSchema.safeParse(error).data?.code;
}
