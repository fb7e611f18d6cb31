import { describe, expect, test } from "bun:test";
import { AppRig, HeldProvider } from "../fixtures/app-rig.ts";
import { turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { textDelta } from "../fixtures/event-faults.ts";
import { PacedModel } from "../fixtures/paced-model.ts";
import { poll } from "../fixtures/poll.ts";
import { expectProblem } from "../fixtures/problem.ts";
import { committed, SseClient } from "../fixtures/sse-client.ts";

const EVENTS = "/api/v1/sessions/default/events";

function seqs(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, k) => from + k);
}

/** A session of one Turn. */
async function grown(options: Parameters<typeof AppRig.start>[0] = {}): Promise<AppRig> {
  const rig = await AppRig.start(options);
  await rig.client.invoke("say hello");
  return rig;
}

describe("the events of a session", () => {
  test("are lines of JSON, as stored", async () => {
    await using rig = await grown();
    const response = await rig.fetch(EVENTS);
    expect(response.headers.get("content-type")).toBe("application/x-ndjson");
    expect(await response.text()).toBe([...rig.log.texts()].map((text) => `${text}\n`).join(""));
  });

  test("are those after a seq when one is named; after the last one there is nothing yet", async () => {
    await using rig = await grown();
    const last = rig.log.length - 1;
    for (const [place, from] of [
      [{ path: `${EVENTS}?after=3`, headers: {} }, 4],
      [{ path: EVENTS, headers: { "last-event-id": "5" } }, 6],
      [{ path: `${EVENTS}?after=3`, headers: { "last-event-id": "0" } }, 1],
      [{ path: `${EVENTS}?after=3`, headers: { "last-event-id": "" } }, 4],
      [{ path: `${EVENTS}?after=${last}`, headers: {} }, last + 1],
    ] as const) {
      const text = await (await rig.fetch(place.path, { headers: place.headers })).text();
      const expected = [...rig.log.texts(from)].map((line) => `${line}\n`).join("");
      expect(text).toBe(expected);
    }
  });

  test.each([
    ["?after=", {}],
    ["?after=-1", {}],
    ["?after=1.5", {}],
    ["?after=01", {}],
    ["?after=1e1", {}],
    ["?after=x", {}],
    ["?after=1&after=2", {}],
    ["?after=99999999999999999999", {}],
    ["?after=9999999999999999", {}],
    ["?after=1000", {}],
    ["?from=1", {}],
    ["", { "last-event-id": "x" }],
    ["", { "last-event-id": "-1" }],
    ["", { "last-event-id": "1000" }],
    ["?after=1", { "last-event-id": "1000" }],
  ])("are refused for %s %p, also as a stream", async (query, headers) => {
    await using rig = await grown();
    for (const accept of ["*/*", "text/event-stream"]) {
      const response = await rig.fetch(EVENTS + query, { headers: { ...headers, accept } });
      await expectProblem(response, 400, "invalid-request");
    }
  });

  test("are those of the active session only", async () => {
    await using rig = await grown();
    for (const accept of ["*/*", "text/event-stream"]) {
      const response = await rig.fetch("/api/v1/sessions/other/events", { headers: { accept } });
      await expectProblem(response, 404, "not-found");
    }
  });

  test("of a long session come in pieces, while others are answered", async () => {
    await using rig = await AppRig.start();
    await rig.log.append(turnStart(1));
    await rig.log.appendAll(
      Array.from({ length: 4_000 }, (_, k) => userMessage("x".repeat(1_000), `id-${k}`)),
    );
    await rig.log.append(turnEnd(1));
    const response = await rig.fetch(EVENTS);
    expect(response.headers.get("content-length")).toBeNull();
    expect((await response.text()).split("\n")).toHaveLength(4_003);
  });
});

