import { HoldfastError } from "../session/errors.ts";

/** A session that is not the one of this Host, wherever else it may be. */
export class NotServedError extends HoldfastError {
  readonly code = "not-found";

  constructor(sessionId: string) {
    super(`This Host does not serve a session ${JSON.stringify(sessionId)}`, {
      place: { sessionId },
      hint: "Start a Host on it with --session-id, or read it with `holdfast sessions show`.",
    });
  }
}
