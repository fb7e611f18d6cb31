import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { EventDraft } from "../../src/session/events.ts";
import { arbitrarySession, batchSizes, inBatches, toEvents } from "../fixtures/arbitraries.ts";
import { textDelta, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { HeldSink, NOW, state } from "../fixtures/held-sink.ts";

const AT = { turn: 1, step: 1 };
const DISK_FULL = new Error("the disk is full");

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
      expect(sink.log.append({ type: "session/title", data: 1n })).rejects.toMatchObject({
        code: "not-serialisable",
      }),
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
    expect(await Promise.allSettled(lost)).toEqual(
      lost.map(() => ({ status: "rejected", reason: DISK_FULL })),
    );
    expect(sink.log.length).toBe(1);
    const next = sink.log.append(userMessage("next"));
    sink.commit();
    expect((await next).seq).toBe(1);
    expect(sink.log.slice().map(({ data }) => data)).toMatchObject([
      { id: "user-kept" },
      { id: "user-next" },
    ]);
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
    const handle = sink.log.observe(
      (log, from) => void seen.push([from, log.slice(from).map(({ seq }) => seq)]),
    );
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
