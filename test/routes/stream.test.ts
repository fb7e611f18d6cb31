import { describe, expect, test } from "bun:test";
import { ProviderError } from "../../src/agent/provider.ts";
import { serverSentEvent } from "../../src/routes/event-stream.ts";
import { StorageFullError } from "../../src/store/errors.ts";
import { AppRig, failingProvider, HeldProvider } from "../fixtures/app-rig.ts";
import { awaitEvent } from "../fixtures/await-event.ts";
import { ofType, textDelta } from "../fixtures/event-faults.ts";
import { PacedModel } from "../fixtures/paced-model.ts";
import { poll } from "../fixtures/poll.ts";
import { expectProblem } from "../fixtures/problem.ts";
import { committed, SseClient } from "../fixtures/sse-client.ts";

const SSE = { accept: "text/event-stream", "content-type": "application/json" };
const SAY = JSON.stringify({ input: "say hello" });

function stored(rig: AppRig, from = 0, to = rig.log.length) {
  return [...rig.log.texts(from, to)].map((text, k) => ({ id: from + k, text }));
}

/** Nobody waits for anything any more. */
function nobodyWaits({ agent }: AppRig): Promise<boolean> {
  return poll("followers to leave", async () => (agent.live.waiting === 0 ? true : undefined));
}

describe("the stream of an invocation", () => {
  test("has every event of its Turn once, as stored, and ends with the answer of a plain request", async () => {
    await using rig = await AppRig.start();
    const plain = await (await rig.post(SAY, undefined, "plain")).text();
    const from = rig.log.length;
    await using client = await SseClient.invoke(rig.url, "streamed", "say hello");
    const events = await client.rest();
    expect(committed(events)).toEqual(stored(rig, from));
    expect(events.filter(({ event }) => event === "done")).toEqual(events.slice(-1));
    const last = events.at(-1);
    expect(last?.id).toBeUndefined();
    const asPlain = last?.text.replace('"streamed"', '"plain"').replace('"turn":2', '"turn":1');
    // The second request carries the first Turn as well.
    const inputTokens = /"inputTokens":\d+/;
    expect(asPlain?.replace(inputTokens, "")).toBe(plain.replace(inputTokens, ""));
  });

  test("is not to be kept, nor held back by a proxy", async () => {
    await using rig = await AppRig.start();
    await using client = await SseClient.invoke(rig.url, "a", "say hello");
    const { status, headers } = client.response;
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-accel-buffering")).toBe("no");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("vary")).toBe("accept");
  });

  test("shows deltas ahead of their commit, under the seq that they get", async () => {
    const provider = new PacedModel();
    await using rig = await AppRig.start({ provider });
    await using client = await SseClient.invoke(rig.url, "a", "hello");
    await provider.asked;
    const hold = rig.faults.holdOnce(textDelta);
    await provider.say("Hel", "lo");
    await hold.reached;
    const ahead = await client.until(({ text }) => text.includes('"lo"'));
    const provisional = ahead.filter(({ event }) => event === "provisional");
    const delta = (seq: number, text: string) => ({
      provisional: true,
      type: "assistant/chunk",
      seq,
      data: { turn: 1, step: 1, chunk: { type: "text-delta", index: 0, text } },
    });
    expect(provisional.map(({ text }) => text)).toEqual(
      [delta(5, "Hel"), delta(6, "lo")].map((shown) => JSON.stringify(shown)),
    );
    expect(provisional.map(({ id }) => id)).toEqual([undefined, undefined]);
    expect(rig.log.length).toBeLessThanOrEqual(5);
    hold.release();
    await provider.end();
    const rest = await client.rest();
    expect(committed([...ahead, ...rest])).toEqual(stored(rig));
    expect(rig.log.at(5).data).toEqual(delta(5, "Hel").data);
    expect(rig.log.at(6).data).toEqual(delta(6, "lo").data);
  });

  test("of one that waits begins at once and has nothing of the Turns before and after it", async () => {
    const provider = new HeldProvider();
    await using rig = await AppRig.start({ provider });
    const clients = [];
    for (const id of ["a", "b", "c"]) clients.push(await SseClient.invoke(rig.url, id, `say ${id}`));
    provider.release();
    const streams = await Promise.all(clients.map((client) => client.rest()));
    const ends = [...rig.log].filter(({ type }) => type === "turn/end").map(({ seq }) => seq + 1);
    for (const [k, events] of streams.entries()) {
      expect(committed(events)).toEqual(stored(rig, k === 0 ? 0 : ends[k - 1], ends[k]));
      expect(events.at(-1)).toMatchObject({ event: "done", data: { turn: k + 1, message: "abc"[k] } });
    }
  });

  test("has comments when it is quiet, also while it waits, and they carry no id", async () => {
    const provider = new HeldProvider();
    await using rig = await AppRig.start({ provider, heartbeatMs: 5 });
    await using running = await SseClient.invoke(rig.url, "a", "say hello");
    await using waiting = await SseClient.invoke(rig.url, "b", "say hello");
    for (const client of [running, waiting]) for (let k = 0; k < 3; k += 1) await client.comment();
    expect(new Set([...running.comments, ...waiting.comments])).toEqual(new Set(["open", "heartbeat"]));
    provider.release();
    expect((await waiting.rest()).at(-1)).toMatchObject({ event: "done" });
  });
});

