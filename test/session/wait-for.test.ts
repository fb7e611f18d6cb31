import { describe, expect, test } from "bun:test";
import { waitFor } from "../../src/session/wait-for.ts";

describe("waiting for a promise", () => {
  test("gives its value or its failure, with a signal or without", async () => {
    const { signal } = new AbortController();
    const failure = new Error("no");
    for (const each of [signal, undefined]) {
      expect(await waitFor(Promise.resolve(7), each)).toBe(7);
      await expect(waitFor(Promise.reject(failure), each)).rejects.toBe(failure);
    }
  });

  test("ends with the signal's reason when that fires first", async () => {
    const controller = new AbortController();
    const waiting = waitFor(new Promise(() => undefined), controller.signal);
    const reason = new Error("stopped");
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });

  test("ends at once with a signal that has fired, and a later failure goes nowhere", async () => {
    const reason = new Error("stopped");
    const { promise, reject } = Promise.withResolvers<never>();
    await expect(waitFor(promise, AbortSignal.abort(reason))).rejects.toBe(reason);
    reject(new Error("late"));
    await new Promise((resolve) => setImmediate(resolve));
  });
});
