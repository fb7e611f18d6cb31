/** Waits for `promise`, or less long when the signal fires first: then rejects with the signal's reason. */
export function waitFor<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  // Also with a signal that has fired, so that a later failure of `promise` does not go unhandled.
  return Promise.race([aborted, promise]).finally(() => signal.removeEventListener("abort", abort));
}
