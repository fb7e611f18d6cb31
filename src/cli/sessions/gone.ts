import { NotFoundError, SessionGoneError } from "../../store/errors.ts";
import { counted } from "../counted.ts";

/* Of all sessions of a store, one that another process deletes before its turn comes is none any more, and no failure. */

/** Whether a session is not there any more that was listed before. */
export function isGone(error: unknown): boolean {
  return error instanceof NotFoundError;
}

/** The same, where nothing of it was read either. */
export function isGoneUnread(error: unknown): boolean {
  return error instanceof NotFoundError && !(error instanceof SessionGoneError);
}

/** Says on stderr how many are gone; nothing where there are none. */
export function tellGone(count: number): void {
  if (count === 0) return;
  const text = `${counted(count, "session was", "sessions were")} deleted meanwhile, and left out`;
  process.stderr.write(`holdfast: ${text}\n`);
}
