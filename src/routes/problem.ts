import type { ProviderErrorCode } from "../agent/provider.ts";
import { HoldfastError } from "../session/errors.ts";
import { STORE_ERROR_TABLE } from "../store/errors.ts";

/** Body of every error answer: RFC 9457, with a stable `code` and, where there is one, a hint what to do. */
export interface Problem {
  readonly type: "about:blank";
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly hint?: string;
}

interface ProblemKind {
  readonly status: number;
  readonly title: string;
}

/** The codes that tell of the provider. */
export const PROVIDER_KINDS: Readonly<Record<ProviderErrorCode, ProblemKind>> = {
  "provider-auth": { status: 502, title: "Provider refused the credentials" },
  "provider-rate-limited": { status: 502, title: "Provider limits the rate" },
  "provider-rejected": { status: 502, title: "Provider rejected the request" },
  "provider-unavailable": { status: 502, title: "Provider is unavailable" },
  "provider-unreachable": { status: 502, title: "Provider cannot be reached" },
  "provider-timeout": { status: 504, title: "Provider timed out" },
  "provider-bad-response": { status: 502, title: "Provider gave a bad answer" },
};

/** Every code that an error answer can carry. docs/http.md lists the same ones. */
export const PROBLEM_KINDS: Readonly<Record<string, ProblemKind>> = {
  ...STORE_ERROR_TABLE,
  ...PROVIDER_KINDS,
  "invalid-request": { status: 400, title: "Invalid request" },
  unauthorised: { status: 401, title: "Token missing or wrong" },
  "foreign-host": { status: 403, title: "Foreign Host header" },
  "foreign-origin": { status: 403, title: "Foreign Origin header" },
  "unknown-route": { status: 404, title: "Unknown route" },
  "method-not-allowed": { status: 405, title: "Method not allowed" },
  "too-large": { status: 413, title: "Request body is too large" },
  "unsupported-media-type": { status: 415, title: "Unsupported media type" },
  "invocation-duplicate": { status: 409, title: "Invocation exists" },
  "invocation-cancelled": { status: 409, title: "Invocation was cancelled" },
  "fork-boundary": { status: 409, title: "No place to fork at" },
  "invocation-unknown": { status: 404, title: "Unknown invocation" },
  "queue-full": { status: 503, title: "Queue is full" },
  closing: { status: 503, title: "Host is shutting down" },
  "no-route": { status: 503, title: "No such model route" },
  internal: { status: 500, title: "Internal error" },
};

const INTERNAL: ProblemKind = { status: 500, title: "Internal error" };
/** Seconds that a client should wait before it tries again. */
const RETRY_AFTER = 1;

/** The answer that tells of a problem of a known code. */
export function problem(code: string, detail: string, hint?: string): Response {
  return problemResponse(describeProblem(code, detail, hint));
}

function describeProblem(code: string, detail: string, hint?: string): Problem {
  const { status, title } = PROBLEM_KINDS[code] ?? INTERNAL;
  return { type: "about:blank", title, status, code, detail, ...(hint === undefined ? {} : { hint }) };
}

/** A problem as an answer. */
export function problemResponse(body: Problem): Response {
  const { status, code } = body;
  return new Response(JSON.stringify(body), {
    status,
    headers: {
      "content-type": "application/problem+json",
      // A route that does not exist will not exist in a second either.
      ...(status === 503 && code !== "no-route" ? { "retry-after": String(RETRY_AFTER) } : {}),
    },
  });
}

/** Failures that say nothing of the Host's own health; its log does not need them. */
const EXPECTED = new Set(["no-route", "queue-full", "closing"]);

/** Whether an answer tells of something that the people who run the Host should see. */
export function isTrouble(error: unknown, { status }: Pick<Problem, "status">): boolean {
  return status >= 500 && !(error instanceof HoldfastError && EXPECTED.has(error.code));
}

/**
 * The problem that whatever was thrown is told as. What the store says of itself stays inside: its messages hold paths
 * and system errors, which are for the log on this machine.
 */
export function problemOf(error: unknown): Problem {
  const kind = error instanceof HoldfastError ? PROBLEM_KINDS[error.code] : undefined;
  if (!(error instanceof HoldfastError) || kind === undefined)
    return describeProblem("internal", "The request failed for a reason on our side.");
  const inside = error.code in STORE_ERROR_TABLE && kind.status >= 500;
  return describeProblem(
    error.code,
    inside ? `${kind.title}. The log of the Host says more.` : error.message,
    error.hint,
  );
}

/** The answer for whatever was thrown; see {@link problemOf}. */
export function problemFor(error: unknown): Response {
  return problemResponse(problemOf(error));
}
