import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Tool, ToolError, type ToolOutput } from "../../../src/agent/tool.ts";
import { ToolRegistrationError, ToolRegistry } from "../../../src/agent/tools/registry.ts";
import { cutBytes } from "../../../src/agent/tools/text.ts";
import { careless, makeTool } from "../../fixtures/test-tools.ts";

const never = () => new AbortController().signal;
const TIMED_OUT = { name: "ToolTimeoutError", code: "TOOL_TIMEOUT" };
const TOO_LARGE = { name: "ToolOutputError", code: "TOOL_OUTPUT_TOO_LARGE" };

/** Never gives a result, whatever its signal says. */
const endless = makeTool("endless", () => new Promise(() => undefined));

function call(tool: Tool, limits = {}, signal = never()) {
  return new ToolRegistry([tool], limits).call(tool.name, "", signal);
}

describe("the time of a call", () => {
  test("is limited: a handler that ignores its signal is left behind, and its effect is unknown", async () => {
    const outcome = await call(endless, { timeoutMs: 10 });
    expect(outcome.error).toEqual(TIMED_OUT);
    expect(outcome.text).toBe(
      'The tool "endless" gave no result within 0.01 s and was stopped. Whether it took effect is unknown; check before you call it again.',
    );
  });

  test("is told to the handler by its signal, and what it throws then is the timeout", async () => {
    const heard = Promise.withResolvers<unknown>();
    const obedient = makeTool("obedient", (_, signal) => {
      const { promise, reject } = Promise.withResolvers<ToolOutput>();
      signal.addEventListener("abort", () => {
        heard.resolve(signal.reason);
        reject(new Error("stopped"));
      });
      return promise;
    });
    expect((await call(obedient, { timeoutMs: 10 })).error).toEqual(TIMED_OUT);
    expect(await heard.promise).toMatchObject({ name: "TimeoutError" });
  });

  test("can be the tool's own, shorter or longer than that of the others", async () => {
    expect((await call({ ...endless, timeoutMs: 10 }, { timeoutMs: 60_000 })).error).toEqual(TIMED_OUT);
    const patient = makeTool("patient", async () => {
      await Bun.sleep(30);
      return { text: "in time" };
    });
    expect(await call({ ...patient, timeoutMs: 60_000 }, { timeoutMs: 1 })).toEqual({ text: "in time" });
  });

  test("is not what ends a call when the Turn is stopped first", async () => {
    const reason = new Error("the caller's own reason");
    const stopped = call(endless, { timeoutMs: 60_000 }, AbortSignal.timeout(5)).catch(({ name }) => name);
    expect(await stopped).toBe("TimeoutError");
    const aborted = new AbortController();
    const late = call(endless, {}, aborted.signal).catch((error: unknown) => error);
    aborted.abort(reason);
    expect(await late).toBe(reason);
  });

  test("is over without a trace: the signal of a call that ended in time never fires", async () => {
    let kept: AbortSignal | undefined;
    const quick = makeTool("quick", async (_, signal) => {
      kept = signal;
      return { text: "done" };
    });
    await call(quick, { timeoutMs: 5 });
    await call(endless, { timeoutMs: 15 });
    expect(kept?.aborted).toBe(false);
  });

  test("a failure that comes after it has nobody to tell", async () => {
    const failLate = Promise.withResolvers<ToolOutput>();
    const late = makeTool("late", () => failLate.promise);
    expect((await call(late, { timeoutMs: 5 })).error).toEqual(TIMED_OUT);
    // An unhandled rejection would fail this test.
    failLate.reject(new Error("too late"));
    await new Promise((resolve) => setImmediate(resolve));
  });

  test.each([0, -1, Number.NaN])("a limit of %p is refused", (limit) => {
    expect(() => new ToolRegistry([], { timeoutMs: limit })).toThrow(ToolRegistrationError);
    expect(() => new ToolRegistry([], { maxResultBytes: limit })).toThrow(ToolRegistrationError);
    expect(() => new ToolRegistry([{ ...endless, timeoutMs: limit }])).toThrow(ToolRegistrationError);
  });

  test("a limit that no timer can wait for is a long one, not none", async () => {
    const slow = makeTool("slow", async () => {
      await Bun.sleep(5);
      return { text: "done" };
    });
    for (const timeoutMs of [2 ** 31, Number.POSITIVE_INFINITY]) {
      expect(await call(slow, { timeoutMs })).toEqual({ text: "done" });
    }
  });
});

