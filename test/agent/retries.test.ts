import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { TurnAbort } from "../../src/agent/errors.ts";
import { type Provider, ProviderError } from "../../src/agent/provider.ts";
import { LONGEST_RETRY_AFTER_MS, NO_RETRIES, type RetryPolicy, retryDelay } from "../../src/agent/retry.ts";
import type { Chunk } from "../../src/session/events.ts";
import { StorageFullError } from "../../src/store/errors.ts";
import type { AgentRig } from "../fixtures/agent-rig.ts";
import { awaitEvent } from "../fixtures/await-event.ts";
import type { EventMatch } from "../fixtures/event-faults.ts";
import { forever } from "../fixtures/model-replies.ts";
import { partsReply, type Reply } from "../fixtures/provider-server.ts";
import { echo } from "../fixtures/test-tools.ts";
import {
  answer,
  call,
  callAnswer,
  errorAnswer,
  failure,
  type Item,
  KEY,
  openWireRig,
  reasoning,
  text,
  textAnswer,
  type Wire,
} from "../fixtures/wire.ts";
import { EACH_WIRE, WIRES } from "../fixtures/wires.ts";

const START: Chunk = { type: "block-start", index: 0, blockType: "text" };
const DELTA: Chunk = { type: "text-delta", index: 0, text: "ok" };
const USAGE: Chunk = { type: "usage", usage: { inputTokens: 1, outputTokens: 0 } };

const isRetry: EventMatch = ({ type }) => type === "llm/retry";
const retriesOf = (rig: AgentRig) => rig.events.filter(isRetry).map(({ data }) => data);

/** A policy that notes its waits instead of waiting. */
function noting(retries = 2): RetryPolicy & { readonly waits: number[] } {
  const waits: number[] = [];
  return { retries, random: () => 0, wait: async (ms) => void waits.push(ms), waits };
}

const busy = (wire: Wire, headers = {}): Reply => errorAnswer(wire, 503, `busy, says ${KEY}`, headers);

describe.each(EACH_WIRE)("retries over %s", (_, wire) => {
  test("each attempt is recorded, has the same bytes, and the answer is that of the last one alone", async () => {
    const retry = noting();
    const replies = [busy(wire), partsReply([]), textAnswer(wire, "he", "llo")];
    await using rig = await openWireRig(wire, replies, { retry });
    expect(await rig.run("hi")).toMatchObject({
      message: "hello",
      steps: 1,
      reason: { kind: "completed" },
      usage: { inputTokens: 10, outputTokens: 2 },
    });
    expect(rig.types()).toEqual([
      "turn/start",
      "user/message",
      "step/start",
      "request/header",
      "llm/retry",
      "llm/retry",
      "assistant/chunk",
      "assistant/message",
      "step/end",
      "turn/end",
    ]);
    const [first, second] = retriesOf(rig);
    expect(first).toMatchObject({
      turn: 1,
      step: 1,
      attempt: 1,
      delayMs: 500,
      error: {
        code: "provider-unavailable",
        status: 503,
        message: expect.stringContaining("busy, says [API key]"),
      },
    });
    expect(second).toMatchObject({ attempt: 2, delayMs: 1_000, error: { code: "provider-bad-response" } });
    expect(retry.waits).toEqual([500, 1_000]);
    const bodies = rig.server.requests.map(({ body }) => body);
    expect(bodies).toEqual(Array.from({ length: 3 }, () => bodies[0] ?? ""));
    const chunks = rig.all("assistant/chunk").map(({ seq }) => seq);
    expect(rig.all("assistant/message").map(({ sourceEventSeqs }) => sourceEventSeqs)).toEqual([chunks]);
    const { memory, disk } = await rig.texts();
    expect(disk).toEqual([...memory]);
  });

  test("after the last attempt the Turn fails of what that one failed of", async () => {
    const retry = noting();
    const last = errorAnswer(wire, 529, "still busy");
    await using rig = await openWireRig(wire, [busy(wire), busy(wire), last, textAnswer(wire, "better")], {
      retry,
    });
    expect((await rig.run("first")).failure).toMatchObject({ code: "provider-unavailable", status: 529 });
    expect(retriesOf(rig)).toHaveLength(2);
    expect(await rig.run("second")).toMatchObject({ message: "better" });
    expect(wire.history(rig.server.requests[3]?.body ?? "").map(({ text }) => text)).toEqual([
      "first",
      "second",
    ]);
  });

  test.each<[string, Item[]]>([
    ["text", [text("half")]],
    ["reasoning", [reasoning("half")]],
    ["a call", [call(0, { id: "a", name: "echo" }), call(0, { args: '{"te' })]],
  ])("there are none once a delta of %s has come", async (_, items) => {
    const retry = noting();
    await using rig = await openWireRig(wire, [answer(wire, ...items, failure("overloaded", "x"))], {
      retry,
    });
    expect((await rig.run("first")).failure).toMatchObject({ code: "provider-unavailable", retryable: true });
    expect(rig.server.requests).toHaveLength(1);
    expect(retriesOf(rig)).toEqual([]);
    expect(rig.all("assistant/chunk").length).toBeGreaterThan(1);
  });

  test.each([400, 401, 404])("there are none for status %p, which stays as it is", async (status) => {
    const retry = noting();
    await using rig = await openWireRig(wire, [errorAnswer(wire, status, "no")], { retry });
    expect((await rig.run("first")).failure).toMatchObject({ status, retryable: false });
    expect(rig.server.requests).toHaveLength(1);
    expect(retriesOf(rig)).toEqual([]);
  });

  test("Retry-After is waited for as asked", async () => {
    const retry = noting();
    const replies = [busy(wire, { "retry-after": "7" }), textAnswer(wire, "ok")];
    await using rig = await openWireRig(wire, replies, { retry });
    expect(await rig.run("hi")).toMatchObject({ message: "ok" });
    expect(retry.waits).toEqual([7_000]);
    expect(retriesOf(rig)).toMatchObject([{ delayMs: 7_000, error: { providerRetryAfterMs: 7_000 } }]);
  });

  test("who asks for more patience than there is gets none", async () => {
    const retry = noting();
    const seconds = String(LONGEST_RETRY_AFTER_MS / 1_000 + 1);
    await using rig = await openWireRig(wire, [busy(wire, { "retry-after": seconds })], { retry });
    expect((await rig.run("hi")).failure).toMatchObject({ retryAfterMs: LONGEST_RETRY_AFTER_MS + 1_000 });
    expect(rig.server.requests).toHaveLength(1);
    expect(retriesOf(rig)).toEqual([]);
  });
});

