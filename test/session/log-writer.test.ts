import { describe, expect, test } from "bun:test";
import { textDelta, userMessage } from "../fixtures/event-drafts.ts";
import { drained, HeldSink, state } from "../fixtures/held-sink.ts";

const AT = { turn: 1, step: 1 };
const DISK_FULL = new Error("the disk is full");

async function afterMicrotasks(turns: number, action: () => void): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await undefined;
  action();
}

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
    expect(await Promise.allSettled(after)).toEqual(
      after.map(() => ({ status: "rejected", reason: DISK_FULL })),
    );
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