describe("the size of a result", () => {
  test("may be the limit, and is an error with its beginning when it is more", async () => {
    const text = (length: number) => makeTool("big", async () => ({ text: "x".repeat(length) }));
    expect(await call(text(100), { maxResultBytes: 100 })).toEqual({ text: "x".repeat(100) });
    expect(await call(text(101), { maxResultBytes: 100 })).toEqual({
      text: `The tool "big" ran, but its result is larger than a result may be, which is 100 bytes. It begins as below; the last 1 of its 101 bytes are left out.\n\n${"x".repeat(100)}`,
      error: TOO_LARGE,
    });
  });

  test("is 256 KiB of UTF-8 when nothing is said", async () => {
    const kib = (count: number) => makeTool("big", async () => ({ text: "é".repeat(count * 512) }));
    expect((await call(kib(256))).error).toBeUndefined();
    expect((await call(kib(257))).error).toEqual(TOO_LARGE);
  });

  test("is kept by cutting between characters", () => {
    const family = "👨‍👩‍👧‍👦";
    expect(cutBytes(`ab${family}`, 20)).toBe("ab");
    expect(cutBytes("e\u0301e\u0301", 5)).toBe("e\u0301");
    expect(cutBytes("a\r\nb", 2)).toBe("a");
    expect(cutBytes("\ud800\ud800", 3)).toBe("\ud800");
    const unit = fc.constantFrom("a", "é", "😀", family, "\ud800", "\udc00", "\u0301", "\r", "\n");
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 60 }), fc.integer({ min: 1, max: 300 }), (units, max) => {
        const text = units.join("");
        const cut = cutBytes(text, max);
        expect(text.startsWith(cut)).toBe(true);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(max);
        if (Buffer.byteLength(text) <= max) expect(cut).toBe(text);
        if (text.isWellFormed()) expect(cut.isWellFormed()).toBe(true);
      }),
    );
  });

  test("counts for metadata of its own: what is too large is left out, and the result stays", async () => {
    const shared: unknown[] = ["x"];
    let doubled = shared;
    for (let level = 0; level < 60; level += 1) doubled = [doubled, doubled];
    const cases = [
      ["x".repeat(200)],
      Array.from({ length: 200 }, () => 1),
      { ["k".repeat(200)]: 1 },
      doubled,
    ];
    for (const meta of [...cases, ["\u0001".repeat(50)]]) {
      const outcome = await call(careless({ text: "ok", meta }), { maxResultBytes: 100 });
      expect(outcome).toEqual({ text: "ok", meta: { leftOut: "more than 100 bytes of metadata" } });
    }
    const meta = { hits: [1, 2] };
    expect(await call(careless({ text: "ok", meta }), { maxResultBytes: 100 })).toEqual({ text: "ok", meta });
  });

  test("counts for the words of an error", async () => {
    const wordy = makeTool("wordy", () => Promise.reject(new ToolError("E", "OWN", "w".repeat(1000))));
    const outcome = await call(wordy, { maxResultBytes: 100 });
    expect(outcome.error).toEqual({ name: "E", code: "OWN" });
    expect(outcome.text).toBe(
      `The tool "wordy" failed. It begins as below; the last 900 of its 1000 bytes are left out.\n\n${"w".repeat(100)}`,
    );
    const plain = makeTool("plain", () => Promise.reject(new Error("w".repeat(1e6))));
    expect((await call(plain)).text.length).toBeLessThan(500);
  });
});

describe("whatever a handler returns or throws is an outcome", () => {
  const trap = (): never => {
    throw new Error("trapped");
  };
  const handler = { get: trap, getPrototypeOf: trap, ownKeys: trap };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();

  test.each([
    ["nothing", undefined],
    ["null", null],
    ["a text alone", "text"],
    ["a function", () => ({ text: "x" })],
    ["a text in a box", { text: new String("x") }],
    ["a promise as text", { text: Promise.resolve("x") }],
    [
      "a getter that throws",
      {
        get text() {
          return trap();
        },
      },
    ],
    [
      "metadata with a getter that throws",
      {
        text: "x",
        meta: {
          get a() {
            return trap();
          },
        },
      },
    ],
    ["metadata that is a proxy that throws", { text: "x", meta: new Proxy({}, handler) }],
    [
      "metadata without a bottom",
      {
        text: "x",
        meta: new Proxy(
          {},
          {
            ownKeys: () => ["a"],
            getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }),
            get: (_, __, self) => self,
          },
        ),
      },
    ],
    ["a binary", { text: new Uint8Array(3) }],
  ])("%s is bad output", async (_, output) => {
    const outcome = await call(careless(output));
    expect(outcome.error).toEqual({ name: "ToolOutputError", code: "TOOL_OUTPUT_INVALID" });
    expect(outcome.text).toStartWith('The tool "careless" ran, but returned ');
  });

  test.each([
    ["a proxy that throws", new Proxy({}, handler)],
    ["a proxy that was revoked", revoked.proxy],
    ["an error whose message throws", Object.defineProperty(new Error("x"), "message", { get: trap })],
    ["an error whose message is no text", Object.defineProperty(new Error("x"), "message", { value: 5 })],
    ["nothing", undefined],
    ["a symbol", Symbol("x")],
  ])("%s, thrown, is a failed tool", async (_, failure) => {
    const outcome = await call(makeTool("x", () => Promise.reject(failure)));
    expect(outcome.error).toEqual({ name: "ToolFailedError", code: "TOOL_FAILED" });
    expect(outcome.text).toStartWith('The tool "x" failed. Whether');
  });

  test("a ToolError keeps of its name, code and message what is text", async () => {
    const odd = new ToolError("Odd", "ODD", "told");
    Object.defineProperties(odd, { name: { value: 5 }, code: { get: trap } });
    expect(await call(makeTool("x", () => Promise.reject(odd)))).toEqual({
      text: "told",
      error: { name: "ToolFailedError", code: "TOOL_FAILED" },
    });
  });

  test("one that can be waited for is waited for, and no longer than others", async () => {
    const thenable = (then: unknown) =>
      ({ ...careless(undefined), run: () => ({ then }) }) as unknown as Tool;
    const settled = thenable((resolve: (output: ToolOutput) => void) => resolve({ text: "soon" }));
    expect(await call(settled)).toEqual({ text: "soon" });
    expect(
      (
        await call(
          thenable(() => undefined),
          { timeoutMs: 5 },
        )
      ).error,
    ).toEqual(TIMED_OUT);
    expect((await call(thenable(trap))).error?.code).toBe("TOOL_FAILED");
  });
});