describe("what refuses an invocation before it is queued", () => {
  test.each([
    [400, "invalid-request", "a", "{"],
    [400, "invalid-request", "a", "{}"],
    [400, "invalid-request", "a%20b", SAY],
    [404, "unknown-route", "a/b", SAY],
    [409, "invocation-duplicate", "running", SAY],
    [413, "too-large", "a", " ".repeat(8 * 1024 * 1024 + 1)],
    [415, "unsupported-media-type", "a", SAY],
    [503, "no-route", "a", JSON.stringify({ input: "x", route: { provider: "x", model: "y" } })],
    [503, "queue-full", "a", SAY],
    [503, "closing", "a", SAY],
  ])("is a plain problem: %d %s", async (status, code, id, body) => {
    const provider = new HeldProvider();
    await using rig = await AppRig.start({ provider, capacity: code === "queue-full" ? 0 : 8 });
    await using running = await SseClient.invoke(rig.url, "running", "say hello");
    await provider.reached;
    if (code === "closing") {
      await rig.queue.close();
      expect((await running.rest()).at(-1)).toMatchObject({ event: "error", data: { code } });
    }
    const headers = status === 415 ? { ...SSE, "content-type": "text/plain" } : SSE;
    await expectProblem(await rig.post(body, headers, id), status, code);
    provider.release();
  });
});

