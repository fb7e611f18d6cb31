import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { EventDraft } from "../../src/session/events.ts";
import { type EventSink, SessionLog } from "../../src/session/log.ts";
import { type EncodedEvent, packBatch } from "../../src/session/records.ts";
import { arbitrarySession, batchSizes, inBatches, toEvents } from "../fixtures/arbitraries.ts";
import { textDelta, turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { viewOf } from "../fixtures/logs.ts";

const AT = { turn: 1, step: 1 };
const NOW = 1_000;
const DISK_FULL = new Error("the disk is full");

/** A store in memory whose commits happen when the test says so. */
class HeldSink implements EventSink {
  generation = 0;
  nextSeq = 0;
  #durable = 0;
  #waiting: Array<{ events: readonly EncodedEvent[]; settle: PromiseWithResolvers<void> }> = [];
  readonly #room = Promise.withResolvers<void>();
  readonly log: SessionLog = new SessionLog({ version: 0, id: "s", createdAt: 0 }, [], this, () => NOW);

  constructor(full = false) {
    if (!full) this.makeRoom();
  }

  submit(events: readonly EncodedEvent[]): Promise<void> {
    for (const { event } of events) {
      expect(event.seq).toBe(this.nextSeq);
      this.nextSeq += 1;
    }
    const settle = Promise.withResolvers<void>();
    this.#waiting.push({ events, settle });
    return settle.promise;
  }

  writable(): Promise<void> {
    return this.#room.promise;
  }

  makeRoom(): void {
    this.#room.resolve();
  }

  /** Makes all that waits durable in one commit. */
  commit(): void {
    const waiting = this.#waiting.splice(0);
    const events = waiting.flatMap((item) => item.events);
    this.#durable += events.length;
    this.log.publish(packBatch(events));
    for (const { settle } of waiting) settle.resolve();
  }

  /** Loses all that waits. */
  fail(error: Error): void {
    this.generation += 1;
    this.nextSeq = this.#durable;
    for (const { settle } of this.#waiting.splice(0)) settle.reject(error);
  }
}

/** Everything that can run without a further commit has run. */
function drained(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** How a promise stands once everything that can run has run. */
async function state(promise: Promise<unknown>): Promise<string> {
  let now = "pending";
  promise.then(
    () => (now = "resolved"),
    () => (now = "rejected"),
  );
  await drained();
  return now;
}

async function afterMicrotasks(turns: number, action: () => void): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await undefined;
  action();
}

describe("commit before visible", () => {
  test("an event whose commit is held is nowhere to be seen", async () => {
    const sink = new HeldSink();
    const seen: number[] = [];
    using _ = sink.log.observe((log) => void seen.push(log.length));
    const append = sink.log.append(userMessage("hi"));
    expect(await state(append)).toBe("pending");
    expect([sink.log.length, [...sink.log], seen]).toEqual([0, [], []]);
    sink.commit();
    expect((await append).seq).toBe(0);
    expect(seen).toEqual([1]);
  });

  test("an append gives the durable event, frozen, with its seq and the clock's time", async () => {
    const sink = new HeldSink();
    const append = sink.log.append(turnStart(1));
    sink.commit();
    const event = await append;
    expect(event).toEqual({ type: "turn/start", seq: 0, time: NOW, data: { turn: 1 } });
    expect(Object.isFrozen(event) && Object.isFrozen(event.data)).toBe(true);
    expect(sink.log.at(0)).toEqual(event);
  });

  test("appends that wait together get seqs in the order of the calls", async () => {
    const sink = new HeldSink();
    const appends = ["a", "b", "c"].map((text) => sink.log.append(textDelta(AT, text)));
    sink.commit();
    expect((await Promise.all(appends)).map(({ seq }) => seq)).toEqual([0, 1, 2]);
    expect(sink.log.recordCount).toBe(1);
  });

  test("appendAll is one commit, and nothing for no drafts", async () => {
    const sink = new HeldSink();
    expect(await sink.log.appendAll([])).toEqual([]);
    const append = sink.log.appendAll([turnStart(1), userMessage("a"), userMessage("b")]);
    sink.commit();
    expect(await append).toEqual(sink.log.slice());
    expect(sink.log.length).toBe(3);
  });

  test("an invalid event is refused before anything is handed over, alone or among others", async () => {
    const sink = new HeldSink();
    const bad: EventDraft = { type: "future/event", data: {} };
    await Promise.all([
      expect(sink.log.append(bad)).rejects.toMatchObject({ code: "invalid-event" }),
      expect(sink.log.appendAll([turnStart(1), bad])).rejects.toMatchObject({ code: "invalid-event" }),
      expect(sink.log.append({ type: "session/title", data: 1n })).rejects.toMatchObject({ code: "not-serialisable" }),
    ]);
    expect(sink.nextSeq).toBe(0);
  });
});

describe("a failed commit", () => {
  test("rejects what waited, leaves the log as it was, and the next append goes on from the durable length", async () => {
    const sink = new HeldSink();
    const first = sink.log.append(userMessage("kept"));
    sink.commit();
    await first;
    const lost = [sink.log.append(userMessage("lost 1")), sink.log.append(userMessage("lost 2"))];
    sink.fail(DISK_FULL);
    expect(await Promise.allSettled(lost)).toEqual(lost.map(() => ({ status: "rejected", reason: DISK_FULL })));
    expect(sink.log.length).toBe(1);
    const next = sink.log.append(userMessage("next"));
    sink.commit();
    expect((await next).seq).toBe(1);
    expect(sink.log.slice().map(({ data }) => data)).toMatchObject([{ id: "user-kept" }, { id: "user-next" }]);
  });

  test("is not shown to observers", async () => {
    const sink = new HeldSink();
    const seen: number[] = [];
    using _ = sink.log.observe((log) => void seen.push(log.length));
    const append = sink.log.append(userMessage("a"));
    sink.fail(DISK_FULL);
    expect(await state(append)).toBe("rejected");
    expect(seen).toEqual([]);
  });

  test("any order of appends, commits and failures leaves exactly the committed events, without a gap", async () => {
    const step = fc.constantFrom("append", "append", "append", "commit", "fail");
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const sink = new HeldSink();
        const committed: string[] = [];
        let waiting: string[] = [];
        const settled: Array<Promise<unknown>> = [];
        for (const [k, action] of [...steps, "commit"].entries()) {
          if (action === "append") {
            waiting.push(`user-${k}`);
            settled.push(sink.log.append(userMessage(String(k))).catch(() => "lost"));
            continue;
          }
          if (action === "commit") committed.push(...waiting);
          waiting = [];
          if (action === "commit") sink.commit();
          else sink.fail(DISK_FULL);
        }
        await Promise.all(settled);
        expect(sink.log.slice().map(({ seq }) => seq)).toEqual(committed.map((_, seq) => seq));
        expect(sink.log.slice().map(({ data }) => data)).toMatchObject(committed.map((id) => ({ id })));
      }),
    );
  });
});