describe("the live stream of a session", () => {
  test("has each event once, those that are there and those that come", async () => {
    await using rig = await grown();
    await using client = await SseClient.follow(rig.url);
    const before = rig.log.length;
    const first = await client.until(({ id }) => id === before - 1);
    await rig.client.invoke("say again");
    const second = await client.until(({ id }) => id === rig.log.length - 1);
    expect(committed([...first, ...second])).toEqual([...rig.log.texts()].map((text, id) => ({ id, text })));
  });

  test("goes on after Last-Event-ID, at any place, with nothing twice", async () => {
    const provider = new PacedModel();
    await using rig = await AppRig.start({ provider });
    const running = rig.client.invoke("hello");
    await provider.say("a");
    let last = -1;
    const seen: number[] = [];
    for (const text of ["b", "c", "d"]) {
      await using client = await SseClient.follow(rig.url, last < 0 ? undefined : last);
      await provider.say(text);
      const events = await client.until(
        (event) => event.event === "event" && event.text.includes(`"${text}"`),
      );
      seen.push(...committed(events).map(({ id }) => id));
      last = seen.at(-1) ?? -1;
    }
    await provider.end();
    await running;
    await using client = await SseClient.follow(rig.url, last);
    seen.push(...committed(await client.until(({ data }) => data.type === "turn/end")).map(({ id }) => id));
    expect(seen).toEqual(seqs(0, rig.log.length));
  });

  test("shows deltas ahead of their commit", async () => {
    const provider = new PacedModel();
    await using rig = await AppRig.start({ provider });
    const running = rig.client.invoke("hello");
    await provider.asked;
    await using client = await SseClient.follow(rig.url);
    const hold = rig.faults.holdOnce(textDelta);
    await provider.say("soon");
    const events = await client.until(({ event }) => event === "provisional");
    expect(events.at(-1)).toMatchObject({ data: { provisional: true, seq: 5, data: { turn: 1, step: 1 } } });
    expect(rig.log.length).toBeLessThanOrEqual(5);
    hold.release();
    await provider.end();
    await running;
  });

  test("stays open while nothing happens: comments come, and carry no id", async () => {
    await using rig = await AppRig.start({ heartbeatMs: 5 });
    await using client = await SseClient.follow(rig.url);
    for (let k = 0; k < 5; k += 1) expect(["open", "heartbeat"]).toContain(await client.comment());
    await rig.client.invoke("say hello");
    expect((await client.next())?.id).toBe(0);
  });

  test("ends with a mark when the Host closes, after all that was to be said", async () => {
    const provider = new HeldProvider();
    await using rig = await AppRig.start({ provider });
    await using client = await SseClient.follow(rig.url);
    const running = rig.client.invoke("hello");
    await provider.reached;
    await rig.queue.close();
    rig.agent.live.close();
    await running;
    const events = await client.rest();
    expect(committed(events)).toHaveLength(rig.log.length);
    expect(events.at(-2)).toMatchObject({ data: { type: "turn/end" } });
    expect(events.at(-1)).toEqual({
      event: "end",
      data: { reason: "closing" },
      text: '{"reason":"closing"}',
    });
  });

  test("of hundreds that vanish leaves nobody waiting", async () => {
    const provider = new PacedModel();
    await using rig = await AppRig.start({ provider });
    await using stays = await SseClient.invoke(rig.url, "a", "hello");
    await provider.say("one");
    await stays.until(({ text }) => text.includes("one"));
    for (let round = 0; round < 5; round += 1) {
      const open = (k: number) =>
        k % 2 === 0 ? SseClient.follow(rig.url) : SseClient.invoke(rig.url, `${round}-${k}`, "say x");
      const clients = await Promise.all(Array.from({ length: 100 }, (_, k) => open(k)));
      await poll("all to follow", async () => (rig.agent.live.waiting > 100 ? true : undefined));
      for (const client of clients) client.leave();
      await poll("all to leave", async () => (rig.agent.live.waiting <= 1 ? true : undefined));
      for (let k = 1; k < 100; k += 2) await rig.client.cancel(`${round}-${k}`);
    }
    await provider.end();
    expect((await stays.rest()).at(-1)).toMatchObject({ event: "done", data: { message: "one" } });
    expect(rig.agent.live.waiting).toBe(0);
    expect(rig.reports).toEqual([]);
  });
});
