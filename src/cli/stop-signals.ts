import { EXIT } from "./exit-codes.ts";

const CODES = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hungUp } as const;

/** Ctrl-C and SIGTERM, for a command that stops between two steps. The second one ends the process at once. */
export class StopSignals implements Disposable {
  readonly #abort = new AbortController();
  readonly #arrived = Promise.withResolvers<void>();
  readonly #handlers = new Map<NodeJS.Signals, () => void>();
  #code: number | undefined;

  constructor(signals: ReadonlyArray<keyof typeof CODES> = ["SIGINT", "SIGTERM"]) {
    for (const signal of signals) this.#on(signal, CODES[signal]);
  }

  /** Aborted by the first signal. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Resolves with the first signal. */
  get arrived(): Promise<void> {
    return this.#arrived.promise;
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
      if (this.#code !== undefined) endAtOnce(signal, code);
      this.#code = code;
      this.#abort.abort();
      this.#arrived.resolve();
    };
    this.#handlers.set(signal, handler);
    process.on(signal, handler);
  }
}

/** Dies of the signal: an exit would close open databases first, and so wait for a disk that hangs. */
function endAtOnce(signal: NodeJS.Signals, code: number): void {
  process.removeAllListeners(signal);
  // Such as that a terminal is left as it was.
  process.emit("exit", code);
  process.kill(process.pid, signal);
  // The first process of a container does not die of signals.
  process.exit(code);
}
