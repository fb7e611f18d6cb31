import { HoldfastError } from "../session/errors.ts";

/** A request that is refused for what it says, before anything is done. */
export class RequestError extends HoldfastError {
  readonly code: "invalid-request" | "too-large" | "unsupported-media-type";

  constructor(code: RequestError["code"], message: string, hint: string) {
    super(message, { hint });
    this.code = code;
  }
}
