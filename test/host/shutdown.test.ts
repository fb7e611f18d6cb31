import { describe, expect, test } from "bun:test";
import { isEvent } from "../../src/session/events.ts";
import { LockedError } from "../../src/store/errors.ts";
import { openSqlite } from "../../src/store/sqlite/index.ts";
import { awaitEvent } from "../fixtures/await-event.ts";
import { ofType } from "../fixtures/event-faults.ts";
import { type Answer, HostRig, SESSION_ID } from "../fixtures/host-rig.ts";
import { forever } from "../fixtures/model-replies.ts";
import {
  delta,
  heldReply,
  type Reply,
  sseReply,
  textReply,
  toolCallReply,
} from "../fixtures/provider-server.ts";
import { StubbornTool } from "../fixtures/test-tools.ts";

const CLOSING = { status: 503, code: "closing" };
const DISPOSED = { kind: "aborted", reason: { kind: "disposed" } };
/** Far below the drain timeout of the rig, far above what a shutdown takes. */
const SOON_MS = 3_000;

function brief({ status, body }: Answer) {
  return { status, code: body.code };
}

/** How long a shutdown takes, in milliseconds. */
async function timeToStop(rig: HostRig): Promise<number> {
  const start = performance.now();
  await rig.stop();
  return performance.now() - start;
}

/** The stored session as somebody finds it who opens the store now, and how its Turns ended. */
async function storedEnds(rig: HostRig) {
  await using store = await openSqlite({
    path: rig.config.sessionDb ?? "",
    clock: () => 0,
    chunkWindowMs: 0,
  });
  const { log, closers } = await store.inspect(SESSION_ID);
  const reasons: unknown[] = [...log].flatMap((event) =>
    isEvent(event, "turn/end") ? [event.data.reason] : [],
  );
  return { reasons, closers: closers.length, texts: [...log.texts()].join("\n") };
}

/** A client that began to read a large answer and then stopped. */
async function unreadAnswer(rig: HostRig): Promise<AsyncDisposable> {
  const title = "x".repeat(4_000_000);
  for (let k = 0; k < 8; k += 1) {
    await rig.host.agent.session.log.append({ type: "session/title", data: { title } });
  }
  const response = await fetch(`${rig.host.url}/api/v1/sessions/${SESSION_ID}`);
  const reader = response.body?.getReader();
  await reader?.read();
  return { [Symbol.asyncDispose]: async () => reader?.cancel().catch(() => undefined) };
}

describe("a shutdown with a Turn under way ends it in the log and tells the client", () => {
  test.each<[string, Reply]>([
    ["never answers", heldReply(forever(), textReply("too late"))],
    ["hangs in the middle of its answer", sseReply([delta({ content: "Half" }), forever()])],
  ])("a provider that %s", async (_, reply) => {
    await using rig = await HostRig.start({ replies: [reply] });
    const invocation = rig.invoke("go");
    await rig.server.request();
    expect(await timeToStop(rig)).toBeLessThan(SOON_MS);
    expect(brief(await invocation)).toEqual(CLOSING);
    expect(await storedEnds(rig)).toMatchObject({ reasons: [DISPOSED], closers: 0 });
  });

  test("a tool that ignores its signal", async () => {
    const stubborn = new StubbornTool();
    const call = toolCallReply({ id: "a", name: "stubborn", arguments: "{}" });
    await using rig = await HostRig.start({ tools: [stubborn.tool], replies: [call] });
    const invocation = rig.invoke("go");
    await stubborn.reached;
    expect(await timeToStop(rig)).toBeLessThan(SOON_MS);
    expect(brief(await invocation)).toEqual(CLOSING);
    const stored = await storedEnds(rig);
    expect(stored).toMatchObject({ reasons: [DISPOSED], closers: 0 });
    expect(stored.texts).toContain("TOOL_ABORTED");
    stubborn.release();
  });

  test("what was queued is told the same and leaves no trace", async () => {
    const stubborn = new StubbornTool();
    const call = toolCallReply({ id: "a", name: "stubborn", arguments: "{}" });
    await using rig = await HostRig.start({ tools: [stubborn.tool], replies: [call] });
    const running = rig.invoke("running");
    await stubborn.reached;
    const waiting = [await rig.queue("waiting", "w1"), await rig.queue("waiting", "w2")];
    await rig.stop();
    expect((await Promise.all([running, ...waiting.map(({ answer }) => answer)])).map(brief)).toEqual([
      CLOSING,
      CLOSING,
      CLOSING,
    ]);
    const { reasons, texts } = await storedEnds(rig);
    expect(reasons).toEqual([DISPOSED]);
    expect(texts).not.toContain("waiting");
    stubborn.release();
  });

  test("the next start goes on from there", async () => {
    await using rig = await HostRig.start({ replies: [sseReply([delta({ content: "Half" }), forever()])] });
    const invocation = rig.invoke("go");
    await awaitEvent(rig.host.agent.session.log, ofType("assistant/chunk"));
    await rig.restart();
    await invocation;
    rig.server.script(textReply("back"));
    expect((await rig.invoke("still there?")).body).toMatchObject({ turn: 2, message: "back" });
  });
});

