import { errorCode } from "../store/errors.ts";

/**
 * A reader that has seen enough, such as `head`, is no error: what is written after it left goes nowhere, and the
 * command ends as it would have.
 */
export function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error) => {
      if (errorCode(error) !== "EPIPE") throw error;
    });
  }
}
