import { describe, expect, test } from "bun:test";
import type { Provider } from "../../src/agent/provider.ts";
import type { Chunk } from "../../src/session/events.ts";
import { isEvent } from "../../src/session/events.ts";
import { AgentRig } from "../fixtures/agent-rig.ts";
import { awaitEvent } from "../fixtures/await-event.ts";
import { validHistory } from "../fixtures/chat-history.ts";
import { textDelta } from "../fixtures/event-faults.ts";
import { modelAt } from "../fixtures/host-config.ts";
import { type Answer, HostRig } from "../fixtures/host-rig.ts";
import { forever } from "../fixtures/model-replies.ts";
import {
  CUT,
  delta,
  finish,
  heldReply,
  type Reply,
  sseReply,
  statusReply,
  textReply,
} from "../fixtures/provider-server.ts";
import { echo } from "../fixtures/test-tools.ts";

const SAID = delta({ content: "half a sentence" });
const HEADERS = { "retry-after": "3", "x-request-id": "req-1" };
const call = (fields: object) => delta({ tool_calls: [{ index: 0, type: "function", ...fields }] });

/** What went wrong, the answer's status, what the log keeps of it, and whether words were streamed before. */
const FAILURES: ReadonlyArray<readonly [string, Reply, number, Record<string, unknown>, boolean]> = [
  ["a refused key", statusReply(401, "no"), 502, { code: "provider-auth", status: 401 }, false],
  [
    "a rate limit",
    statusReply(429, "slow down", HEADERS),
    502,
    { code: "provider-rate-limited", status: 429, providerRetryAfterMs: 3_000, requestId: "req-1" },
    false,
  ],
  ["a refused request", statusReply(400, "too long"), 502, { code: "provider-rejected", status: 400 }, false],
  [
    "a server that is down",
    statusReply(503, "away"),
    502,
    { code: "provider-unavailable", status: 503 },
    false,
  ],
  [
    "an error in the stream",
    sseReply([SAID, { error: { message: "x" } }]),
    502,
    { code: "provider-unavailable" },
    true,
  ],
  ["an answer that takes too long", sseReply([SAID, forever()]), 504, { code: "provider-timeout" }, true],
  ["no answer at all", heldReply(forever(), textReply("x")), 504, { code: "provider-timeout" }, false],
  ["an answer without an end", sseReply([SAID]), 502, { code: "provider-bad-response" }, true],
  [
    "a chunk that is no JSON",
    sseReply([SAID, "data: {oops\n\n"]),
    502,
    { code: "provider-bad-response" },
    true,
  ],
  [
    "a page of HTML",
    statusReply(200, "<html>", { "content-type": "text/html" }),
    502,
    { code: "provider-bad-response" },
    false,
  ],
  ["a content filter", sseReply([SAID, finish("content_filter")]), 502, { code: "provider-rejected" }, true],
  [
    "a call without a name",
    sseReply([SAID, call({ id: "a", function: { name: "", arguments: "{}" } }), finish("tool_calls")]),
    502,
    { code: "provider-bad-response" },
    true,
  ],
  [
    "a call without an id",
    sseReply([SAID, call({ id: "", function: { name: "echo", arguments: "{}" } }), finish("tool_calls")]),
    502,
    { code: "provider-bad-response" },
    true,
  ],
];

interface Failure {
  readonly status: number;
  readonly kept: Record<string, unknown>;
  readonly spoke: boolean;
}

async function expectFailure(
  rig: HostRig,
  answer: Promise<Answer>,
  { status, kept, spoke }: Failure,
): Promise<void> {
  const body = { code: kept["code"] };
  expect(await answer).toMatchObject({ status, contentType: "application/problem+json", body });
  const events = [...rig.host.agent.session.log];
  const types = events.map(({ type }) => type);
  expect(types.slice(-2)).toEqual(["step/end", "turn/end"]);
  expect(types).not.toContain("assistant/message");
  expect(types.includes("assistant/chunk")).toBe(spoke);
  const reasons: unknown[] = events.flatMap((event) =>
    isEvent(event, "turn/end") ? [event.data.reason] : [],
  );
  expect(reasons).toEqual([{ kind: "error", error: { message: expect.any(String), ...kept } }]);
  const { memory, disk } = await rig.texts();
  expect(disk).toEqual([...memory]);

  rig.server.script(textReply("better"));
  expect((await rig.invoke("second")).body).toMatchObject({ turn: 2, message: "better" });
  expect(validHistory(rig.server.requests[1]?.body ?? "")).toEqual([
    { role: "user", content: "first" },
    { role: "user", content: "second" },
  ]);
}

