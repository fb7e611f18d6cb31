import { describe, expect, test } from "bun:test";
import { createParser } from "eventsource-parser";
import { LiveFeed, type LiveFollower } from "../../src/agent/live-feed.ts";
import { eventStream } from "../../src/routes/event-stream.ts";
import { AppRig } from "../fixtures/app-rig.ts";
import { awaitEvent } from "../fixtures/await-event.ts";
import { turnStart } from "../fixtures/event-drafts.ts";
import { ofType } from "../fixtures/event-faults.ts";
import { drained, HeldSink } from "../fixtures/held-sink.ts";
import { PacedModel } from "../fixtures/paced-model.ts";

/** A stream over a log whose commits happen when the test says so, and how often its follower was asked. */
class Rig {
  readonly sink = new HeldSink();
  readonly feed = new LiveFeed(this.sink.log);
  readonly reports: unknown[] = [];
  readonly client = new AbortController();
  readonly #follower: LiveFollower;
  readonly reader: Pick<ReadableStreamDefaultReader<Uint8Array>, "cancel"> & {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  };
  taken = 0;

  constructor(heartbeatMs = 60_000, take?: LiveFollower["take"], signal = this.client.signal) {
    const inner = this.feed.follow(0);
    this.#follower = {
      take: (maxLength) => {
        this.taken += 1;
        return (take ?? inner.take)(maxLength);
      },
      hasMore: () => inner.hasMore(),
      get ended() {
        return inner.ended;
      },
      changed: (signal) => inner.changed(signal),
    };
    const request = new Request("http://localhost/", { signal });
    const { body } = eventStream(
      {
        follower: this.#follower,
        last: async () => "event: end\ndata: {}\n\n",
        heartbeatMs,
        report: (error) => void this.reports.push(error),
      },
      request,
    );
    if (body === null) throw new Error("no body");
    this.reader = body.getReader();
  }

  append(turn: number): void {
    this.sink.log.append(turnStart(turn)).catch(() => undefined);
    this.sink.commit();
  }

  async read(): Promise<string | undefined> {
    const { value, done } = await this.reader.read();
    return done ? undefined : new TextDecoder().decode(value);
  }
}

describe("an event stream", () => {
  test("takes nothing ahead of its reader, however much happens", async () => {
    const rig = new Rig(1);
    expect(await rig.read()).toBe(": open\n\n");
    for (let turn = 1; turn <= 1_000; turn += 1) rig.append(turn);
    await drained();
    expect([rig.taken, rig.feed.waiting]).toEqual([0, 0]);
    const text = (await rig.read()) ?? "";
    expect(text.match(/^id: /gm)?.length).toBe(1_000);
    expect(rig.taken).toBe(1);
  });

  test("gives large logs in pieces, with other work in between", async () => {
    const rig = new Rig();
    for (let turn = 1; turn <= 5_000; turn += 1) rig.append(turn);
    await rig.read();
    let others = 0;
    let pieces = 0;
    for (let seen = 0; seen < 5_000; pieces += 1) {
      setImmediate(() => (others += 1));
      const text = (await rig.read()) ?? "";
      expect(text.length).toBeLessThan(256 * 1024);
      seen += text.match(/^id: /gm)?.length ?? 0;
    }
    expect(pieces).toBeGreaterThan(3);
    expect(others).toBeGreaterThanOrEqual(pieces - 1);
  });

  test.each(["cancels", "is cut off"])("leaves nothing behind when its client %s", async (how) => {
    const rig = new Rig(1);
    await rig.read();
    const pending = rig.read().catch(() => undefined);
    await drained();
    expect(rig.feed.waiting).toBe(1);
    if (how === "cancels") await rig.reader.cancel();
    else rig.client.abort();
    await pending;
    await drained();
    const { taken } = rig;
    rig.append(1);
    await drained();
    expect([rig.feed.waiting, rig.taken]).toEqual([0, taken]);
    expect(rig.reports).toEqual([]);
  });

  test("of a client that was gone before it began ends at once", async () => {
    const rig = new Rig(60_000, undefined, AbortSignal.abort());
    expect(await rig.read()).toBeUndefined();
    expect([rig.feed.waiting, rig.taken]).toEqual([0, 0]);
  });

  test("says its last event once, after everything else, and ends", async () => {
    const rig = new Rig();
    await rig.read();
    rig.append(1);
    rig.feed.close();
    expect(await rig.read()).toContain("id: 0\n");
    expect(await rig.read()).toBe("event: end\ndata: {}\n\n");
    expect(await rig.read()).toBeUndefined();
  });

  test("that breaks says so, without a word of why, and is reported", async () => {
    const error = new Error("at /home/somebody");
    const rig = new Rig(1, () => {
      throw error;
    });
    await rig.read();
    const last = await rig.read();
    expect(last).toStartWith('event: error\ndata: {"type":"about:blank"');
    expect(last).toContain('"code":"internal"');
    expect(last).not.toContain("somebody");
    expect(await rig.read()).toBeUndefined();
    expect(rig.reports).toEqual([error]);
  });

  test("has a comment for each time that it was quiet for so long, not sooner for changes that bring nothing", async () => {
    const rig = new Rig(20);
    await rig.read();
    const start = performance.now();
    const noise = setInterval(() => rig.feed.wake(), 1);
    for (let k = 0; k < 3; k += 1) expect(await rig.read()).toBe(": heartbeat\n\n");
    clearInterval(noise);
    expect(performance.now() - start).toBeGreaterThan(50);
  });
});

test("a reader that stops does not hold the Turn back, and misses no event when it goes on", async () => {
  const provider = new PacedModel();
  await using rig = await AppRig.start({ provider });
  const received: Uint8Array[] = [];
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  let paused = true;
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port: Number(new URL(rig.url).port),
    socket: {
      data(open, bytes) {
        received.push(Uint8Array.from(bytes));
        if (paused) open.pause();
        begun.resolve();
        if (Buffer.from(bytes).includes("\r\n0\r\n\r\n")) ended.resolve();
      },
    },
  });
  const body = '{"input":"hello"}';
  socket.write(
    `POST /api/v1/agent/invocations/a HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await begun.promise;
  const deltas = 600;
  for (let k = 0; k < deltas; k += 1) {
    await provider.say("x".repeat(8_000));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await provider.end();
  await awaitEvent(rig.log, ofType("turn/end"));
  // A whole exchange with somebody else, while that one does not read.
  expect((await rig.fetch("/healthz")).status).toBe(200);
  paused = false;
  socket.resume();
  await ended.promise;
  socket.terminate();

  const counts = { event: 0, provisional: 0, done: 0 };
  const ids: number[] = [];
  const parser = createParser({
    onEvent: ({ event, id }) => {
      if (event === "event" || event === "provisional" || event === "done") counts[event] += 1;
      if (id !== undefined) ids.push(Number(id));
    },
  });
  const text = Buffer.concat(received).toString();
  parser.feed(text.slice(text.indexOf("\r\n\r\n") + 2).replaceAll(/\r\n[0-9a-f]+\r\n/g, ""));
  expect(ids).toEqual(Array.from({ length: rig.log.length }, (_, seq) => seq));
  expect(counts).toMatchObject({ event: rig.log.length, done: 1 });
  expect(counts.provisional).toBeLessThan(deltas / 2);
}, 20_000);
