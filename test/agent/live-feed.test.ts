import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { LiveFeed, type LiveFollower, type LiveItem } from "../../src/agent/live-feed.ts";
import { isEvent, type SessionEvent } from "../../src/session/events.ts";
import { drained, HeldSink, state } from "../fixtures/held-sink.ts";
import { LiveProducer } from "../fixtures/live-producer.ts";

const ANY = Number.POSITIVE_INFINITY;
const AT = { turn: 1, step: 1 };

/** Holds what it sees to what a follower promises, and keeps what a client would have on its screen. */
class Client {
  readonly follower: LiveFollower;
  readonly from: number;
  readonly events: SessionEvent[] = [];
  /** Deltas that were shown and have not come as events yet, by seq. */
  readonly shown = new Map<number, string>();

  constructor(feed: LiveFeed, from: number) {
    this.follower = feed.follow(from);
    this.from = from;
  }

  take(maxLength: number): number {
    const items = this.follower.take(maxLength);
    for (const item of items) this.#see(item);
    return items.length;
  }

  #see(item: LiveItem): void {
    const next = this.from + this.events.length;
    if (item.kind === "provisional") {
      const { seq, chunk: delta } = item.delta;
      expect(seq).toBeGreaterThanOrEqual(next);
      expect(seq).toBeGreaterThan(Math.max(-1, ...this.shown.keys()));
      this.shown.set(seq, delta.type === "text-delta" ? delta.text : "");
      return;
    }
    expect(item.seq).toBe(next);
    const event: SessionEvent = JSON.parse(item.text);
    this.events.push(event);
    const shown = this.shown.get(event.seq);
    this.shown.delete(event.seq);
    if (isEvent(event, "assistant/chunk")) {
      if (shown !== undefined) expect(event.data.chunk).toMatchObject({ type: "text-delta", text: shown });
    } else this.shown.clear();
  }
}

type Command =
  | { readonly kind: "delta" | "quiet" | "end" | "fail" | "settle" | "breathe" }
  | { readonly kind: "commit" | "join"; readonly count: number }
  | { readonly kind: "take"; readonly client: number; readonly room: number };

function one(...kinds: ReadonlyArray<"delta" | "quiet" | "end" | "fail" | "settle" | "breathe">) {
  return fc.constantFrom(...kinds).map((kind): Command => ({ kind }));
}

function counted(kind: "commit" | "join", max: number) {
  return fc.integer({ min: 1, max }).map((count): Command => ({ kind, count }));
}

const taking = fc.record({
  kind: fc.constant("take" as const),
  client: fc.nat(2),
  room: fc.constantFrom(1, 300, ANY),
});

const commands = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: one("delta") },
    { weight: 1, arbitrary: one("quiet", "breathe") },
    { weight: 2, arbitrary: one("end", "fail", "settle") },
    { weight: 3, arbitrary: counted("commit", 8) },
    { weight: 1, arbitrary: counted("join", 20) },
    { weight: 4, arbitrary: taking },
  ),
  { maxLength: 60, size: "max" },
);

describe("followers", () => {
  test("see every durable event once and in order, and deltas only ahead of their commit, whatever happens when", async () => {
    const run = async (steps: readonly Command[]) => {
      const producer = new LiveProducer();
      const { feed, sink } = producer;
      const clients = [0, 1, 2].map(() => new Client(feed, 0));
      const leave = new AbortController();
      const eager = new Client(feed, 0);
      const following = follow(eager, leave.signal);
      for (const step of steps) {
        if (step.kind === "commit") producer.commit(step.count);
        else if (step.kind === "take") clients[step.client]?.take(step.room);
        else if (step.kind === "join") clients.push(new Client(feed, Math.min(step.count, sink.log.length)));
        else if (step.kind === "breathe") await drained();
        else producer[step.kind]();
      }
      producer.end();
      producer.commit(ANY);
      producer.settle();
      await drained();
      for (const client of clients) while (client.take(200) > 0);
      for (const client of [...clients, eager]) {
        expect(client.events).toEqual(sink.log.slice(client.from));
        expect([...client.shown.keys()]).toEqual([]);
        expect(client.follower.hasMore()).toBe(false);
      }
      expect(feed.waiting).toBe(1);
      leave.abort();
      await following;
      expect(feed.waiting).toBe(0);
    };
    await fc.assert(fc.asyncProperty(commands, run), {
      numRuns: 400,
    });
  });

  /** Takes whatever there is as soon as it is there. */
  async function follow(client: Client, signal: AbortSignal): Promise<void> {
    for (;;) {
      while (client.follower.hasMore()) expect(client.take(ANY)).toBeGreaterThan(0);
      try {
        await client.follower.changed(signal);
      } catch {
        return;
      }
    }
  }
});