describe("a provider that fails", () => {
  test.each(FAILURES)(
    "%s: the Turn ends as that error, and the next one works",
    async (_, reply, status, kept, spoke) => {
      const requestTimeoutMs = kept["code"] === "provider-timeout" ? 400 : 30_000;
      await using rig = await HostRig.start({ tools: [echo], requestTimeoutMs, replies: [reply] });
      await expectFailure(rig, rig.invoke("first"), { status, kept, spoke });
    },
  );

  test("a connection that breaks after some words: the same", async () => {
    const heard = Promise.withResolvers<void>();
    await using rig = await HostRig.start({ replies: [sseReply([SAID, heard.promise, CUT])] });
    const answer = rig.invoke("first");
    await awaitEvent(rig.host.agent.session.log, textDelta);
    heard.resolve();
    await expectFailure(rig, answer, { status: 502, kept: { code: "provider-unreachable" }, spoke: true });
  });

  test("deltas that wait for company do not hold the answer up", async () => {
    const reply = sseReply([SAID, { error: { message: "x" } }]);
    await using rig = await HostRig.start({ config: { chunkWindowMs: 60_000 }, replies: [reply] });
    const failure = { status: 502, kept: { code: "provider-unavailable" }, spoke: true };
    await expectFailure(rig, rig.invoke("first"), failure);
  });

  test("in a later Step: the calls and results before it stay in the history", async () => {
    const first = sseReply([
      call({ id: "a", function: { name: "echo", arguments: "{}" } }),
      finish("tool_calls"),
    ]);
    await using rig = await HostRig.start({
      tools: [echo],
      replies: [first, statusReply(500, "x"), textReply("better")],
    });
    expect(await rig.invoke("first")).toMatchObject({ status: 502, body: { code: "provider-unavailable" } });
    await rig.invoke("second");
    const history = validHistory(rig.server.requests[2]?.body ?? "");
    expect(history.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  });

  test("a provider that is not there", async () => {
    await using rig = await HostRig.start({ config: modelAt("http://127.0.0.1:1/v1") });
    expect(await rig.invoke("first")).toMatchObject({ status: 502, body: { code: "provider-unreachable" } });
  });

  test("a route that nobody registered: nothing is written", async () => {
    await using rig = await HostRig.start();
    expect(await rig.invoke("first", { model: "other" })).toMatchObject({
      status: 503,
      body: { code: "no-route" },
    });
    expect(await rig.texts()).toEqual({ memory: [], disk: [] });
  });
});

const START: Chunk = { type: "block-start", index: 0, blockType: "text" };
const TEXT: Chunk = { type: "text-delta", index: 0, text: "half" };
const END: Chunk = { type: "block-end", index: 0, block: { type: "text", text: "half" } };
const STOP: Chunk = { type: "finish", reason: { kind: "stop" } };

const CALL = (index: number): Chunk => ({
  type: "block-end",
  index,
  block: { type: "tool-call", id: "same", name: "echo", arguments: "{}" },
});

/** A provider in this process, which can send what no HTTP answer can hold. */
function sending(...chunks: Chunk[]): Provider {
  return {
    name: "sending",
    async *stream() {
      yield* chunks;
    },
  };
}

describe("chunks that a log cannot keep, or that make no answer, are a bad answer of the provider", () => {
  test.each<[string, Chunk[]]>([
    [
      "usage that is NaN",
      [START, TEXT, END, { type: "usage", usage: { inputTokens: Number.NaN, outputTokens: 1 } }, STOP],
    ],
    [
      "usage that is infinite",
      [START, TEXT, END, { type: "usage", usage: { inputTokens: 1, outputTokens: 1 / 0 } }, STOP],
    ],
    ["an index that is no number", [START, { ...TEXT, index: -1 }, END, STOP]],
    [
      "a call without an id",
      [{ type: "block-end", index: 0, block: { type: "tool-call", id: "", name: "x", arguments: "" } }, STOP],
    ],
    [
      "a fault in the very last chunk",
      [START, TEXT, END, { type: "finish", reason: { kind: "stop", at: Number.NaN } }],
    ],
    ["more after the end", [START, TEXT, END, STOP, TEXT]],
    ["two calls of one id", [CALL(0), CALL(1), { type: "finish", reason: { kind: "tool-calls" } }]],
    ["no end", [START, TEXT, END]],
    ["an end as aborted", [START, TEXT, END, { type: "finish", reason: { kind: "aborted" } }]],
    ["an end as an error", [START, TEXT, END, { type: "finish", reason: { kind: "error" } }]],
    ["nothing", []],
  ])("%s", async (_, chunks) => {
    await using rig = await AgentRig.open({ replies: [textReply("better")] });
    const result = await rig.run("first", { provider: sending(...chunks) });
    expect(result).toMatchObject({ reason: { kind: "error", error: { code: "provider-bad-response" } } });
    expect(result.failure).toMatchObject({ code: "provider-bad-response", retryable: true });
    expect(rig.all("assistant/message")).toEqual([]);
    expect(await rig.run("second")).toMatchObject({ turn: 2, message: "better" });
    const { memory, disk } = await rig.texts();
    expect(disk).toEqual([...memory]);
    expect(validHistory(rig.server.requests[0]?.body ?? "").map(({ role }) => role)).toEqual([
      "user",
      "user",
    ]);
  });

  test("the same chunks without a fault make an answer", async () => {
    await using rig = await AgentRig.open();
    expect(await rig.run("hi", { provider: sending(START, TEXT, END, STOP) })).toMatchObject({
      message: "half",
    });
  });
});

describe("a provider with a defect", () => {
  test.each<[string, () => never]>([
    [
      "that throws what no provider should",
      () => {
        throw new TypeError("/home/somebody/secret.ts: undefined is not a function");
      },
    ],
    [
      "that throws nothing at all",
      () => {
        throw undefined;
      },
    ],
  ])("%s: the Turn is closed as an internal error that names nothing", async (_, fail) => {
    await using rig = await AgentRig.open({ replies: [textReply("better")] });
    await expect(rig.run("first", { provider: { name: "broken", stream: fail } })).rejects.not.toBeInstanceOf(
      Promise,
    );
    expect(rig.all("turn/end").map(({ data }) => data.reason)).toEqual([
      { kind: "error", error: { code: "internal", message: "An internal error ended the Turn" } },
    ]);
    expect(await rig.run("second")).toMatchObject({ turn: 2, message: "better" });
  });
});