describe("observers", () => {
  test("are told after each commit where the new events start, until they are disposed", async () => {
    const sink = new HeldSink();
    const seen: unknown[] = [];
    const handle = sink.log.observe((log, from) => void seen.push([from, log.slice(from).map(({ seq }) => seq)]));
    const both = [sink.log.append(turnStart(1)), sink.log.append(userMessage("a"))];
    sink.commit();
    const third = sink.log.append(userMessage("b"));
    sink.commit();
    handle[Symbol.dispose]();
    const fourth = sink.log.append(userMessage("c"));
    sink.commit();
    await Promise.all([...both, third, fourth]);
    expect(seen).toEqual([
      [0, [0, 1]],
      [2, [2]],
    ]);
  });
});

describe("a snapshot", () => {
  test("never changes while the log grows", async () => {
    await fc.assert(
      fc.asyncProperty(arbitrarySession(), batchSizes(), async (drafts, sizes) => {
        const sink = new HeldSink();
        const snapshots = [{ view: sink.log.snapshot(), length: 0 }];
        for (const batch of inBatches(drafts, sizes)) {
          const append = sink.log.appendAll(batch);
          sink.commit();
          await append;
          snapshots.push({ view: sink.log.snapshot(), length: sink.log.length });
        }
        const events = toEvents(drafts);
        expect(sink.log.slice()).toEqual(events);
        for (const { view, length } of snapshots) expect(view.slice()).toEqual(events.slice(0, length));
      }),
      { numRuns: 30 },
    );
  });
});

