import { EXIT } from "./exit-codes.ts";

const CODES = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hungUp } as const;

/** Ctrl-C and SIGTERM, for a command that stops between two steps. The second one ends the process at once. */
export class StopSignals implements Disposable {
  readonly #abort = new AbortController();
  readonly #handlers = new Map<NodeJS.Signals, () => void>();
  #code: number | undefined;

  constructor(signals: ReadonlyArray<keyof typeof CODES> = ["SIGINT", "SIGTERM"]) {
    for (const signal of signals) this.#on(signal, CODES[signal]);
  }

  /** Aborted by the first signal. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Exit code of the signal that came. */
  get code(): number | undefined {
    return this.#code;
  }

  [Symbol.dispose](): void {
    for (const [signal, handler] of this.#handlers) process.off(signal, handler);
  }

  #on(signal: NodeJS.Signals, code: number): void {
    const handler = () => {
      if (this.#code !== undefined) process.exit(code);
      this.#code = code;
      this.#abort.abort();
    };
    this.#handlers.set(signal, handler);
    process.on(signal, handler);
  }
}
