/** Bytes of a file that are worked on before others get their turn. */
export const STRETCH = 512 * 1024;

/** Lets timers, requests and signals have their turn in the middle of a long log. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
