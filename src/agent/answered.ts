import { ClosingError, InvocationCancelledError } from "./errors.ts";
import type { TurnResult } from "./turn.ts";

/**
 * Turns the ways a Turn can end without an answer into errors. A Turn that used up its Steps counts as answered.
 * @throws ClosingError, InvocationCancelledError, or what the Turn failed of
 */
export function assertAnswered({ reason, failure }: TurnResult): void {
  if (reason.kind === "aborted") {
    throw reason.reason.kind === "disposed" ? new ClosingError(true) : new InvocationCancelledError();
  }
  if (failure !== undefined && failure.code !== "max-steps") throw failure;
}
