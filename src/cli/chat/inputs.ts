import { UsageError } from "../../host/usage.ts";
import { standardInputLines } from "../conversation/standard-input.ts";
import { type Entry, InputAssembler } from "./assembler.ts";

/** Where a conversation gets what a person says. */
export interface Inputs extends AsyncDisposable {
  /** The next entry; nothing when the person leaves. @throws HoldfastError for what cannot be read */
  next(): Promise<Entry | undefined>;
}

/** Lines of a file or a pipe. */
export class PipedInputs implements Inputs {
  readonly #lines: AsyncGenerator<string>;
  readonly #assembler = new InputAssembler();

  /** Reads until the signal is aborted. */
  constructor(signal: AbortSignal) {
    this.#lines = standardInputLines(signal);
  }

  async next(): Promise<Entry | undefined> {
    for (;;) {
      const { done, value } = await this.#lines.next();
      if (done === true) break;
      const entry = this.#assembler.add(value);
      if (entry !== undefined) return entry;
    }
    if (!this.#assembler.isOpen) return undefined;
    this.#assembler.clear();
    throw new UsageError(
      "The input ends in the middle: its last part was not sent",
      'A line of """ closes a block, and a line that ends in \\ goes on with the next one.',
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lines.return(undefined);
  }
}
