import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { hangingReply } from "../fixtures/conversation.ts";
import type { CrashHostOptions } from "../fixtures/crash-host.ts";
import { DURABLE_STORES, HostLab } from "../fixtures/host-lab.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { forever } from "../fixtures/model-replies.ts";
import { delta, finish, heldReply, sseReply, textReply, toolCallReply } from "../fixtures/provider-server.ts";
import { readSlowly } from "../fixtures/slow-reader.ts";
import { committed, SseClient } from "../fixtures/sse-client.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

/** Far below the drain timeout, far above what a shutdown takes. */
const SOON_MS = 5_000;
const DISPOSED = { type: "turn/end", data: { reason: { kind: "aborted", reason: { kind: "disposed" } } } };

/** The types of the events that a store has of the session, as the next Host sees them. */
async function eventsAfter(lab: HostLab) {
  const next = await lab.start();
  return (await next.client.read()).events;
}

describe.each(DURABLE_STORES)("a Turn that is streamed, on %s,", (kind) => {
  test("shows each delta as the provider sends it, long before it is durable, and each event once", async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await using lab = await HostLab.on(
      kind,
      sseReply([
        ...[delta({ content: "Hel" }), gates[0]?.promise ?? forever()],
        ...[delta({ content: "lo \u{1F9C0}" }), gates[1]?.promise ?? forever()],
        finish("stop"),
      ]),
    );
    // The last one counts: deltas wait a minute for company.
    const host = await lab.start({ args: ["--chunk-window", "60000"] });
    await using client = await SseClient.invoke(host.url, "a", "hello");
    const shown = [];
    for (const [k, text] of ["Hel", "lo \u{1F9C0}"].entries()) {
      const events = await client.until(({ event }) => event === "provisional");
      shown.push(events.at(-1)?.data);
      expect(shown[k]).toMatchObject({ data: { chunk: { type: "text-delta", text } } });
      gates[k]?.resolve();
    }
    const rest = await client.rest();
    const session = await host.client.read();
    for (const event of shown) {
      const { type, seq, data } = event ?? {};
      expect(session.events[seq ?? -1]).toMatchObject({ type, seq, data } as object);
    }
    expect(rest.at(-1)).toMatchObject({ event: "done", data: { turn: 1, message: "Hello \u{1F9C0}" } });
    await using all = await SseClient.follow(host.url);
    const events = await all.until(({ id }) => id === session.nextSeq - 1);
    expect(committed(events).map(({ text }) => JSON.parse(text))).toEqual(session.events);
  });

  test("can be followed from where it was left, also by another Host after a crash", async () => {
    await using lab = await HostLab.on(kind, hangingReply("one", "two"));
    const host = await lab.start();
    const invocation = await SseClient.invoke(host.url, "a", "hello");
    await using client = await SseClient.follow(host.url);
    const before = await client.until(({ event, text }) => event === "event" && text.includes('"two"'));
    const last = committed(before).at(-1)?.id ?? -1;
    await host.stop("SIGKILL");
    invocation.leave();
    lab.server.script(textReply("three"));
    const next = await lab.start();
    await using again = await SseClient.follow(next.url, last);
    await next.client.invoke("go on");
    const after = await again.until(({ data }) => data.type === "turn/end");
    const more = await again.until(({ data }) => data.type === "turn/end");
    const ids = committed([...before, ...after, ...more]).map(({ id }) => id);
    expect(ids).toEqual(ids.map((_, seq) => seq));
    expect((await next.client.read()).nextSeq).toBe(ids.length);
  });
});

describe("SIGTERM", () => {
  test("with a hung provider and a hundred open streams: each one is told, and the Turn is closed", async () => {
    await using lab = await HostLab.create(heldReply(forever(), textReply("too late")));
    const host = await lab.start({ args: ["--drain-timeout", "20"] });
    const running = await SseClient.invoke(host.url, "running", "hello");
    await lab.server.request(0);
    const queued = await Promise.all(
      Array.from({ length: 49 }, (_, k) => SseClient.invoke(host.url, `queued-${k}`, "and then?")),
    );
    const following = await Promise.all(Array.from({ length: 50 }, () => SseClient.follow(host.url)));
    const start = performance.now();
    host.kill("SIGTERM");
    const invocations = await Promise.all([running, ...queued].map((client) => client.rest()));
    const sessions = await Promise.all(following.map((client) => client.rest()));
    expect(await host.exited).toEqual({ code: 143 });
    expect(performance.now() - start).toBeLessThan(SOON_MS);

    const closing = { event: "error", data: { code: "closing", status: 503 } };
    for (const events of invocations) expect(events.at(-1)).toMatchObject(closing);
    for (const events of invocations.slice(1)) expect(events).toHaveLength(1);
    for (const events of sessions) {
      expect(events.at(-2)?.data).toMatchObject(DISPOSED);
      expect(events.at(-1)).toMatchObject({ event: "end", data: { reason: "closing" } });
    }
    const events = await eventsAfter(lab);
    expect(events.at(-1)).toMatchObject(DISPOSED);
    expect(committed(sessions[0] ?? [])).toHaveLength(events.length);
    expect(events.filter(({ type }) => type === "turn/start")).toHaveLength(1);
  });

  test("with a tool that ignores its signal: its client is told, and its call has a result", async () => {
    const call = toolCallReply({ id: "c", name: "endless", arguments: '{"text":"c"}' });
    await using lab = await HostLab.create(call);
    const options: CrashHostOptions = {
      sessionDb: lab.store,
      workspace: lab.folder.at("workspace"),
      baseUrl: lab.server.baseUrl,
      runs: lab.folder.at("runs"),
    };
    const script = join(import.meta.dir, "..", "fixtures", "crash-host.ts");
    await using host = await HostProcess.start({
      command: [process.execPath, script, JSON.stringify(options)],
    });
    await using client = await SseClient.invoke(host.url, "a", "hello");
    const plain = host.client.invoke("and then?", "plain");
    await host.stdout.waitFor(/held/);
    const start = performance.now();
    host.kill("SIGTERM");
    const events = await client.rest();
    expect(events.at(-1)).toMatchObject({ event: "error", data: { code: "closing" } });
    expect(await plain).toMatchObject({ status: 503, body: { code: "closing" } });
    expect(await host.exited).toEqual({ code: 143 });
    expect(performance.now() - start).toBeLessThan(SOON_MS);
    const stored = await eventsAfter(lab);
    expect(stored.at(-1)).toMatchObject(DISPOSED);
    const results = stored.filter(({ type }) => type === "tool/result");
    expect(results).toMatchObject([{ data: { error: { code: "TOOL_ABORTED" } } }]);
  });

  test("with streams that nobody reads: they are cut off, within the drain timeout", async () => {
    await using lab = await HostLab.create(textReply("x".repeat(4_000_000)));
    const host = await lab.start({ args: ["--drain-timeout", "2"] });
    await host.client.invoke("hello");
    using readers = new DisposableStack();
    for (let k = 0; k < 10; k += 1) {
      const path = "/api/v1/sessions/default/events";
      await readers.use(await readSlowly(host.url, path, "text/event-stream")).begun;
    }
    const start = performance.now();
    expect(await host.stop("SIGTERM")).toEqual({ code: 143 });
    expect(performance.now() - start).toBeLessThan(SOON_MS);
  });
});
