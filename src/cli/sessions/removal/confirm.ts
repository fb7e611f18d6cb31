import { createInterface } from "node:readline";

/** Whether somebody can be asked: whoever reads the question must be the one who answers. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Asks on a terminal. Anything but `y` or `yes` is a no, and so is a signal. */
export async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  process.stderr.write(`${question} [y/N] `);
  const lines = createInterface({ input: process.stdin, terminal: false });
  const { promise, resolve } = Promise.withResolvers<string>();
  const stop = () => resolve("");
  lines.once("line", resolve).once("close", stop);
  signal.addEventListener("abort", stop);
  try {
    return /^\s*y(es)?\s*$/i.test(await promise);
  } finally {
    signal.removeEventListener("abort", stop);
    lines.close();
    process.stdin.pause();
  }
}