describe("a seed from another log", () => {
  test("is one commit: the other's texts unchanged, then the mark of its end", async () => {
    const parent = viewOf(toEvents([turnStart(1), ...["a", "b", "c"].map((text) => textDelta(AT, text)), turnEnd(1)], 50));
    const sink = new HeldSink();
    const seeded = sink.log.appendSeed(parent, parent.length);
    expect(sink.log.length).toBe(0);
    sink.commit();
    await seeded;
    expect([...sink.log.texts(0, parent.length)]).toEqual([...parent.texts()]);
    expect(sink.log.recordCount).toBe(parent.recordCount + 1);
    expect(sink.log.at(parent.length)).toMatchObject({ type: "session/end-seed", seq: 5, time: 54, data: {} });
  });
});

describe("a writer", () => {
  test("hands events over without waiting for each, and flush waits for all", async () => {
    const sink = new HeldSink();
    const writer = sink.log.writer();
    for (const text of ["a", "b", "c"]) await writer.push(textDelta(AT, text));
    expect([writer.nextSeq, sink.log.length]).toEqual([3, 0]);
    const flush = writer.flush();
    expect(await state(flush)).toBe("pending");
    sink.commit();
    await flush;
    expect(sink.log.length).toBe(3);
  });

  test("waits while the queue has no room", async () => {
    const sink = new HeldSink(true);
    const push = sink.log.writer().push(textDelta(AT, "a"));
    expect(await state(push)).toBe("pending");
    sink.makeRoom();
    expect(await state(push)).toBe("resolved");
  });

  test("append gives the durable event", async () => {
    const sink = new HeldSink();
    const append = sink.log.writer().append(userMessage("a"));
    expect(await state(append)).toBe("pending");
    sink.commit();
    expect((await append).seq).toBe(0);
  });

  test("refuses everything after a failure, with that failure", async () => {
    const sink = new HeldSink();
    const writer = sink.log.writer();
    await writer.push(textDelta(AT, "lost"));
    sink.fail(DISK_FULL);
    const after = [writer.push(textDelta(AT, "a")), writer.append(userMessage("b")), writer.flush()];
    expect(await Promise.allSettled(after)).toEqual(after.map(() => ({ status: "rejected", reason: DISK_FULL })));
    sink.commit();
    expect(sink.log.length).toBe(0);
  });

  test("lets no event in behind a lost one, whenever the failure comes while the next is handed over", async () => {
    for (let turns = 0; turns < 12; turns += 1) {
      const sink = new HeldSink();
      const writer = sink.log.writer();
      await writer.push(textDelta(AT, "lost"));
      const failing = afterMicrotasks(turns, () => sink.fail(DISK_FULL));
      const next = writer.push(textDelta(AT, "next")).catch(() => undefined);
      await Promise.all([failing, next, drained()]);
      sink.commit();
      expect([turns, sink.log.length]).toEqual([turns, 0]);
    }
  });

  test("refuses what comes after an event that was invalid", async () => {
    const sink = new HeldSink();
    const writer = sink.log.writer();
    await writer.push({ type: "future/event", data: {} });
    await expect(writer.push(userMessage("after"))).rejects.toMatchObject({ code: "invalid-event" });
    expect(sink.nextSeq).toBe(0);
  });

  test("goes on when the failure was another producer's", async () => {
    const sink = new HeldSink();
    const writer = sink.log.writer();
    const other = sink.log.append(userMessage("lost")).catch(() => "lost");
    sink.fail(DISK_FULL);
    expect(await other).toBe("lost");
    for (const text of ["a", "b"]) await writer.push(textDelta(AT, text));
    sink.commit();
    await writer.flush();
    expect(sink.log.length).toBe(2);
  });

  test("a new one starts afresh after a failure", async () => {
    const sink = new HeldSink();
    const broken = sink.log.writer();
    await broken.push(textDelta(AT, "lost"));
    sink.fail(DISK_FULL);
    await expect(broken.flush()).rejects.toBe(DISK_FULL);
    const writer = sink.log.writer();
    await writer.push(textDelta(AT, "kept"));
    sink.commit();
    await writer.flush();
    expect(sink.log.at(0).data).toMatchObject({ chunk: { text: "kept" } });
  });
});
