import { HoldfastError } from "../session/errors.ts";

/** An address is taken (`port-in-use`, `socket-in-use`) or cannot be used (`listen-failed`). */
export class ListenError extends HoldfastError {
  readonly code: "port-in-use" | "socket-in-use" | "listen-failed";

  constructor(code: ListenError["code"], message: string, hint: string, cause?: unknown) {
    super(message, { hint, ...(cause === undefined ? {} : { cause }) });
    this.code = code;
  }
}

/** The code of a system error, such as `ENOENT`; a text that tells of any other error. */
export function systemCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
