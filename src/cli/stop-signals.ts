import { EXIT } from "./exit-codes.ts";

const CODES = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hungUp } as const;

/**
 * Within so many milliseconds a SIGTERM that comes twice is one stop: a process group got it, and a wrapper such as npm passed
 * its own on.
 */
const SAME_STOP_MS = 250;

/** Ctrl-C and SIGTERM, for a command that stops between two steps. The second one ends the process at once. */
export class StopSignals implements Disposable {
  readonly #abort = new AbortController();
  readonly #arrived = Promise.withResolvers<void>();
  readonly #handlers = new Map<NodeJS.Signals, () => void>();
  #code: number | undefined;
  #cameAt = 0;

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
      if (this.#code !== undefined) {
        // Nobody passes Ctrl-C on: who presses it twice means it.
        const isSame = code === this.#code && signal !== "SIGINT";
        if (isSame && performance.now() < this.#cameAt + SAME_STOP_MS) return;
        endAtOnce(signal, code);
      }
      this.#cameAt = performance.now();
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