describe("deltas", () => {
  function streaming(deltas: number): LiveProducer {
    const producer = new LiveProducer();
    for (let k = 0; k < deltas; k += 1) producer.delta();
    return producer;
  }

  test("that are lost are shown to nobody afterwards, though the log is still shorter than their seqs", () => {
    const producer = streaming(5);
    producer.fail();
    producer.end();
    producer.commit(ANY);
    const late = producer.feed.follow(0).take(ANY);
    expect(late.map(({ kind }) => kind)).toEqual(["event", "event", "event"]);
  });

  test("that are lost while the store takes nothing are gone when the Turn is", () => {
    const producer = streaming(5);
    producer.fail();
    producer.settle();
    expect(producer.feed.follow(0).take(ANY)).toHaveLength(1);
  });

  test("that come again under the seq of lost ones are seen", () => {
    const producer = streaming(5);
    const follower = producer.feed.follow(0);
    follower.take(ANY);
    producer.fail();
    producer.end();
    producer.commit(ANY);
    follower.take(ANY);
    producer.delta();
    expect(follower.hasMore()).toBe(true);
    expect(follower.take(ANY).at(-1)).toMatchObject({ kind: "provisional", delta: { step: 2 } });
  });

  test("are skipped by a follower that has durable events to read first", () => {
    const producer = streaming(3);
    producer.commit(ANY);
    producer.delta();
    const follower = producer.feed.follow(0);
    expect(follower.take(1)).toHaveLength(1);
    expect(follower.take(ANY).map(({ kind }) => kind)).toEqual(["event", "event", "event", "provisional"]);
  });

  test("come a part at a time where many are on their way, as events do", () => {
    const producer = streaming(20);
    const follower = producer.feed.follow(1);
    const parts = [];
    while (follower.hasMore()) parts.push(follower.take(16).length);
    expect(parts.length).toBeGreaterThan(3);
    expect(parts.reduce((sum, part) => sum + part)).toBe(20);
  });

  test("cost about the same each, however many are on their way", () => {
    const feed = new LiveFeed(new HeldSink().log);
    const follower = feed.follow(0);
    for (let seq = 0; seq < 50_000; seq += 1) {
      feed.offer({ ...AT, seq, chunk: { type: "text-delta", index: 0, text: "x" } });
      if (follower.take(ANY).length !== 1 || follower.hasMore()) throw new Error(`wrong at ${seq}`);
    }
  }, 2_000);
});

describe("waiting", () => {
  test("ends at once when there is something already", async () => {
    const producer = new LiveProducer();
    const follower = producer.feed.follow(0);
    producer.delta();
    expect(await state(follower.changed())).toBe("resolved");
    expect(producer.feed.waiting).toBe(0);
  });

  test("goes on through changes that bring nothing new", async () => {
    const producer = new LiveProducer();
    const follower = producer.feed.follow(0);
    const changed = follower.changed();
    producer.feed.wake();
    expect(await state(changed)).toBe("pending");
    producer.delta();
    expect(await state(changed)).toBe("resolved");
  });

  test("of one that leaves is given up, and leaves nothing behind", async () => {
    const { feed } = new LiveProducer();
    const leave = new AbortController();
    const changed = feed.follow(0).changed(leave.signal);
    expect(feed.waiting).toBe(1);
    leave.abort();
    expect(await state(changed)).toBe("rejected");
    expect(feed.waiting).toBe(0);
  });

  test("ends when the feed is closed; the follower has ended once it took what was left", async () => {
    const producer = new LiveProducer();
    const follower = producer.feed.follow(0);
    producer.delta();
    producer.commit(ANY);
    producer.feed.close();
    expect(await state(follower.changed())).toBe("resolved");
    expect(follower.ended).toBe(false);
    follower.take(ANY);
    expect(follower.ended).toBe(true);
    expect(await state(follower.changed())).toBe("resolved");
  });
});
