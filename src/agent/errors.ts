import { HoldfastError } from "../session/errors.ts";
import { STORE_ERROR_TABLE } from "../store/errors.ts";
import { ProviderError } from "./provider.ts";

/** An invocation of this id is queued or running. */
export class DuplicateInvocationError extends HoldfastError {
  readonly code = "invocation-duplicate";

  constructor(id: string) {
    super(`An invocation ${JSON.stringify(id)} is queued or running already`, {
      hint: "Wait for its answer, cancel it, or use another id.",
    });
  }
}

/** No invocation of this id is queued or running. */
export class UnknownInvocationError extends HoldfastError {
  readonly code = "invocation-unknown";

  constructor(id: string) {
    super(`No invocation ${JSON.stringify(id)} is queued or running`, {
      hint: "It was never sent, or it has its answer already.",
    });
  }
}

/** The invocation was cancelled: before it began (nothing was written), or in its Turn, which then ended as aborted. */
export class InvocationCancelledError extends HoldfastError {
  readonly code = "invocation-cancelled";

  constructor() {
    super("The invocation was cancelled", { hint: "Send it again with a new id if it is still wanted." });
  }
}

/** The queue of invocations is full. */
export class QueueFullError extends HoldfastError {
  readonly code = "queue-full";

  constructor(size: number) {
    super(`${size} invocations are waiting already`, {
      hint: "Try again when some of them have their answers.",
    });
  }
}

/** The Host is shutting down. */
export class ClosingError extends HoldfastError {
  readonly code = "closing";

  /** `isRecorded`: whether the Turn had begun, so that its input is in the session. */
  constructor(isRecorded = false) {
    super("The Host is shutting down", {
      hint: isRecorded
        ? "The input was recorded, and its Turn ended as aborted. Read the session before you send it again."
        : "Try again when it has been started again.",
    });
  }
}

/** The Turn used all its Steps before the model was done. */
export class MaxStepsError extends HoldfastError {
  readonly code = "max-steps";

  constructor(steps: number) {
    super(
      `The Turn was ended after ${steps} ${steps === 1 ? "Step" : "Steps"}, before the model gave an answer`,
      {
        hint: "Raise --max-steps, or ask for less at once.",
      },
    );
  }
}

/** A fork was asked for at a place where the log cannot be cut. */
export class ForkBoundaryError extends HoldfastError {
  readonly code = "fork-boundary";

  constructor(sessionId: string, boundary: number | undefined) {
    const what =
      boundary === undefined ? "has no closed Turn" : `has no closed Turn that ends at seq ${boundary}`;
    super(`The session ${JSON.stringify(sessionId)} ${what}`, {
      place: { sessionId, ...(boundary === undefined ? {} : { seq: boundary }) },
      hint: "Fork at the seq of a turn/end event, or leave the boundary out to fork at the last one.",
    });
  }
}

/** Why a Turn is being stopped; the reason of the signal that stops it. */
export class TurnAbort extends Error {
  readonly kind: "user" | "disposed";

  /** `user`: somebody cancelled it; `disposed`: the Host shuts down. */
  constructor(kind: "user" | "disposed") {
    super(`the Turn was stopped (${kind})`);
    this.name = "TurnAbort";
    this.kind = kind;
  }
}

/** What a log says of a failure. What the store says of itself holds paths, and the log is served: only its kind is kept. */
export interface ErrorDescription {
  readonly message: string;
  readonly code: string;
  /** HTTP status of the provider. */
  readonly status?: number;
  readonly providerRetryAfterMs?: number;
  readonly requestId?: string;
}

/** The description of whatever was thrown. A defect of ours may name internals, so that it says only that it happened. */
export function describeError(error: unknown): ErrorDescription {
  if (!(error instanceof HoldfastError)) {
    return { message: "An internal error ended the Turn", code: "internal" };
  }
  const { code } = error;
  const message = isStoreCode(code) ? STORE_ERROR_TABLE[code].title : error.message;
  if (!(error instanceof ProviderError)) return { message, code };
  return {
    message,
    code,
    ...(error.status === undefined ? {} : { status: error.status }),
    ...(error.retryAfterMs === undefined ? {} : { providerRetryAfterMs: error.retryAfterMs }),
    ...(error.requestId === undefined ? {} : { requestId: error.requestId }),
  };
}

function isStoreCode(code: string): code is keyof typeof STORE_ERROR_TABLE {
  return Object.hasOwn(STORE_ERROR_TABLE, code);
}