const [WIRE] = WIRES;
if (WIRE === undefined) throw new Error("no wire format");

describe("retries", () => {
  test("each Step counts its own", async () => {
    const retry = noting(1);
    const replies = [busy(WIRE), callAnswer(WIRE, "a", "echo"), busy(WIRE), textAnswer(WIRE, "ok")];
    await using rig = await openWireRig(WIRE, replies, { retry, tools: [echo] });
    expect(await rig.run("hi")).toMatchObject({ message: "ok", steps: 2 });
    expect(retriesOf(rig)).toMatchObject([
      { turn: 1, step: 1, attempt: 1, delayMs: 500 },
      { turn: 1, step: 2, attempt: 1, delayMs: 500 },
    ]);
  });

  test("there are none unless somebody asks for them", async () => {
    await using rig = await openWireRig(WIRE, [busy(WIRE)]);
    expect((await rig.run("hi")).failure).toMatchObject({ retryable: true });
    expect(rig.server.requests).toHaveLength(1);
    expect(retryDelay(unavailable(), 1, NO_RETRIES)).toBeUndefined();
  });

  test.each<[string, Chunk[]]>([
    ["a block that has begun and said nothing", [START]],
    ["a count of tokens", [USAGE]],
    ["both of them", [USAGE, START, USAGE]],
  ])("%s leaves nothing behind", async (_, before) => {
    const retry = noting();
    await using rig = await openWireRig(WIRE, [], { retry });
    expect(await rig.run("hi", { provider: failingOnce(before) })).toMatchObject({ message: "ok" });
    expect(rig.all("assistant/chunk").map(({ data }) => data.chunk.type)).toEqual([
      ...before.map(({ type }) => type),
      "block-start",
      "text-delta",
      "block-end",
      "finish",
    ]);
    expect(retriesOf(rig)).toHaveLength(1);
  });

  test("there are none for an answer that the log cannot keep, whatever it begins with", async () => {
    const retry = noting();
    await using rig = await openWireRig(WIRE, [textAnswer(WIRE, "better")], { retry });
    const usage = { inputTokens: Number.NaN, outputTokens: 1 };
    const provider = failingOnce([
      { type: "usage", usage },
      { ...DELTA, text: "x" },
    ]);
    expect((await rig.run("first", { provider })).failure).toMatchObject({ code: "provider-bad-response" });
    expect(retriesOf(rig)).toEqual([]);
    expect(await rig.run("second")).toMatchObject({ turn: 2, message: "better" });
  });

  test("a provider that asks for no patience gets the delay of one that does not ask", () => {
    const asking = (retryAfterMs: number) =>
      new ProviderError("provider-unavailable", "busy", { hint: "Wait.", retryable: true, retryAfterMs });
    const policy = { retries: 2, random: () => 0 };
    expect([0, 1].map((ms) => retryDelay(asking(ms), 2, policy))).toEqual([1_000, 1]);
  });

  test("the record is durable before the wait begins", async () => {
    const onDisk: string[][] = [];
    const wait = async () => void onDisk.push([...(await rig.texts()).disk]);
    const retry = { retries: 1, random: () => 0, wait };
    await using rig = await openWireRig(WIRE, [busy(WIRE), textAnswer(WIRE, "ok")], { retry });
    const hold = rig.faults.holdOnce(isRetry);
    const turn = rig.run("hi");
    await hold.reached;
    await new Promise((resolve) => setImmediate(resolve));
    expect(onDisk).toEqual([]);
    hold.release();
    expect(await turn).toMatchObject({ message: "ok" });
    expect(onDisk.map((texts) => texts.at(-1))).toEqual([expect.stringContaining('"llm/retry"')]);
  });

  test("a record that cannot be saved ends the Turn: nothing is tried without it", async () => {
    const retry = noting();
    await using rig = await openWireRig(WIRE, [busy(WIRE), textAnswer(WIRE, "better")], { retry });
    rig.faults.failOnce(isRetry, new StorageFullError({}));
    const outcome = await rig.run("first").catch((error: unknown) => error);
    expect(outcome).toMatchObject({ code: "storage-full" });
    expect(retry.waits).toEqual([]);
    expect(rig.server.requests).toHaveLength(1);
    expect(await rig.run("second")).toMatchObject({ turn: 2, message: "better" });
  });

  test("who cancels during the wait is heard at once", async () => {
    const replies = [busy(WIRE, { "retry-after": "60" }), textAnswer(WIRE, "better")];
    await using rig = await openWireRig(WIRE, replies, { retry: { retries: 2, random: () => 0 } });
    const controller = new AbortController();
    const turn = rig.run("first", { signal: controller.signal });
    await awaitEvent(rig.agent.session.log, isRetry);
    controller.abort(new TurnAbort("user"));
    expect((await turn).reason).toEqual({ kind: "aborted", reason: { kind: "user" } });
    expect(rig.server.requests).toHaveLength(1);
    expect(rig.types().slice(-3)).toEqual(["llm/retry", "step/end", "turn/end"]);
    expect(await rig.run("second")).toMatchObject({ turn: 2, message: "better" });
  });

  test("a crash during the wait leaves a Turn that is closed on the way up", async () => {
    const retry = { retries: 2, random: () => 0, wait: forever };
    await using rig = await openWireRig(WIRE, [busy(WIRE), textAnswer(WIRE, "better")], { retry });
    void rig.run("first");
    await awaitEvent(rig.agent.session.log, isRetry);
    await rig.crash();
    expect(rig.agent.recovery).toEqual({ closers: 2, torn: false });
    expect<unknown>(rig.all("turn/end").map(({ data }) => data.reason)).toEqual([{ kind: "interrupted" }]);
    expect(await rig.run("second")).toMatchObject({ turn: 2, message: "better" });
    const history = WIRE.history(rig.server.requests[1]?.body ?? "");
    expect(history.map(({ text }) => text)).toEqual(["first", "second"]);
  });

  test("the real wait is over when its time is", async () => {
    const replies = [busy(WIRE, { "retry-after-ms": "1" }), textAnswer(WIRE, "ok")];
    await using rig = await openWireRig(WIRE, replies, { retry: { retries: 1, random: Math.random } });
    expect(await rig.run("hi")).toMatchObject({ message: "ok" });
  });

  test("the delay doubles up to half a minute, less up to a quarter at random", () => {
    const property = fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (failed, chance) => {
        const delay = retryDelay(unavailable(), failed, { retries: 60, random: () => chance });
        const full = Math.min(30_000, 500 * 2 ** (failed - 1));
        expect(delay).toBeGreaterThanOrEqual(Math.floor(full * 0.75));
        expect(delay).toBeLessThanOrEqual(full);
      },
    );
    fc.assert(property);
  });

  test("what is no failure of a provider is never tried again", () => {
    const policy = { retries: 9, random: () => 0 };
    for (const error of [new Error("x"), undefined, new StorageFullError({}), new TurnAbort("user")]) {
      expect(retryDelay(error, 1, policy)).toBeUndefined();
    }
    expect(retryDelay(unavailable(), 9, policy)).toBeDefined();
    expect(retryDelay(unavailable(), 10, policy)).toBeUndefined();
  });
});

function unavailable(): ProviderError {
  return new ProviderError("provider-unavailable", "busy", { hint: "Wait.", retryable: true });
}

/** Gives up after these chunks; then begins like that again, and answers. */
function failingOnce(before: readonly Chunk[]): Provider {
  let asked = 0;
  return {
    name: "failing",
    async *stream() {
      asked += 1;
      yield* before;
      if (asked === 1) throw unavailable();
      yield START;
      yield DELTA;
      yield { type: "block-end", index: 0, block: { type: "text", text: "ok" } };
      yield { type: "finish", reason: { kind: "stop" } };
    },
  };
}