describe("the order of a shutdown", () => {
  test("the Turn ends while HTTP still answers; the store and its lock go last", async () => {
    await using rig = await HostRig.start({ replies: [heldReply(forever(), textReply("too late"))] });
    const { url } = rig.host;
    const running = rig.invoke("go");
    await rig.server.request();
    const hold = rig.faults.holdOnce(ofType("turn/end"));
    const stopped = rig.stop();
    await hold.reached;

    expect(brief(await rig.get("/readyz"))).toEqual(CLOSING);
    expect(brief(await rig.invoke("late"))).toEqual(CLOSING);
    expect((await rig.get("/healthz")).status).toBe(200);
    expect((await rig.readSession()).status).toBe(200);
    const path = rig.config.sessionDb ?? "";
    const options = { path, clock: () => 0, chunkWindowMs: 0 };
    await expect(openSqlite(options)).rejects.toBeInstanceOf(LockedError);

    hold.release();
    await stopped;
    expect(brief(await running)).toEqual(CLOSING);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
    await (await openSqlite(options)).close();
  });

  test("a disk that is slower than the drain timeout: the client is cut off, nothing that was saved is lost", async () => {
    await using rig = await HostRig.start({ config: { drainTimeoutMs: 100 }, replies: [textReply("hello")] });
    const { url } = rig.host;
    const hold = rig.faults.holdOnce(ofType("turn/end"));
    const running = rig.invoke("go").then(brief, () => "cut off");
    await hold.reached;
    const stopped = rig.stop();
    expect(await running).toBe("cut off");
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
    hold.release();
    await stopped;
    const { reasons, closers } = await storedEnds(rig);
    expect([reasons, closers]).toEqual([[{ kind: "completed" }], 0]);
  });

  test("connections that are only kept alive hold nothing up", async () => {
    await using rig = await HostRig.start();
    await Promise.all(Array.from({ length: 8 }, () => rig.get("/healthz")));
    expect(await timeToStop(rig)).toBeLessThan(SOON_MS);
  });

  test("a client that does not read its answer is cut off at the drain timeout", async () => {
    await using rig = await HostRig.start({ config: { drainTimeoutMs: 200 } });
    await using _client = await unreadAnswer(rig);
    expect(await timeToStop(rig)).toBeLessThan(SOON_MS);
  });

  test("a clock that is set back does not make the drain longer", async () => {
    await using rig = await HostRig.start({ config: { drainTimeoutMs: 200 } });
    await using _client = await unreadAnswer(rig);
    rig.counters.setBack(3_600_000);
    expect(await timeToStop(rig)).toBeLessThan(SOON_MS);
  });

  test("twice is once", async () => {
    await using rig = await HostRig.start({ replies: [textReply("hello")] });
    const { host } = rig;
    await rig.invoke("hi");
    await Promise.all([host[Symbol.asyncDispose](), host[Symbol.asyncDispose]()]);
    await host[Symbol.asyncDispose]();
  });
});
