import { errorCode } from "../store/errors.ts";
import { EXIT } from "./exit-codes.ts";

/**
 * What happens when stdout or stderr cannot be written, such as on a full disk: a line on stderr and exit code 1. A
 * reader that has seen enough, such as `head`, is no error: what is written after it left goes nowhere, and the command
 * ends as it would have.
 */
export function watchOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error) => {
      const code = errorCode(error);
      if (code === "EPIPE") return;
      process.exitCode = EXIT.failure;
      // Where stderr itself fails, there is nobody left to tell.
      if (stream === process.stdout)
        process.stderr.write(`holdfast: the output cannot be written (${code})\n`);
    });
  }
}