describe("an invocation that fails ends its stream with what the plain answer would have been", () => {
  async function bothAnswers(rig: AppRig) {
    const plain = await rig.post(SAY, undefined, "plain");
    await using client = await SseClient.invoke(rig.url, "streamed", "say hello");
    const events = await client.rest();
    expect(events.filter(({ event }) => event === "error" || event === "done")).toHaveLength(1);
    expect(events.at(-1)?.event).toBe("error");
    expect(events.at(-1)?.text).toBe(await plain.text());
    return { status: plain.status, events };
  }

  test("of its provider", async () => {
    const error = new ProviderError("provider-auth", "The model said no", { hint: "Ask.", retryable: false });
    await using rig = await AppRig.start({ provider: failingProvider(error) });
    const { status, events } = await bothAnswers(rig);
    expect(status).toBe(502);
    expect(events.at(-2)).toMatchObject({ data: { type: "turn/end" } });
  });

  test("of a defect, which is reported once and not told", async () => {
    const error = new TypeError("cannot read /home/somebody");
    await using rig = await AppRig.start({ provider: failingProvider(error) });
    const { status, events } = await bothAnswers(rig);
    expect(status).toBe(500);
    expect(JSON.stringify(events)).not.toContain("somebody");
    expect(rig.reports).toEqual([error, error]);
  });

  test("of its store, with nothing that was lost", async () => {
    await using rig = await AppRig.start();
    rig.faults.outage(new StorageFullError({ path: "/home/somebody" }));
    const { status, events } = await bothAnswers(rig);
    expect(status).toBe(507);
    expect(events).toHaveLength(1);
    rig.faults.outage();
    expect((await rig.client.invoke("say again")).body).toMatchObject({ message: "again" });
  });

  test("of deltas that are lost: an event of another type under their seq says so", async () => {
    const provider = new PacedModel();
    await using rig = await AppRig.start({ provider });
    await using client = await SseClient.invoke(rig.url, "a", "hello");
    await provider.asked;
    rig.faults.failOnce(textDelta, new StorageFullError({}));
    await provider.say("lost");
    const shown = (await client.until(({ event }) => event === "provisional")).at(-1);
    const hold = rig.faults.holdOnce(ofType("step/end"));
    // The agent hears of the failure with the next delta, which is lost as well.
    await provider.say("lost, too");
    await hold.reached;
    hold.release();
    const after = await client.rest();
    expect(after.filter(({ event }) => event === "provisional")).toEqual([]);
    const [first] = after.filter(({ event }) => event === "event");
    expect(first?.id).toBeLessThanOrEqual(shown?.data.seq ?? -1);
    expect(after.filter(({ data }) => data.type === "assistant/chunk")).toEqual([]);
    expect(after.at(-1)).toMatchObject({ event: "error", data: { code: "storage-full", status: 507 } });
  });

  test("of being cancelled: running, with its aborted Turn, or queued, with nothing", async () => {
    const provider = new HeldProvider();
    await using rig = await AppRig.start({ provider });
    await using running = await SseClient.invoke(rig.url, "running", "say hello");
    await provider.reached;
    await using queued = await SseClient.invoke(rig.url, "queued", "say never");
    for (const id of ["queued", "running"]) expect((await rig.client.cancel(id)).status).toBe(202);
    const cancelled = { event: "error", data: { code: "invocation-cancelled", status: 409 } };
    expect(await queued.rest()).toMatchObject([cancelled]);
    const events = await running.rest();
    expect(events.at(-1)).toMatchObject(cancelled);
    expect(committed(events)).toEqual(stored(rig));
    expect(rig.log.at(rig.log.length - 1).data).toMatchObject({ reason: { kind: "aborted" } });
  });

  test("of the Host that closes", async () => {
    const provider = new HeldProvider();
    await using rig = await AppRig.start({ provider });
    await using running = await SseClient.invoke(rig.url, "running", "say hello");
    await provider.reached;
    await using queued = await SseClient.invoke(rig.url, "queued", "say never");
    await rig.queue.close();
    const closing = { event: "error", data: { code: "closing", status: 503 } };
    expect(await queued.rest()).toMatchObject([closing]);
    expect((await running.rest()).at(-1)).toMatchObject(closing);
  });
});

describe("a client that goes away", () => {
  test("does not cancel its Turn and leaves nothing behind", async () => {
    const provider = new PacedModel();
    await using rig = await AppRig.start({ provider });
    const client = await SseClient.invoke(rig.url, "a", "hello");
    await provider.say("one");
    await client.until(({ text }) => text.includes("one"));
    await poll("the stream to wait", async () => (rig.agent.live.waiting === 1 ? true : undefined));
    client.leave();
    await nobodyWaits(rig);
    await provider.say(" two");
    await provider.end();
    const end = await awaitEvent(rig.log, ofType("turn/end"));
    expect(end.data).toEqual({ turn: 1, reason: { kind: "completed" } });
    expect((await rig.client.read()).transcript.at(-1)).toMatchObject({ text: "one two" });
    expect(rig.agent.live.waiting).toBe(0);
    expect(rig.reports).toEqual([]);
  });

  test("while its invocation waits leaves nothing behind either, and the Turn is run", async () => {
    const provider = new HeldProvider();
    await using rig = await AppRig.start({ provider });
    await using running = await SseClient.invoke(rig.url, "a", "say one");
    const waiting = await SseClient.invoke(rig.url, "b", "say two");
    await poll("both to wait", async () => (rig.agent.live.waiting === 2 ? true : undefined));
    waiting.leave();
    await poll("one to leave", async () => (rig.agent.live.waiting === 1 ? true : undefined));
    provider.release();
    await running.rest();
    const next = await rig.client.invoke("say three", "c");
    expect(next.body).toMatchObject({ turn: 3 });
  });
});

test("line ends in stored JSON make lines of their own, which a client puts together again", () => {
  expect(serverSentEvent("event", '{\r\n"a":\r1,\n"b":2}', 7)).toBe(
    'id: 7\nevent: event\ndata: {\ndata: "a":\ndata: 1,\ndata: "b":2}\n\n',
  );
});
